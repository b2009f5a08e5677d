#include "server/frontier/frontier_pulls.h"

#include <algorithm>
#include <utility>

#include "server/frontier/frontier_bounds.h"
#include "server/frontier/frontier_stage.h"
#include "server/frontier/queue_table.h"

namespace freshet {
namespace {

// The number of URLs of a queue that are read together. Only after the read is it known how many
// fit into the pull.
constexpr size_t kDescribedAtOnce = 16;

// Reads URLs of the queue, as long as they fit into the bytes of the pull.
StatusOr<std::vector<FrontierServed>> Describe(const FrontierStore& store,
                                               const FrontierQueue& queue,
                                               std::span<const FrontierDue> due, size_t* bytes) {
  std::vector<FrontierStore::ItemName> names;
  names.reserve(due.size());
  for (const FrontierDue& one : due) names.push_back({queue.id, one.url});
  std::vector<StatusOr<FrontierItem>> items = store.ReadItems(names);
  std::vector<FrontierServed> urls;
  for (size_t i = 0; i < due.size(); ++i) {
    RETURN_IF_ERROR(items[i].status());
    FrontierServed url = {.queue = queue.id,
                          .crawl = queue.crawl->name,
                          .key = queue.record.key,
                          .url = due[i].url,
                          .metadata = std::move(items[i]->metadata),
                          .lease = {}};
    if (!AddBytes(BytesOf(url), bytes)) break;
    urls.push_back(std::move(url));
  }
  return urls;
}

}  // namespace

bool FrontierPull::Serves(const std::string& name) const {
  const auto holds = [&name](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return (except == nullptr || !holds(*except)) && (only == nullptr || holds(*only));
}

StatusOr<bool> FrontierPulls::Pass(size_t most) {
  return passing_.Pass(stage_.store, *stage_.table, stage_.now, most);
}

uint64_t FrontierPulls::FlightsLeft(const FrontierCrawl& crawl, const Claim& taker) const {
  const QueueTable& table = *stage_.table;
  const uint64_t left = ShareLeft(crawl.owner->counts.flight_places, table.counts().flight_places,
                                  stage_.limits.flights);
  return crawl.IsOf(taker) ? left : std::min(left, table.ends().takers().Left(taker.client));
}

FrontierQueue* FrontierPulls::NextOfAny(FrontierPull* pull) {
  CrawlRound& round = pull->round;
  while (auto* const crawl =
             round.Next(stage_.table->turns(), stage_.table->crawls(), next_crawl_)) {
    if (!pull->Serves(crawl->name) || FlightsLeft(*crawl, pull->taker) == 0) continue;
    FrontierQueue* queue = crawl->FirstReady(pull->urls_per_queue, pull->end);
    if (queue == nullptr) continue;
    round.Keep(*crawl);
    next_crawl_ = crawl->number + 1;
    return queue;
  }
  return nullptr;
}

FrontierQueue* FrontierPulls::NextQueue(FrontierPull* pull) {
  if (!pull->crawl) return NextOfAny(pull);
  FrontierCrawl* crawl = stage_.table->FindCrawl(*pull->crawl);
  if (crawl == nullptr || FlightsLeft(*crawl, pull->taker) == 0) return nullptr;
  if (pull->key.empty()) return crawl->FirstReady(pull->urls_per_queue, pull->end);
  FrontierQueue* queue = stage_.table->Find(*pull->crawl, pull->key);
  if (queue == nullptr || queue->flights.size() >= pull->urls_per_queue) return nullptr;
  return stage_.table->ServesFrom(*queue) <= stage_.now ? queue : nullptr;
}

void FrontierPulls::Promote(const FrontierPull& pull) {
  if (pull.crawl) {
    FrontierCrawl* crawl = stage_.table->FindCrawl(*pull.crawl);
    if (crawl != nullptr) stage_.table->Promote(*crawl, stage_.now, kPromotedAtOnce);
    return;
  }
  const CrawlTurns::Coming& coming = stage_.table->turns().coming();
  size_t left = kPromotedAtOnce;
  for (auto it = coming.begin(); left > 0 && it != coming.end() && it->first.first <= stage_.now;) {
    const auto place = it->first;
    FrontierCrawl& crawl = *it->second;
    if (pull.Serves(crawl.name)) left -= stage_.table->Promote(crawl, stage_.now, left);
    it = coming.upper_bound(place);
  }
}

Status FrontierPulls::Pull(FrontierPull* pull, size_t most, std::vector<FrontierServed>* served) {
  if (pull->end == 0) {
    Promote(*pull);
    pull->end = stage_.table->next_turn();
  }
  const size_t first = served->size();
  size_t bytes = 0;
  bool full = false;
  size_t empty = 0;
  uint64_t passed = 0;
  while (!pull->over && served->size() - first < most && empty < most && !full &&
         passed < PassingQueues::kMostPerPull) {
    pull->over =
        !stage_.settings.active || stage_.table->counts().flight_places >= stage_.limits.flights;
    if (pull->over) break;
    FrontierQueue* queue = pull->left_in_queue > 0 ? stage_.table->Find(pull->queue) : nullptr;
    if (queue != nullptr && FlightsLeft(*queue->crawl, pull->taker) == 0) queue = nullptr;
    const bool begun = queue != nullptr;
    if (!begun) {
      queue = pull->queues > 0 ? NextQueue(pull) : nullptr;
      pull->over = queue == nullptr && !PassingQueues::Holds(*stage_.table, pull->crawl, pull->key);
      if (queue == nullptr) break;
      if (stage_.table->ServesFrom(*queue) > stage_.now) {
        stage_.table->File(*queue, stage_.now);
        ++empty;
        continue;
      }
      pull->queue = queue->id;
      pull->left_in_queue = pull->urls_per_queue;
    }
    const size_t room = most - (served->size() - first);
    const uint64_t may = FlightsLeft(*queue->crawl, pull->taker);
    const size_t want = std::min<uint64_t>({room, pull->left_in_queue, may, kDescribedAtOnce});
    ASSIGN_OR_RETURN(
        const Given given,
        ServeFrom(*queue, *pull, want, PassingQueues::kMostPerPull - passed, served, &bytes));
    full = given.full;
    passed += given.passed;
    if (given.urls == 0) ++empty;
    if (!begun && given.urls > 0) --pull->queues;
    const bool goes_on = given.full ? begun || given.urls > 0 : given.urls == want;
    pull->left_in_queue = goes_on ? pull->left_in_queue - static_cast<uint32_t>(given.urls) : 0;
    // A pull that names a queue serves this queue only once.
    if (pull->left_in_queue == 0 && !pull->key.empty()) {
      pull->over = given.urls > 0 || !queue->passing();
    }
  }
  return absl::OkStatus();
}

StatusOr<FrontierPulls::Given> FrontierPulls::ServeFrom(FrontierQueue& queue,
                                                        const FrontierPull& pull, size_t most,
                                                        uint64_t most_passed,
                                                        std::vector<FrontierServed>* served,
                                                        size_t* bytes) {
  if (!queue.record.head) return Given();
  ASSIGN_OR_RETURN(
      FrontierStore::DueScan scan,
      stage_.store.ScanDue(queue.id, *queue.record.head, stage_.now, most, most_passed));
  ASSIGN_OR_RETURN(std::vector<FrontierServed> urls,
                   Describe(stage_.store, queue, scan.due, bytes));
  const uint64_t until = BoundedLease(stage_.now + pull.lease_seconds, stage_.now);
  const uint64_t taker = queue.crawl->IsOf(pull.taker) ? 0 : pull.taker.client;
  for (size_t i = 0; i < urls.size(); ++i) {
    const FrontierLease lease = {.until = until, .due = scan.due[i].due};
    stage_.batch.DeleteDue(queue.id, lease.due, urls[i].url);
    stage_.batch.PutLease(queue.id, urls[i].url, lease);
    urls[i].serial = stage_.table->AddFlight(queue, urls[i].url, lease, taker);
    served->push_back(std::move(urls[i]));
  }
  const Given given = {urls.size(), /*full=*/urls.size() < scan.due.size(), scan.passed};
  stage_.totals.served += given.urls;
  if (given.full) scan.next = std::move(scan.due[given.urls]);
  passing_.SetHead(*stage_.table, queue, std::move(scan), given.full);
  if (given.urls > 0) stage_.table->Edit(queue).last_served = stage_.now;
  stage_.Touch(queue);
  stage_.table->File(queue, stage_.now);
  return given;
}

}  // namespace freshet
