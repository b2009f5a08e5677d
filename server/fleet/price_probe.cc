#include "server/fleet/price_probe.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/fleet/price_meter.h"
#include "core/index/index_entry.h"
#include "core/schedule/policy_switch.h"
#include "server/engine/router.h"
#include "server/engine/shard.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// Prices are smoothed over this time, which is several rounds of the leader.
constexpr Duration kMemory = Duration::Seconds(5);
// The demand is measured again after this many rounds. In between it is computed from the price and
// the last measured slope.
constexpr uint64_t kDemandRounds = 30;
constexpr size_t kSampledPages = 512;

}  // namespace

// Collects the results of the rounds, and computes the figures from them. Shared with the round
// under way, which can outlive the probe. Thread-safe.
class PriceProbe::Answers {
 public:
  explicit Answers(Clock& clock) : clock_(clock), meter_(kMemory) {}

  // Begins a round. Returns the number of pages to sample; nullopt = a round is under way.
  [[nodiscard]] std::optional<size_t> Begin() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (std::exchange(open_, true)) return std::nullopt;
    return rounds_++ % kDemandRounds == 0 ? kSampledPages : 0;
  }
  void End(const Round& round) FRESHET_EXCLUDES(mutex_);
  void Describe(Figures* figures) const FRESHET_EXCLUDES(mutex_);

 private:
  Clock& clock_;
  mutable Mutex mutex_;
  bool open_ FRESHET_GUARDED_BY(mutex_) = false;
  uint64_t rounds_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool priced_ FRESHET_GUARDED_BY(mutex_) = false;  // no shard had a plan in the last round
  PriceMeter meter_ FRESHET_GUARDED_BY(mutex_);
  std::optional<PriceDemand> demand_ FRESHET_GUARDED_BY(mutex_);
  double demand_price_ FRESHET_GUARDED_BY(mutex_) = 0;
};

// The answers of all shards in one round. The round ends when the last shard releases the object.
struct PriceProbe::Round {
  Round(std::shared_ptr<Answers> answers, size_t of_shards, uint64_t of_pages)
      : all(std::move(answers)), shards(of_shards), pages(of_pages) {}
  ~Round() { all->End(*this); }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  const std::shared_ptr<Answers> all;
  const size_t shards;
  const uint64_t pages;
  mutable Mutex mutex;
  size_t answered FRESHET_GUARDED_BY(mutex) = 0;
  bool planned FRESHET_GUARDED_BY(mutex) = false;
  double best FRESHET_GUARDED_BY(mutex) = 0;
  std::vector<PricedPage> sample FRESHET_GUARDED_BY(mutex);
};

void PriceProbe::Answers::End(const Round& round) {
  std::vector<PricedPage> sample;
  const MutexLock lock(mutex_);
  open_ = false;
  {
    const MutexLock round_lock(round.mutex);
    if (round.answered < round.shards) return;
    priced_ = !round.planned;
    // If no host is free, no page can be crawled, and there is no best value.
    if (priced_ && round.best > 0) meter_.Add(round.best, clock_.Now());
    sample = round.sample;
  }
  if (!priced_ || sample.empty()) return;
  demand_price_ = meter_.price();
  demand_ = DemandAt(sample, round.pages, demand_price_);
}

void PriceProbe::Answers::Describe(Figures* figures) const {
  const MutexLock lock(mutex_);
  if (!priced_) return;
  figures->price = meter_.price();
  figures->demand = demand_;
  if (!demand_ || !(figures->price > 0)) return;
  figures->demand = DemandMoved(*demand_, demand_price_, figures->price);
}

PriceProbe::PriceProbe(Router& router, Clock& clock)
    : router_(router), answers_(std::make_shared<Answers>(clock)) {}

void PriceProbe::Ask() {
  const std::optional<size_t> sampled = answers_->Begin();
  if (!sampled) return;
  const size_t shards = router_.shards().size();
  const size_t of_each = *sampled == 0 ? 0 : *sampled / shards + 1;
  const auto round = std::make_shared<Round>(answers_, shards, PagesNotOut());
  for (Shard* shard : router_.shards()) {
    (void)shard->Query([round, of_each](const ShardView& view) {
      const bool planned = view.state.policies().in_force().plan.has_value();
      const double best = view.state.BestValue(view.now);
      std::vector<IndexRates> rates;
      view.state.policies().SampleRates(of_each, &rates);
      const MutexLock lock(round->mutex);
      ++round->answered;
      round->planned |= planned;
      if (std::isfinite(best)) round->best = std::max(round->best, best);
      for (const IndexRates& page : rates) {
        round->sample.push_back({page.importance, PageRatesOf(page)});
      }
    });
  }
}

uint64_t PriceProbe::PagesNotOut() const {
  uint64_t pages = 0;
  for (const Shard* shard : router_.shards()) {
    const ShardCounters counters = shard->snapshot().counters;
    pages += counters.pages - std::min(counters.pages, counters.leases);
  }
  return pages;
}

PriceProbe::Figures PriceProbe::figures() const {
  Figures figures;
  figures.pages = PagesNotOut();
  answers_->Describe(&figures);
  return figures;
}

}  // namespace freshet
