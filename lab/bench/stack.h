// The store and the shards as in the server, but without network and dispatcher, for benchmarks.
#ifndef FRESHET_LAB_BENCH_STACK_H_
#define FRESHET_LAB_BENCH_STACK_H_

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/schedule/crawl_policy.h"
#include "server/base/system_clock.h"
#include "server/engine/shard.h"
#include "storage/store.h"
#include "sync/mutex.h"

namespace freshet {

// Thread-compatible.
class BenchStack {
 public:
  struct Options {
    int shards = 1;
    Durability durability = Durability::kSync;
    CrawlPolicy policy = Policy{.kind = PolicyKind::kGreedyNcis};
  };

  // Loads the store in `dir` and starts the shards. Returns the errors of the store.
  [[nodiscard]] Status Start(const std::string& dir, const Options& options);
  [[nodiscard]] Status Stop();

  SystemClock clock;
  std::unique_ptr<Store> store;
  [[nodiscard]] std::vector<Shard*> Shards() const;
  // Returns the duration of the longest commit of the store since the last call. Thread-safe.
  Duration TakeLongestCommit() { return observer_.TakeLongestCommit(); }

 private:
  // Observes the shards, and prints failures to standard error.
  class Observer final : public ShardObserver {
   public:
    void OnCommit(Duration took, size_t events) override FRESHET_EXCLUDES(mutex_);
    void OnFailure(uint16_t shard, const Status& status) override;
    void OnPagesMayBeDue() override {}
    Duration TakeLongestCommit() FRESHET_EXCLUDES(mutex_);

   private:
    Mutex mutex_;
    Duration longest_commit_ FRESHET_GUARDED_BY(mutex_);
  };

  Observer observer_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_STACK_H_
