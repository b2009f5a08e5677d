// The pages of a fleet in virtual time, in one shard for each partition, as in the server. A single
// index over all pages is a fleet of one partition.
#ifndef FRESHET_LAB_SIM_FLEET_SHARDS_H_
#define FRESHET_LAB_SIM_FLEET_SHARDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/units.h"
#include "core/fleet/price_meter.h"
#include "core/schedule/shard_options.h"
#include "lab/common/memory_shard.h"
#include "lab/sim/fleet_world.h"

namespace freshet {

// Value type, thread-compatible.
struct FleetShardsOptions {
  ShardOptions shard;  // policy and estimator
  size_t partitions = 1;
  bool learn = false;  // change rates are not given
  Duration epoch = Duration::Days(5);
  uint64_t seed = 1;  // seed of the events
};

// Shards in virtual time. The partition of a page is its slot modulo the number of partitions.
// Epochs learn from the sums over all shards. Instants do not step back. Owner thread only.
class FleetShards {
 public:
  // Adds all pages at Begin(), as fresh pages. `world` outlives the shards.
  FleetShards(const FleetWorld& world, const FleetShardsOptions& options);

  [[nodiscard]] static Instant Begin() { return Instant::FromUnixSeconds(1'700'000'000); }

  // Plays all events up to `now`: changes, signals, epochs.
  void RunTo(Instant now);
  // Handles the due age edges of a partition. Should be called about once a round.
  void RunTimers(size_t partition, Instant now) { shards_[partition]->RunTimers(now); }
  // Returns the value of the partition's best page; 0 = none is eligible.
  [[nodiscard]] double Best(size_t partition, Instant now);
  // Crawls the best page. Returns false if none is eligible.
  bool Crawl(size_t partition, Instant now);

  [[nodiscard]] size_t partitions() const { return shards_.size(); }
  [[nodiscard]] size_t PagesOf(size_t partition) const { return pages_of_[partition].size(); }
  // Appends up to `most` pages of the partition, evenly drawn, with their estimated rates.
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

#endif  // FRESHET_LAB_SIM_FLEET_SHARDS_H_
