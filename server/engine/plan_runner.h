// Rate policies in the server: computes plans over the pages of all shards, beside the traffic, and
// hands every shard its part.
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
  Duration interval;  // between two plans; zero: only when asked for or when pages come
  // How often to look whether so many pages came since the last plan that it is time for another.
  Duration look = Duration::Seconds(1);
  // Ids that a shard looks at or takes over between two of its turns: a few milliseconds of work.
  uint32_t slice = 8192;
};

// Thread-safe. Owns a thread, which does nothing while no rate policy is set.
class PlanRunner {
 public:
  // Called, on the runner's thread or within a call, when a plan has come into force on all shards,
  // or with why it has not: Unavailable when this or a shard is stopped, Aborted when another
  // method or policy was set meanwhile, else the error of PlanCrawls.
  using Done = std::function<void(const Status&)>;

  // `rate` gives the total rate of crawls; it and `router` outlive this.
  PlanRunner(const PlanRunnerOptions& options, Router& router, std::function<Rate()> rate);
  ~PlanRunner();
  PlanRunner(const PlanRunner&) = delete;
  PlanRunner& operator=(const PlanRunner&) = delete;

  // A change to this method, or to none, begins: what others asked for is given up. Its number.
  [[nodiscard]] uint64_t BeginChange(std::optional<PlanMethod> method) FRESHET_EXCLUDES(mutex_);
  // Plans by the method of that change from now on, at once, at intervals, and whenever the pages
  // are half as many again as the last plan knew. Where there are no pages or no crawl rate, the
  // method comes into force without a plan. `done` may be unset.
  void Follow(uint64_t change, Done done) FRESHET_EXCLUDES(mutex_);
  // Both at once.
  void SetMethod(std::optional<PlanMethod> method, Done done) FRESHET_EXCLUDES(mutex_);
  // Plans again: the crawl rate or the pages are others than they were.
  void Poke() FRESHET_EXCLUDES(mutex_);
  // Ends the thread, and a plan that is being gathered or handed out after its next slice, one that
  // is being computed after a look at all pages at most; whoever waits is told. Call it before the
  // shards are stopped. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  struct Job {
    PlanMethod method;
    uint64_t change = 0;
  };

  void Run() FRESHET_EXCLUDES(mutex_);
  // OK while the job is still to be done; once it is not it never is again.
  [[nodiscard]] Status GoOn(const Job& job) const FRESHET_EXCLUDES(mutex_);
  // Returns once there is something to do.
  void WaitForWork() FRESHET_REQUIRES(mutex_);
  [[nodiscard]] uint64_t Pages() const;
  // Errors as Done has them, of this and the next two.
  [[nodiscard]] Status MakeAndHandOut(const Job& job);
  // What all shards know of their pages; the number of ids of each.
  [[nodiscard]] Status Collect(const Job& job, PlanColumns& columns, std::vector<uint32_t>& ids);
  // The shard follows the plan from now on, and files its pages anew where signals that came before
  // the plan are to ask for the crawls that it has for them.
  [[nodiscard]] Status HandOut(const Job& job, Shard& shard, Rate newcomer_rate,
                               std::span<const PlannedCrawls> crawls);
  // Runs `query` on the thread of the shard and waits; false when it is stopped.
  static bool Ask(Shard& shard, const std::function<void(const ShardView&)>& query);

  const PlanRunnerOptions options_;
  Router& router_;
  const std::function<Rate()> rate_;
  mutable Mutex mutex_;
  Condition wake_;
  std::optional<PlanMethod> method_ FRESHET_GUARDED_BY(mutex_);
  // The latest change, and its method; asking for the same again is no other change.
  uint64_t change_ FRESHET_GUARDED_BY(mutex_) = 0;
  std::optional<PlanMethod> wanted_method_ FRESHET_GUARDED_BY(mutex_);
  bool wanted_ FRESHET_GUARDED_BY(mutex_) = false;
  bool stop_ FRESHET_GUARDED_BY(mutex_) = false;
  std::vector<Done> waiters_ FRESHET_GUARDED_BY(mutex_);
  // The runner's thread only: of the last plan.
  uint64_t planned_pages_ = 0;
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_PLAN_RUNNER_H_
