// Rate policies in the server. Plans over the pages of all shards are computed while requests are
// served, and each shard gets its part of the plan.
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
  Duration interval;  // time between two plans; 0 = only on request or for new pages
  // At this interval, the runner checks whether enough pages were added to need a new plan.
  Duration look = Duration::Seconds(1);
  // The number of page ids that a shard handles between two of its turns: a few milliseconds of
  // work.
  uint32_t slice = 8192;
};

// Makes plans and hands them to the shards. Owns a thread, which is idle while no rate policy is
// set. Thread-safe.
class PlanRunner {
 public:
  // Called when a plan is in force on all shards, or with an error. Runs on the runner's thread, or
  // inside a call of this object. Unavailable: the runner or a shard is stopped. Aborted: another
  // method or policy was set in between. Other errors are those of PlanCrawls.
  using Done = std::function<void(const Status&)>;

  // `rate` returns the total crawl rate. `router` must outlive this object.
  PlanRunner(const PlanRunnerOptions& options, Router& router, std::function<Rate()> rate);
  ~PlanRunner();
  PlanRunner(const PlanRunner&) = delete;
  PlanRunner& operator=(const PlanRunner&) = delete;

  // Begins a change to this method, or to no method. Pending requests for another method end with
  // Aborted. Returns the number of the change.
  [[nodiscard]] uint64_t BeginChange(std::optional<PlanMethod> method) FRESHET_EXCLUDES(mutex_);
  // From now on makes plans by the method of that change: at once, at intervals, and whenever the
  // number of pages exceeds 1.5 times that of the last plan. Without pages or a crawl rate, the
  // method comes into force without a plan. `done` may be unset.
  void Follow(uint64_t change, Done done) FRESHET_EXCLUDES(mutex_);
  // Calls BeginChange and then Follow.
  void SetMethod(std::optional<PlanMethod> method, Done done) FRESHET_EXCLUDES(mutex_);
  // Makes a new plan, after a change of the crawl rate or the pages.
  void Poke() FRESHET_EXCLUDES(mutex_);
  // Ends the thread, and then calls `done` of all requests. A plan that is being collected or
  // handed out stops after its present slice. A plan that is being computed stops after at most one
  // pass over all pages. Must be called before the shards are stopped. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  struct Job {
    PlanMethod method;
    uint64_t change = 0;
  };

  void Run() FRESHET_EXCLUDES(mutex_);
  // Returns OK while the job is wanted. After an error, it never returns OK again for this job.
  [[nodiscard]] Status GoOn(const Job& job) const FRESHET_EXCLUDES(mutex_);
  // Returns when a plan is due or the runner is stopped.
  void WaitForWork() FRESHET_REQUIRES(mutex_);
  [[nodiscard]] uint64_t Pages() const;
  // Collects, computes and hands out one plan. The errors of this function and the next two are
  // those of Done.
  [[nodiscard]] Status MakeAndHandOut(const Job& job);
  // Collects the input of the plan from all shards, and the number of page ids of each shard.
  [[nodiscard]] Status Collect(const Job& job, PlanColumns& columns, std::vector<uint32_t>& ids);
  // Gives the shard its part of the plan. The shard then files all pages again if signals that came
  // before the plan must still cause crawls.
  [[nodiscard]] Status HandOut(const Job& job, Shard& shard, Rate newcomer_rate,
                               std::span<const PlannedCrawls> crawls);
  // Runs `query` on the shard's thread and waits for it; false = the shard is stopped.
  static bool Ask(Shard& shard, const std::function<void(const ShardView&)>& query);

  const PlanRunnerOptions options_;
  Router& router_;
  const std::function<Rate()> rate_;
  mutable Mutex mutex_;
  Condition wake_;
  std::optional<PlanMethod> method_ FRESHET_GUARDED_BY(mutex_);
  // The latest change and its method. A request for the same method again is not a new change.
  uint64_t change_ FRESHET_GUARDED_BY(mutex_) = 0;
  std::optional<PlanMethod> wanted_method_ FRESHET_GUARDED_BY(mutex_);
  bool wanted_ FRESHET_GUARDED_BY(mutex_) = false;
  bool stop_ FRESHET_GUARDED_BY(mutex_) = false;
  std::vector<Done> waiters_ FRESHET_GUARDED_BY(mutex_);
  // The number of pages at the time of the last plan. Runner's thread only.
  uint64_t planned_pages_ = 0;
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_PLAN_RUNNER_H_
