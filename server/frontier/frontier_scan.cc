#include "server/frontier/frontier_scan.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"

namespace freshet {
namespace {

constexpr size_t kQueuesAtATime = 256;

std::string Lower(std::string_view text) {
  return absl::AsciiStrToLower(absl::string_view(text.data(), text.size()));
}

}  // namespace

FrontierScan::FrontierScan(Frontier& frontier, FrontierQuery query)
    : frontier_(frontier),
      query_(std::move(query)),
      filter_(query_.ignore_case ? Lower(query_.filter) : query_.filter) {}

Status FrontierScan::FindQueues() {
  using Parts = std::vector<Part>;
  const std::string& key = query_.key;
  ASSIGN_OR_RETURN(
      Parts parts, frontier_.Wait<Parts>([this, &key](FrontierState& state) -> StatusOr<Parts> {
        Parts found;
        const FrontierCrawl* crawl = state.table().FindCrawl(query_.crawl);
        if (crawl == nullptr) return found;
        auto it = key.empty() ? crawl->queues.upper_bound(last_key_) : crawl->queues.find(key);
        for (; it != crawl->queues.end() && found.size() < kQueuesAtATime; ++it) {
          found.push_back({it->second->id, it->first});
          if (!key.empty()) break;
        }
        return found;
      }));
  found_all_ = !key.empty() || parts.size() < kQueuesAtATime;
  for (Part& part : parts) parts_.push_back(std::move(part));
  if (!parts_.empty()) last_key_ = parts_.back().key;
  return absl::OkStatus();
}

bool FrontierScan::Fits(std::string_view url) const {
  if (filter_.empty()) return true;
  if (!query_.ignore_case) return url.find(filter_) != std::string_view::npos;
  return Lower(url).find(filter_) != std::string::npos;
}

Status FrontierScan::Slice(size_t most, const std::function<bool(const Found&)>& visit) {
  size_t seen = 0;
  bool stopped = false;
  while (!over_ && !stopped && seen < most) {
    if (parts_.empty()) {
      if (!found_all_) RETURN_IF_ERROR(FindQueues());
      over_ = parts_.empty();
      continue;
    }
    const Part& part = parts_.front();
    bool left_off = false;
    RETURN_IF_ERROR(frontier_.store().ScanItems(
        part.id, after_, [&](std::string_view url, const FrontierItem& item) {
          after_ = std::string(url);
          seen += 1 + (url.size() + item.metadata.size()) / kWeighsBytes;
          stopped = Fits(url) && !visit({part.id, part.key, url, item});
          left_off = stopped || seen >= most;
          return !left_off;
        }));
    if (left_off) break;
    parts_.pop_front();
    after_.clear();
  }
  return absl::OkStatus();
}

}  // namespace freshet
