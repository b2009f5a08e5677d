#include "lab/sim/fleet_shards.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/check.h"
#include "core/base/url.h"
#include "core/estimate/epoch_sums.h"
#include "core/estimate/learned_sites.h"
#include "core/schedule/pick.h"
#include "lab/sim/crawl_report.h"

namespace freshet {
FleetShards::FleetShards(const FleetWorld& world, const FleetShardsOptions& options)
    : world_(world),
      truth_(world, options.seed),
      epoch_(options.epoch),
      next_epoch_(Begin() + options.epoch),
      pages_of_(options.partitions) {
  CHECK(options.partitions >= 1 && options.partitions <= limits::kSlots);
  ShardOptions shard = options.shard;
  shard.estimator.since = Begin();
  for (size_t i = 0; i < options.partitions; ++i) {
    shards_.push_back(std::make_unique<MemoryShard>(shard));
  }
  partition_of_.reserve(world.pages().size());
  for (uint32_t page = 0; page < world.pages().size(); ++page) {
    const UpsertPage added = world.Added(page, !options.learn, Begin());
    const auto partition =
        static_cast<uint16_t>(SlotOfHost(added.host).value() % options.partitions);
    partition_of_.push_back(partition);
    pages_of_[partition].push_back(page);
    const Reply reply = shards_[partition]->Apply(added, Begin());
    CHECK(reply.disposition == Disposition::kCreated, "{}", added.key.url);
  }
}

void FleetShards::RunTo(Instant now) {
  while (true) {
    const Instant next = Begin() + Duration::FromSeconds(truth_.next());
    if (std::min(next, next_epoch_) > now) return;
    if (next_epoch_ < next) {
      RunEpoch(next_epoch_);
      next_epoch_ = next_epoch_ + epoch_;
      continue;
    }
    truth_.Happen([&](size_t page) { Signal(page, next); });
  }
}

void FleetShards::Signal(size_t page, Instant now) {
  SignalChange event;
  event.key = world_.KeyOf(page);
  event.changed = now;
  CHECK(ShardOf(page).Apply(event, now).status.ok());
}

void FleetShards::RunEpoch(Instant now) {
  EpochSums all;
  for (const auto& shard : shards_) all.Add(shard->CollectEpoch(now));
  for (const auto& shard : shards_) shard->FinishEpoch(all, now);
}

double FleetShards::Best(size_t partition, Instant now) {
  const std::optional<Pick> pick = shards_[partition]->state().Peek(now);
  return pick ? pick->value : 0;
}

bool FleetShards::Crawl(size_t partition, Instant now) {
  MemoryShard& shard = *shards_[partition];
  const std::optional<Assignment> assignment = shard.Next(now, kSimulatedLease);
  if (!assignment) return false;
  ++crawls_;
  const bool changed = truth_.Crawl(FleetWorld::PageOf(assignment->key), SecondsOf(now));
  ReportLeased(shard, assignment->key, assignment->lease, now,
               changed ? CrawlOutcome::kChanged : CrawlOutcome::kUnchanged);
  return true;
}

void FleetShards::Sample(size_t partition, size_t most, std::vector<PricedPage>* sample) const {
  const std::vector<uint32_t>& pages = pages_of_[partition];
  const size_t count = std::min(most, pages.size());
  for (size_t i = 0; i < count; ++i) {
    const size_t page = pages[i * pages.size() / count];
    const PageRecord* record = shards_[partition]->Find(world_.KeyOf(page));
    CHECK(record != nullptr);
    sample->push_back({record->spec.importance, record->state.rates});
  }
}

double FleetShards::Freshness(Instant now) const { return truth_.Freshness(SecondsOf(now)); }

}  // namespace freshet
