#include "server/engine/epochs_of_all.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/schedule/crawl_policy.h"
#include "core/schedule/followed_changes.h"
#include "core/schedule/policy_switch.h"
#include "server/base/countdown.h"
#include "server/base/refusals.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// Adds up the reports of all shards on one epoch.
struct EpochGather {
  explicit EpochGather(size_t shards) : left(shards) {}

  Countdown left;
  Mutex mutex;
  EpochResult result FRESHET_GUARDED_BY(mutex);
  Status status FRESHET_GUARDED_BY(mutex);

  void Add(const StatusOr<EpochResult>& shard) {
    const MutexLock lock(mutex);
    if (!shard.ok()) {
      status = shard.status();
    } else {
      result.number = std::max(result.number, shard->number);
      result.epochs = std::max(result.epochs, shard->epochs);
      result.pages += shard->pages;
      result.again += shard->again;
      result.changed += shard->changed;
      result.ended = std::max(result.ended, shard->ended);
      result.took = std::max(result.took, shard->took);
    }
  }
};

// Calls `ask` on the thread of every shard; `done` gets the sum of their reports.
void AskAll(const Router& router,
            const std::function<void(const ShardView&, const EpochRunner::Done&)>& ask,
            std::function<void(const Status&, const EpochResult&)> done) {
  auto gather = std::make_shared<EpochGather>(router.shards().size());
  const auto report = [gather, done = std::move(done)](const StatusOr<EpochResult>& result) {
    gather->Add(result);
    if (!gather->left.Arrive()) return;
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
    const bool asked = shard->Query([ask, report](const ShardView& view) { ask(view, report); });
    if (!asked) report(ServerIsStopping());
  }
}

// Asks the shards whether they follow the policy. By the time a shard answers, its snapshot shows
// the policy too, because a turn publishes its work before it answers queries.
void Confirm(const Router& router, const CrawlPolicy& policy,
             const std::function<void(const Status&)>& done) {
  const auto ask = [policy](const ShardView& view, const EpochRunner::Done& report) {
    if (view.state.policies().in_force() == policy) return report(EpochResult());
    report(MakeStatus(absl::StatusCode::kAborted,
                      "policy: another policy was set at the same time, so this one is not used"));
  };
  AskAll(router, ask, [done](const Status& status, const EpochResult&) { done(status); });
}

}  // namespace

void RunEpochs(const Router& router, std::function<void(const Status&, const EpochResult&)> done) {
  // The epoch is announced to all shards before any shard begins. Otherwise a shard could learn
  // before all others have collected their statistics.
  for (Shard* shard : router.shards()) shard->ExpectEpoch();
  const auto ask = [](const ShardView& view, const EpochRunner::Done& report) {
    view.epochs.Request(report);
  };
  AskAll(router, ask, std::move(done));
}

void ChangePolicy(const Router& router, PlanRunner& plans, const CrawlPolicy& policy,
                  std::function<void(const Status&)> done) {
  const auto ask = [policy](const ShardView& view, const EpochRunner::Done& report) {
    if (!view.state.policies().SetPolicy(policy)) return report(EpochResult());
    view.epochs.RequestFiling(report);
  };
  const auto confirm = [&router, policy, done](const Status& status) {
    if (!status.ok()) return done(status);
    Confirm(router, policy, done);
  };
  const uint64_t change = plans.BeginChange(policy.plan);
  AskAll(router, ask, [&plans, change, done, confirm](const Status& status, const EpochResult&) {
    if (!status.ok()) return done(status);
    plans.Follow(change, confirm);
  });
}

void ChangePoliteness(const Router& router, const PolitenessDefaults& defaults, bool pages,
                      std::function<void(const Status&)> done) {
  const auto ask = [defaults, pages](const ShardView& view, const EpochRunner::Done& report) {
    view.state.SetPoliteness(defaults);
    if (!pages) return report(EpochResult());
    view.epochs.RequestFiling(report);
  };
  AskAll(router, ask,
         [done = std::move(done)](const Status& status, const EpochResult&) { done(status); });
}

PolicyStatus PolicyNow(const Router& router, const RuntimeSettings& settings) {
  const StatusOr<CrawlPolicy> policy = ResolvePolicy(settings.policy());
  CHECK(policy.ok(), "a policy was set that is not known");
  const auto& shards = router.shards();
  return settings.policy_status(std::all_of(shards.begin(), shards.end(), [&](const Shard* shard) {
    return shard->snapshot().in_force == *policy;
  }));
}

}  // namespace freshet
