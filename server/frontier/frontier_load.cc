// Loads the frontier's store into memory.
#include <algorithm>
#include <utility>

#include "server/frontier/frontier_bounds.h"
#include "server/frontier/frontier_state.h"

namespace freshet {

// Loads the stored frontier. Earlier releases stored leases of any length, even 136 years. The
// loader shortens them to the present limits. It also corrects times from a clock that was ahead.
// Owner thread only.
class FrontierState::Loader final : public FrontierVisitor {
 public:
  Loader(QueueTable& table, FrontierSettings* settings, uint64_t now)
      : table_(table), settings_(settings), now_(now) {}

  Status OnSettings(const FrontierSettings& settings) override {
    *settings_ = settings;
    settings_->default_delay = BoundedDelay(settings.default_delay);
    table_.SetDefaultDelay(settings_->default_delay);
    return absl::OkStatus();
  }
  Status OnCrawl(uint32_t crawl, std::string_view name) override {
    if (crawl == 0 || table_.crawls().contains(crawl) || table_.FindCrawl(name) != nullptr) {
      return Damage("a crawl id is there twice");
    }
    table_.AddCrawl(crawl, name);
    return absl::OkStatus();
  }
  Status OnQueue(FrontierQueueId id, FrontierQueueRecord record) override {
    const auto crawl = table_.crawls().find(id.crawl);
    if (crawl == table_.crawls().end()) return Damage("a queue is of no crawl id");
    if (id.queue == 0 || crawl->second->queues.contains(record.key)) {
      return Damage("a queue is there twice");
    }
    if (record.delay) record.delay = BoundedDelay(*record.delay);
    if (record.asked_delay) record.asked_delay = BoundedDelay(*record.asked_delay);
    record.blocked_until = BoundedBlock(record.blocked_until, now_);
    record.asked_until = BoundedBlock(record.asked_until, now_);
    if (record.last_served > now_) {
      ahead_[id] = record.last_served - now_;
      settings_->seen = std::max(settings_->seen, record.last_served);
      record.last_served = now_;
    }
    table_.AddQueue(*crawl->second, std::move(record), id.queue);
    return absl::OkStatus();
  }
  Status OnLease(FrontierQueueId id, std::string_view url, const FrontierLease& lease) override {
    FrontierQueue* queue = table_.Find(id);
    if (queue == nullptr) return Damage("a lease is of no queue");
    const auto ahead = ahead_.find(id);
    const uint64_t by = ahead == ahead_.end() ? 0 : std::min(ahead->second, lease.until);
    (void)table_.AddFlight(*queue, std::string(url),
                           {.until = BoundedLease(lease.until - by, now_), .due = lease.due});
    return absl::OkStatus();
  }
  // Queues whose last service is later than now, with the difference in seconds.
  [[nodiscard]] const absl::flat_hash_map<FrontierQueueId, uint64_t>& ahead() const {
    return ahead_;
  }

 private:
  static Status Damage(std::string_view what) {
    return MakeStatus(absl::StatusCode::kDataLoss, "frontier: {}", what);
  }

  QueueTable& table_;
  FrontierSettings* settings_;
  const uint64_t now_;
  absl::flat_hash_map<FrontierQueueId, uint64_t> ahead_;
};

Status FrontierState::Load() {
  stage_.table = std::make_unique<QueueTable>(stage_.limits.uncovered_flights);
  stage_.settings = {};
  Loader loader(*stage_.table, &stage_.settings, stage_.now);
  RETURN_IF_ERROR(stage_.store.Load(loader));
  for (const auto& [number, crawl] : stage_.table->crawls()) {
    for (const auto& [key, queue] : crawl->queues) stage_.table->File(*queue, stage_.now);
  }
  absl::flat_hash_set<FrontierQueueId> ahead;
  for (const auto& [queue, seconds] : loader.ahead()) ahead.insert(queue);
  mend_.Begin(std::move(ahead));
  stage_.table->Keep();
  Keep();
  return absl::OkStatus();
}

}  // namespace freshet
