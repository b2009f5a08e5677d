// Runs epochs and changes of policy and politeness over all shards, each on its own thread.
#ifndef FRESHET_SERVER_ENGINE_EPOCHS_OF_ALL_H_
#define FRESHET_SERVER_ENGINE_EPOCHS_OF_ALL_H_

#include <functional>

#include "core/base/status.h"
#include "core/schedule/crawl_policy.h"
#include "server/engine/epochs.h"
#include "server/engine/plan_runner.h"
#include "server/engine/router.h"
#include "server/engine/runtime_settings.h"

namespace freshet {

// Has every shard run an epoch, in which all learn from the present pages of all. `done` is called
// once, with the sum, when the last has ended; Unavailable if a shard is stopped.
void RunEpochs(const Router& router, std::function<void(const Status&, const EpochResult&)> done);

// Has all shards follow `policy`. `done` is called once, when it is in force on all, or with an
// error: then the previous policy stays. Aborted: another policy was set in between. Unavailable: a
// shard is stopped. Else the error of the store or of the plan; a plan is made again at its next
// time. Assignments continue in the meantime. `router` and `plans` outlive the change. Not by two
// threads at a time: shards would not agree on the last change.
void ChangePolicy(const Router& router, PlanRunner& plans, const CrawlPolicy& policy,
                  std::function<void(const Status&)> done);

// Has all shards keep to these defaults. `done` is called once when all hosts do, and with `pages`
// when all pages are filed by them. Unavailable: a shard is stopped. Not by two threads at a time.
void ChangePoliteness(const Router& router, const PolitenessDefaults& defaults, bool pages,
                      std::function<void(const Status&)> done);

// The names of the policy that shards still follow, and of the one that they will follow.
[[nodiscard]] PolicyStatus PolicyNow(const Router& router, const RuntimeSettings& settings);

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_EPOCHS_OF_ALL_H_
