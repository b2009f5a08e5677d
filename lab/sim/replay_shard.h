// Replays a history with the server's own shard: the same state machine, estimator, burst classes,
// index and epochs, in virtual time.
#ifndef FRESHET_LAB_SIM_REPLAY_SHARD_H_
#define FRESHET_LAB_SIM_REPLAY_SHARD_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/model/crawl_outcome.h"
#include "core/schedule/event.h"
#include "lab/common/memory_shard.h"
#include "lab/sim/replay.h"

namespace freshet {

struct ShardOptions;

// Uses the crawl id "replay" for all pages, one signal source, and no politeness limits.
// Owner thread only.
class ShardReplay : public ReplayPolicy {
 public:
  // Runs an epoch at the first event that comes `epoch` or more after the previous one. Rate
  // policies then plan for `crawl_rate`; until the first plan all pages take turns. If
  // `named_polls` is false, signals have the size of their poll, but not its name, so that the
  // shard learns nothing about single bursts. `pages` outlives the policy.
  ShardReplay(const std::vector<ReplayPage>& pages, const ShardOptions& options, Duration epoch,
              Rate crawl_rate, bool named_polls = true);

  void Add(size_t page, Instant now) override;
  // Sends the pages of one host in the poll as one batch of that size.
  void Signal(std::span<const ReplaySignal> poll, Instant now) override;
  [[nodiscard]] std::optional<size_t> Pick(Instant now) override;
  void Crawled(size_t page, Instant now, bool changed) override;
  void Gone(size_t page, Instant now) override;

  [[nodiscard]] const MemoryShard& shard() const { return shard_; }

 private:
  void CatchUp(Instant now);
  void Report(size_t page, Instant now, CrawlOutcome outcome);

  const std::vector<ReplayPage>& pages_;
  MemoryShard shard_;
  Duration epoch_;
  bool named_polls_;
  Instant last_epoch_;
  absl::flat_hash_map<std::string, size_t> by_url_;
  absl::flat_hash_map<std::string, uint32_t> batch_sizes_;
  std::vector<Event> batch_;
  LeaseId lease_;  // lease of the last pick
};

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_REPLAY_SHARD_H_
