// A replay driven by the shard that the server runs: the same state machine, estimator, burst
// classes, index and epochs, in virtual time.
#ifndef FRESHET_TOOLS_SIM_REPLAY_SHARD_H_
#define FRESHET_TOOLS_SIM_REPLAY_SHARD_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/model/crawl_outcome.h"
#include "core/schedule/event.h"
#include "tools/sim/memory_shard.h"
#include "tools/sim/replay.h"

namespace freshet {

struct ShardOptions;

// Owner thread only. All pages have the crawl id "replay" and one signal source; hosts have no
// politeness.
class ShardReplay : public ReplayPolicy {
 public:
  // Learns at the first event that comes `epoch` or more after the last epoch. Rate policies plan
  // then for `crawl_rate`; until the first time all pages take turns. With `named_polls` false
  // signals have the size of their poll, but do not say which poll it was, so that nothing is
  // learned of single bursts. `pages` outlives it.
  ShardReplay(const std::vector<ReplayPage>& pages, const ShardOptions& options, Duration epoch,
              Rate crawl_rate, bool named_polls = true);

  void Add(size_t page, Instant now) override;
  // The pages of one host in the poll are one batch of that size.
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
  LeaseId lease_;  // of the page picked last
};

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_REPLAY_SHARD_H_
