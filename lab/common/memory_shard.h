// A shard whose store is a map in memory. It is the server's own state machine, in virtual time.
#ifndef FRESHET_LAB_COMMON_MEMORY_SHARD_H_
#define FRESHET_LAB_COMMON_MEMORY_SHARD_H_

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

// No instant that is passed to a function may be earlier than a previous one. Owner thread only.
class MemoryShard {
 public:
  explicit MemoryShard(const ShardOptions& options) : state_(options) {}

  // Stages, commits and installs a batch. Returns replies in order.
  std::vector<Reply> Apply(std::span<const Event> events, Instant now);
  Reply Apply(const Event& event, Instant now);
  // Stages a batch whose commit fails, so nothing is installed.
  std::vector<Reply> Refuse(std::span<const Event> events, Instant now);

  // Leases the page that is picked at the tick `at`, for the time `lease`; nullopt = no page is
  // eligible.
  std::optional<Assignment> Next(Instant at, Duration lease, const std::string& worker = "");

  // Expires leases that are due, and handles age edges that are due.
  void RunTimers(Instant now);
  // Runs an epoch over all pages and installs their new rates. A rate policy plans with them.
  void RunEpoch(Instant now);
  // The two steps of RunEpoch, for several shards that learn together. `all` is the sum of the
  // results of CollectEpoch of all shards.
  [[nodiscard]] EpochSums CollectEpoch(Instant now);
  void FinishEpoch(const EpochSums& all, Instant now);
  // Sets the rate for which rate policies plan; 0 = they do not plan.
  void set_crawl_rate(Rate rate) { crawl_rate_ = rate; }

  // Returns the record of the page; nullptr = unknown.
  [[nodiscard]] const PageRecord* Find(const PageKey& key) const;
  [[nodiscard]] ShardState& state() { return state_; }
  [[nodiscard]] const ShardState& state() const { return state_; }
  // Returns the stored pages, for tests.
  [[nodiscard]] const absl::flat_hash_map<PageNumber, PageRecord>& pages() const { return pages_; }

 private:
  void Load(const Event& event);
  std::vector<Reply> StepAll(std::span<const Event> events, Instant now);
  void Commit();
  // Returns the page numbers in order, so that sums do not depend on the order of a hash map.
  [[nodiscard]] std::vector<PageNumber> Numbers() const;
  void ApplyInSlices(std::span<const Event> events, Instant now);
  // Returns true if the plan needs all pages to be filed again (PolicySwitch::FinishPlan).
  [[nodiscard]] bool Plan(Instant now);

  Rate crawl_rate_;
  ShardState state_;
  Transaction txn_;
  absl::flat_hash_map<PageNumber, PageRecord> pages_;
  std::vector<PageNumber> wanted_;
};

}  // namespace freshet

#endif  // FRESHET_LAB_COMMON_MEMORY_SHARD_H_
