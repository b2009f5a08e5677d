#include "server/frontier/frontier_scan.h"

#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"

namespace freshet {
namespace {

constexpr size_t kQueuesAtATime = 256;
// The maximum number of queues checked in one turn of the frontier. Queues without URLs take little
// time, but there can be millions of them.
constexpr size_t kLooksAtATime = 4096;
// The cost, in URLs, of finding the end of a queue in the store.
constexpr size_t kWeighsQueue = 4;

std::string Lower(std::string_view text) {
  return absl::AsciiStrToLower(absl::string_view(text.data(), text.size()));
}

}  // namespace

FrontierScan::FrontierScan(Frontier& frontier, FrontierQuery query)
    : frontier_(frontier),
      query_(std::move(query)),
      filter_(query_.ignore_case ? Lower(query_.filter) : query_.filter) {}

Status FrontierScan::FindQueues() {
  ASSIGN_OR_RETURN(
      Look look, frontier_.ReadNow<Look>([this](const FrontierState& state) -> StatusOr<Look> {
        Look look;
        const FrontierCrawl* crawl = state.table().FindCrawl(query_.crawl);
        if (crawl == nullptr) return look;
        const bool one = !query_.key.empty();
        auto it = one ? crawl->queues.find(query_.key) : crawl->queues.upper_bound(last_key_);
        const auto end = one && it != crawl->queues.end() ? std::next(it) : crawl->queues.end();
        for (size_t looked = 0; it != end && looked < kLooksAtATime; ++it, ++looked) {
          if (look.parts.size() == kQueuesAtATime) break;
          look.last_key = it->first;
          if (it->second->has_urls()) look.parts.push_back({it->second->id, it->first});
        }
        look.all = it == end;
        return look;
      }));
  found_all_ = look.all;
  last_key_ = std::move(look.last_key);
  for (Part& part : look.parts) parts_.push_back(std::move(part));
  return absl::OkStatus();
}

bool FrontierScan::Fits(std::string_view url) const {
  if (filter_.empty()) return true;
  // A search by string_view::find can take as long as both lengths multiplied.
  const auto has = [this](std::string_view text) {
    return memmem(text.data(), text.size(), filter_.data(), filter_.size()) != nullptr;
  };
  return query_.ignore_case ? has(Lower(url)) : has(url);
}

Status FrontierScan::Slice(size_t most, const std::function<bool(const Found&)>& visit) {
  size_t seen = 0;
  bool stopped = false;
  while (!over_ && !stopped && seen < most) {
    if (parts_.empty()) {
      over_ = found_all_;
      if (over_) break;
      RETURN_IF_ERROR(FindQueues());
      // FindQueues has waited for the frontier, perhaps for a commit, so the slice ends here.
      break;
    }
    const Part& part = parts_.front();
    bool left_off = false;
    ASSIGN_OR_RETURN(std::optional<std::string> place,
                     frontier_.store().ScanItems(
                         part.id, from_, [&](std::string_view url, const FrontierItem& item) {
                           // A URL with a zero byte appended is the next possible text.
                           from_.assign(url).push_back('\0');
                           seen += 1 + (url.size() + item.metadata.size()) / kWeighsBytes;
                           stopped = Fits(url) && !visit({part.id, part.key, url, item});
                           left_off = stopped || seen >= most;
                           return !left_off;
                         }));
    if (place) {
      from_ = *std::move(place);
      break;
    }
    if (left_off) break;
    parts_.pop_front();
    from_.clear();
    seen += kWeighsQueue;
  }
  return absl::OkStatus();
}

}  // namespace freshet
