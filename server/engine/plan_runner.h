// Rate policies in the server: plans over the pages of all shards are computed beside the traffic,
// and each shard gets its part.
#ifndef FRESHET_SERVER_ENGINE_PLAN_RUNNER_H_
#define FRESHET_SERVER_ENGINE_PLAN_RUNNER_H_

#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "core/base/status.h"
#include "core/plan/planner.h"
#include "core/schedule/page_plan.h"
#include "server/engine/router.h"
#include "sync/mutex.h"

namespace freshet {

struct PlanRunnerOptions {
  Duration interval;  // between two plans; 0 = only on request or for new pages
  // The interval of checks whether enough pages came since the last plan to make another.
  Duration look = Duration::Seconds(1);
  // Ids that a shard looks at or takes over between two of its turns: a few milliseconds of work.
  uint32_t slice = 8192;
};

// The runner. Owns a thread, which is idle without a rate policy. Thread-safe.
class PlanRunner {
 public:
  // Called, on the runner's thread or within a call, when a plan is in force on all shards, or with
  // an error. Unavailable: this or a shard is stopped. Aborted: another method or policy was set in
  // between. Else the error of PlanCrawls.
  using Done = std::function<void(const Status&)>;

  // `rate` returns the total crawl rate; it and `router` outlive this.
  PlanRunner(const PlanRunnerOptions& options, Router& router, std::function<Rate()> rate);
  ~PlanRunner();
  PlanRunner(const PlanRunner&) = delete;
  PlanRunner& operator=(const PlanRunner&) = delete;

  // Begins a change to this method, or to none, and ends the requests of others. Returns the
  // change's number.
  [[nodiscard]] uint64_t BeginChange(std::optional<PlanMethod> method) FRESHET_EXCLUDES(mutex_);
  // Plans by the method of that change from now on: at once, at intervals, and whenever the pages
  // are half as many again as in the last plan. Without pages or a crawl rate, the method comes
  // into force without a plan. `done` may be unset.
  void Follow(uint64_t change, Done done) FRESHET_EXCLUDES(mutex_);
  // Does both at once.
  void SetMethod(std::optional<PlanMethod> method, Done done) FRESHET_EXCLUDES(mutex_);
  // Plans again after a change of the crawl rate or the pages.
  void Poke() FRESHET_EXCLUDES(mutex_);
  // Ends the thread. A plan that is being gathered or handed out ends after its next slice, one
  // that is being computed after at most one look at all pages. All waiting callers are notified.
  // To be called before the shards are stopped. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  struct Job {
    PlanMethod method;
    uint64_t change = 0;
  };

  void Run() FRESHET_EXCLUDES(mutex_);
  // OK while the job is still wanted; afterwards never OK again.
  [[nodiscard]] Status GoOn(const Job& job) const FRESHET_EXCLUDES(mutex_);
  // Returns once there is work.
  void WaitForWork() FRESHET_REQUIRES(mutex_);
  [[nodiscard]] uint64_t Pages() const;
  // Errors of this and the next two are those of Done.
  [[nodiscard]] Status MakeAndHandOut(const Job& job);
  // Collects what all shards know of their pages, and the number of ids of each.
  [[nodiscard]] Status Collect(const Job& job, PlanColumns& columns, std::vector<uint32_t>& ids);
  // Gives the shard its plan. The shard refiles its pages if signals from before the plan are to
  // ask for its crawls.
  [[nodiscard]] Status HandOut(const Job& job, Shard& shard, Rate newcomer_rate,
                               std::span<const PlannedCrawls> crawls);
  // Runs `query` on the thread of the shard and waits; false = the shard is stopped.
  static bool Ask(Shard& shard, const std::function<void(const ShardView&)>& query);

  const PlanRunnerOptions options_;
  Router& router_;
  const std::function<Rate()> rate_;
  mutable Mutex mutex_;
  Condition wake_;
  std::optional<PlanMethod> method_ FRESHET_GUARDED_BY(mutex_);
  // The latest change and its method; asking for the same again is no other change.
  uint64_t change_ FRESHET_GUARDED_BY(mutex_) = 0;
  std::optional<PlanMethod> wanted_method_ FRESHET_GUARDED_BY(mutex_);
  bool wanted_ FRESHET_GUARDED_BY(mutex_) = false;
  bool stop_ FRESHET_GUARDED_BY(mutex_) = false;
  std::vector<Done> waiters_ FRESHET_GUARDED_BY(mutex_);
  // The pages of the last plan. Runner's thread only.
  uint64_t planned_pages_ = 0;
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_PLAN_RUNNER_H_
