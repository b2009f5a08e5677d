// The pages of a fleet in shards: a partition of them each, as the server runs them, in virtual
// time. One index over all pages is a fleet of one partition.
#ifndef FRESHET_TOOLS_SIM_FLEET_SHARDS_H_
#define FRESHET_TOOLS_SIM_FLEET_SHARDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/units.h"
#include "core/fleet/price_meter.h"
#include "core/schedule/shard_options.h"
#include "tools/sim/fleet_world.h"
#include "tools/sim/memory_shard.h"

namespace freshet {

// Value type, thread-compatible.
struct FleetShardsOptions {
  ShardOptions shard;  // policy and estimator
  size_t partitions = 1;
  bool learn = false;  // change rates are not told
  Duration epoch = Duration::Days(5);
  uint64_t seed = 1;  // of what happens
};

// Owner thread only; instants do not step back. Partitions are slots modulo their number; epochs
// learn from the sums of all.
class FleetShards {
 public:
  // All pages are added, as fresh, at Begin(). `world` outlives it.
  FleetShards(const FleetWorld& world, const FleetShardsOptions& options);

  [[nodiscard]] static Instant Begin() { return Instant::FromUnixSeconds(1'700'000'000); }

  // Everything that happens up to `now`: changes, signals, epochs.
  void RunTo(Instant now);
  // Age edges of a partition; about once a round.
  void RunTimers(size_t partition, Instant now) { shards_[partition]->RunTimers(now); }
  // The value of the partition's best page; 0: there is none that is free.
  [[nodiscard]] double Best(size_t partition, Instant now);
  // Crawls that page; false: there is none.
  bool Crawl(size_t partition, Instant now);

  [[nodiscard]] size_t partitions() const { return shards_.size(); }
  [[nodiscard]] size_t PagesOf(size_t partition) const { return pages_of_[partition].size(); }
  // Appends some of its pages, evenly drawn, as they are believed to be.
  void Sample(size_t partition, size_t most, std::vector<PricedPage>* sample) const;

  [[nodiscard]] double Freshness(Instant now) const;
  [[nodiscard]] uint64_t crawls() const { return crawls_; }

 private:
  static double SecondsOf(Instant now) { return (now - Begin()).seconds(); }
  [[nodiscard]] MemoryShard& ShardOf(size_t page) { return *shards_[partition_of_[page]]; }
  void Signal(size_t page, Instant now);
  void RunEpoch(Instant now);

  const FleetWorld& world_;
  FleetTruth truth_;
  Duration epoch_;
  Instant next_epoch_;
  std::vector<std::unique_ptr<MemoryShard>> shards_;
  std::vector<uint16_t> partition_of_;           // by page
  std::vector<std::vector<uint32_t>> pages_of_;  // by partition
  uint64_t crawls_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_FLEET_SHARDS_H_
