// Store and shards as in the server, without network and dispatcher, for benchmarks.
#ifndef FRESHET_TOOLS_BENCH_STACK_H_
#define FRESHET_TOOLS_BENCH_STACK_H_

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/schedule/crawl_policy.h"
#include "server/shard.h"
#include "server/system_clock.h"
#include "storage/store.h"

namespace freshet {

// Thread-compatible.
class BenchStack {
 public:
  struct Options {
    int shards = 1;
    Durability durability = Durability::kSync;
    CrawlPolicy policy = Policy{.kind = PolicyKind::kGreedyNcis};
  };

  // Loads the store in `dir` into shards that run. Errors of the store.
  [[nodiscard]] Status Start(const std::string& dir, const Options& options);
  [[nodiscard]] Status Stop();

  SystemClock clock;
  std::unique_ptr<Store> store;
  [[nodiscard]] std::vector<Shard*> Shards() const;

 private:
  // Failures go to standard error.
  class Observer final : public ShardObserver {
   public:
    void OnCommit(Duration, size_t) override {}
    void OnFailure(uint16_t shard, const Status& status) override;
    void OnPagesMayBeDue() override {}
  };

  Observer observer_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace freshet

#endif  // FRESHET_TOOLS_BENCH_STACK_H_
