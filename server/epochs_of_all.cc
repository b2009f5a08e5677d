#include "server/epochs_of_all.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "server/mutex.h"

namespace freshet {
namespace {

// What several shards report of one epoch, until the last has.
struct EpochGather {
  Mutex mutex;
  size_t left FRESHET_GUARDED_BY(mutex) = 0;
  EpochResult result FRESHET_GUARDED_BY(mutex);
  Status status FRESHET_GUARDED_BY(mutex);

  // Whether this was the last shard.
  bool Add(const StatusOr<EpochResult>& shard) {
    const MutexLock lock(mutex);
    if (!shard.ok()) {
      status = shard.status();
    } else {
      result.number = std::max(result.number, shard->number);
      result.epochs = std::max(result.epochs, shard->epochs);
      result.pages += shard->pages;
      result.ended = std::max(result.ended, shard->ended);
      result.took = std::max(result.took, shard->took);
    }
    return --left == 0;
  }
};

}  // namespace

void RunOnAllShards(const Router& router, bool learn, std::function<void(const ShardView&)> first,
                    std::function<void(const Status&, const EpochResult&)> done) {
  auto gather = std::make_shared<EpochGather>();
  {
    const MutexLock lock(gather->mutex);
    gather->left = router.shards().size();
  }
  const auto report = [gather, done = std::move(done)](const StatusOr<EpochResult>& result) {
    if (!gather->Add(result)) return;
    Status status;
    EpochResult sum;
    {
      const MutexLock lock(gather->mutex);
      status = gather->status;
      sum = gather->result;
    }
    done(status, sum);
  };
  for (Shard* shard : router.shards()) {
    const bool asked = shard->Query([learn, first, report](const ShardView& view) {
      if (first) first(view);
      if (learn) {
        view.epochs.Request(report);
      } else {
        view.epochs.RequestReestimate(report);
      }
    });
    if (!asked) report(MakeStatus(absl::StatusCode::kUnavailable, "the server is shutting down"));
  }
}

void ChangePolicy(const Router& router, PlanRunner& plans, const CrawlPolicy& policy,
                  std::function<void(const Status&)> done) {
  const auto set = [policy](const ShardView& view) { view.state.SetPolicy(policy); };
  RunOnAllShards(
      router, /*learn=*/false, set,
      [&plans, policy, done = std::move(done)](const Status& status, const EpochResult&) {
        if (!status.ok()) return done(status);
        plans.SetMethod(policy.plan, done);
      });
}

}  // namespace freshet
