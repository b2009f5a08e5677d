// What a clock that ran ahead has left behind in the frontier's store, and how it is mended.
#include <algorithm>
#include <utility>

#include "core/schedule/clock_ahead.h"
#include "server/frontier/frontier_state.h"

namespace freshet {
namespace {

// The first URL that can be due at that second.
FrontierDue BeginOf(uint64_t second) { return {.due = second, .url = {}}; }

}  // namespace

uint64_t FrontierState::ahead() const {
  const uint64_t ahead = settings_.seen > now_ ? settings_.seen - now_ : 0;
  return ahead > static_cast<uint64_t>(kClocksDiffer.seconds()) ? ahead : 0;
}

Status FrontierState::MendAhead(size_t most) {
  size_t looked_at = 0;
  while (ahead() > 0 && looked_at < most) {
    FrontierQueue* queue = NextToMend();
    if (queue == nullptr) {
      // Nothing is left of it, and a later start does not look again.
      settings_.seen = now_;
      batch_.PutSettings(settings_);
      return absl::OkStatus();
    }
    if (!mend_place_.due) {
      if (ahead_.contains(queue->id)) Touch(*queue);
      RETURN_IF_ERROR(MendFlights(*queue));
      looked_at += 1 + queue->flights.size();
      mend_place_.due = BeginOf(now_ + 1);
    }
    const size_t room = looked_at < most ? most - looked_at : 1;
    const FrontierDue from = std::max(*mend_place_.due, BeginOf(now_ + 1));
    ASSIGN_OR_RETURN(FrontierStore::DueScan scan,
                     store_.ScanDue(queue->id, from, settings_.seen, room));
    RETURN_IF_ERROR(MendDue(*queue, scan.due));
    looked_at += scan.due.size();
    mend_place_.due = std::move(scan.next);
    const bool over = !mend_place_.due || mend_place_.due->due > settings_.seen;
    // No key lies between one and itself with a zero byte behind it.
    if (over) mend_place_ = {.crawl = queue->id.crawl, .key = queue->record.key + '\0', .due = {}};
  }
  return absl::OkStatus();
}

FrontierQueue* FrontierState::NextToMend() {
  const auto& crawls = table_->crawls();
  for (auto crawl = crawls.lower_bound(mend_place_.crawl); crawl != crawls.end(); ++crawl) {
    const bool begun = crawl->first == mend_place_.crawl;
    if (!begun) mend_place_ = {.crawl = crawl->first, .key = {}, .due = {}};
    const auto& queues = crawl->second->queues;
    const auto queue = queues.lower_bound(mend_place_.key);
    if (queue == queues.end()) continue;
    // The one that was begun may be deleted since.
    if (queue->first != mend_place_.key) {
      mend_place_ = {.crawl = crawl->first, .key = queue->first, .due = {}};
    }
    return queue->second.get();
  }
  return nullptr;
}

// Leases are in memory as they are to be; what is due later than now may be so by mistake.
Status FrontierState::MendFlights(FrontierQueue& queue) {
  if (!ahead_.contains(queue.id)) return absl::OkStatus();
  std::vector<std::string> urls;
  for (const auto& [url, flight] : queue.flights) urls.push_back(url);
  std::vector<FrontierStore::ItemName> names;
  for (const std::string& url : urls) names.push_back({queue.id, url});
  std::vector<StatusOr<FrontierItem>> items = store_.ReadItems(names);
  for (size_t i = 0; i < urls.size(); ++i) {
    uint64_t due = queue.flights.find(urls[i])->second.lease.due;
    if (items[i].ok() && items[i]->created > now_ && items[i]->due == items[i]->created) {
      due = items[i]->due = items[i]->created = now_;
      batch_.PutItem(queue.id, urls[i], *items[i]);
    }
    MoveFlight(queue, urls[i], due);
  }
  return absl::OkStatus();
}

// A URL that was put without a date is due when it came in. Others are due when a client says so.
Status FrontierState::MendDue(FrontierQueue& queue, std::span<const FrontierDue> due) {
  std::vector<FrontierStore::ItemName> names;
  for (const FrontierDue& one : due) names.push_back({queue.id, one.url});
  std::vector<StatusOr<FrontierItem>> items = store_.ReadItems(names);
  for (size_t i = 0; i < due.size(); ++i) {
    // Verifying the store tells of those.
    if (absl::IsNotFound(items[i].status()) || absl::IsDataLoss(items[i].status())) continue;
    RETURN_IF_ERROR(items[i].status());
    FrontierItem& item = *items[i];
    if (item.created <= now_) continue;
    if (item.due == item.created && item.due == due[i].due) {
      item.due = now_;
      batch_.DeleteDue(queue.id, due[i].due, due[i].url);
      batch_.PutDue(queue.id, now_, due[i].url);
      table_->AddDue(queue, {.due = now_, .url = due[i].url});
    }
    item.created = now_;
    batch_.PutItem(queue.id, due[i].url, item);
    Touch(queue);
  }
  table_->File(queue, now_);
  return absl::OkStatus();
}

}  // namespace freshet
