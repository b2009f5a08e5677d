// A shard whose store is a map in memory: the same state machine that the server runs, in virtual
// time.
#ifndef FRESHET_TOOLS_SIM_MEMORY_SHARD_H_
#define FRESHET_TOOLS_SIM_MEMORY_SHARD_H_

#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/model/page.h"
#include "core/model/page_number.h"
#include "core/schedule/shard_options.h"
#include "core/schedule/shard_state.h"
#include "core/schedule/transaction.h"

namespace freshet {

class EpochSums;

// Owner thread only. Instants given to it must not step back.
class MemoryShard {
 public:
  explicit MemoryShard(const ShardOptions& options) : state_(options) {}

  // One batch: stage all, commit, install. Replies in order.
  std::vector<Reply> Apply(std::span<const Event> events, Instant now);
  Reply Apply(const Event& event, Instant now);
  // The same, but that the commit is refused: nothing is installed.
  std::vector<Reply> Refuse(std::span<const Event> events, Instant now);

  // The pick for the tick `at`, leased for `lease`; none when nothing is eligible.
  std::optional<Assignment> Next(Instant at, Duration lease, const std::string& worker = "");

  // Expires leases and crosses age edges that are due.
  void RunTimers(Instant now);
  // Learns from all pages and takes their rates anew; under a rate policy, plans with them.
  void RunEpoch(Instant now);
  // The same in two steps, for one of several shards that learn together: `all` is the sum of what
  // each has collected.
  [[nodiscard]] EpochSums CollectEpoch(Instant now);
  void FinishEpoch(const EpochSums& all, Instant now);
  // What rate policies plan for; zero: they do not.
  void set_crawl_rate(Rate rate) { crawl_rate_ = rate; }

  // nullptr: not known.
  [[nodiscard]] const PageRecord* Find(const PageKey& key) const;
  [[nodiscard]] ShardState& state() { return state_; }
  [[nodiscard]] const ShardState& state() const { return state_; }
  // What the last commit wrote, for tests.
  [[nodiscard]] const absl::flat_hash_map<PageNumber, PageRecord>& pages() const { return pages_; }

 private:
  void Load(const Event& event);
  std::vector<Reply> StepAll(std::span<const Event> events, Instant now);
  void Commit();
  // In order: sums must not depend on that of a hash map.
  [[nodiscard]] std::vector<PageNumber> Numbers() const;
  void ApplyInSlices(std::span<const Event> events, Instant now);
  // Whether the pages are to be filed anew for the plan (ShardState::FinishPlan).
  [[nodiscard]] bool Plan(Instant now);

  Rate crawl_rate_;
  ShardState state_;
  Transaction txn_;
  absl::flat_hash_map<PageNumber, PageRecord> pages_;
  std::vector<PageNumber> wanted_;
};

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_MEMORY_SHARD_H_
