#include "server/frontier/frontier_mend.h"

#include <algorithm>
#include <utility>

#include "core/schedule/clock_ahead.h"
#include "server/frontier/frontier_stage.h"
#include "server/frontier/queue_table.h"

namespace freshet {
namespace {

// A lower bound for all URLs that are due in this second.
FrontierDue BeginOf(uint64_t second) { return {.due = second, .url = {}}; }

}  // namespace

void FrontierMend::Begin(absl::flat_hash_set<FrontierQueueId> queues) {
  queues_ = std::move(queues);
  place_ = {};
}

void FrontierMend::Keep() {
  if (ahead() == 0) queues_.clear();
  kept_place_ = place_;
}

uint64_t FrontierMend::ahead() const {
  const uint64_t ahead = stage_.settings.seen > stage_.now ? stage_.settings.seen - stage_.now : 0;
  return ahead > static_cast<uint64_t>(kClocksDiffer.seconds()) ? ahead : 0;
}

Status FrontierMend::Mend(size_t most) {
  size_t looked_at = 0;
  while (ahead() > 0 && looked_at < most) {
    FrontierQueue* queue = NextFrom(place_);
    if (queue == nullptr) {
      // All times are correct now. The next start need not search again.
      stage_.settings.seen = stage_.now;
      stage_.batch.PutSettings(stage_.settings);
      return absl::OkStatus();
    }
    if (!place_.due) {
      if (queues_.contains(queue->id)) stage_.Touch(*queue);
      RETURN_IF_ERROR(MendFlights(*queue));
      looked_at += 1 + queue->flights.size();
      place_.due = BeginOf(stage_.now + 1);
    }
    const size_t room = looked_at < most ? most - looked_at : 1;
    const FrontierDue from = std::max(*place_.due, BeginOf(stage_.now + 1));
    ASSIGN_OR_RETURN(FrontierStore::DueScan scan,
                     stage_.store.ScanDue(queue->id, from, stage_.settings.seen, room));
    RETURN_IF_ERROR(MendDue(*queue, scan.due));
    looked_at += scan.due.size() + scan.passed;
    place_.due = std::move(scan.next);
    const bool over = !place_.due || place_.due->due > stage_.settings.seen;
    // A key with a zero byte appended is the next possible key.
    if (over) place_ = {.crawl = queue->id.crawl, .key = queue->record.key + '\0', .due = {}};
  }
  return absl::OkStatus();
}

FrontierQueue* FrontierMend::NextFrom(Place& place) const {
  const auto& crawls = stage_.table->crawls();
  for (auto crawl = crawls.lower_bound(place.crawl); crawl != crawls.end(); ++crawl) {
    const bool begun = crawl->first == place.crawl;
    if (!begun) place = {.crawl = crawl->first, .key = {}, .due = {}};
    const auto& queues = crawl->second->queues;
    const auto queue = queues.lower_bound(place.key);
    if (queue == queues.end()) continue;
    // The queue at this place may have been deleted since.
    if (queue->first != place.key) {
      place = {.crawl = crawl->first, .key = queue->first, .due = {}};
    }
    return queue->second.get();
  }
  return nullptr;
}

// The loader has corrected the ends of leases in memory. This function corrects when the URLs in
// flight are due.
Status FrontierMend::MendFlights(FrontierQueue& queue) {
  if (!queues_.contains(queue.id)) return absl::OkStatus();
  std::vector<std::string> urls;
  for (const auto& [url, flight] : queue.flights) urls.push_back(url);
  std::vector<FrontierStore::ItemName> names;
  for (const std::string& url : urls) names.push_back({queue.id, url});
  std::vector<StatusOr<FrontierItem>> items = stage_.store.ReadItems(names);
  for (size_t i = 0; i < urls.size(); ++i) {
    uint64_t due = queue.flights.find(urls[i])->second.lease.due;
    if (items[i].ok() && items[i]->created > stage_.now && items[i]->due == items[i]->created) {
      due = items[i]->due = items[i]->created = stage_.now;
      stage_.batch.PutItem(queue.id, urls[i], *items[i]);
    }
    stage_.MoveFlight(queue, urls[i], due);
  }
  return absl::OkStatus();
}

// A due time is corrected only if it is the time at which the URL arrived, because then the URL was
// put without a date. Other due times were set by clients, and stay.
Status FrontierMend::MendDue(FrontierQueue& queue, std::span<const FrontierDue> due) {
  std::vector<FrontierStore::ItemName> names;
  for (const FrontierDue& one : due) names.push_back({queue.id, one.url});
  std::vector<StatusOr<FrontierItem>> items = stage_.store.ReadItems(names);
  for (size_t i = 0; i < due.size(); ++i) {
    // A verification of the store reports these rows.
    if (absl::IsNotFound(items[i].status()) || absl::IsDataLoss(items[i].status())) continue;
    RETURN_IF_ERROR(items[i].status());
    FrontierItem& item = *items[i];
    if (item.created <= stage_.now) continue;
    if (item.due == item.created && item.due == due[i].due) {
      item.due = stage_.now;
      stage_.batch.DeleteDue(queue.id, due[i].due, due[i].url);
      stage_.batch.PutDue(queue.id, stage_.now, due[i].url);
      stage_.table->AddDue(queue, {.due = stage_.now, .url = due[i].url});
    }
    item.created = stage_.now;
    stage_.batch.PutItem(queue.id, due[i].url, item);
    stage_.Touch(queue);
  }
  stage_.table->File(queue, stage_.now);
  return absl::OkStatus();
}

void FrontierMend::Sweep(size_t most) {
  for (size_t looked = 0; looked < most; ++looked) {
    FrontierQueue* queue = NextFrom(swept_);
    if (queue == nullptr) {
      swept_ = {};
      return;
    }
    swept_.key = queue->record.key + '\0';
    if (stage_.IsOver(*queue)) stage_.RemoveEmpty(*queue);
  }
}

}  // namespace freshet
