// Runs epochs, and changes of policy and politeness, on all shards. Each shard does its part on its
// own thread.
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

// Has every shard run an epoch in which it learns from the present pages of all shards. `done` is
// called once, when the last epoch has ended, with the sum of the results. Unavailable: a shard is
// stopped.
void RunEpochs(const Router& router, std::function<void(const Status&, const EpochResult&)> done);

// Has all shards follow `policy`. `done` is called once: when the policy is in force on all shards,
// or with an error. After an error the previous policy stays in force. Aborted: another policy was
// set in between. Unavailable: a shard is stopped. Other errors are those of the store or of the
// plan; a failed plan is tried again at the next planning time. Assignments continue in the
// meantime. `router` and `plans` must outlive the change. Two threads must not call this at the
// same time, because shards would not agree on the last change.
void ChangePolicy(const Router& router, PlanRunner& plans, const CrawlPolicy& policy,
                  std::function<void(const Status&)> done);

// Has all shards apply these defaults. `done` is called once: when the defaults hold for all hosts
// and, if `pages` is set, all pages have been filed by them. Unavailable: a shard is stopped. Two
// threads must not call this at the same time.
void ChangePoliteness(const Router& router, const PolitenessDefaults& defaults, bool pages,
                      std::function<void(const Status&)> done);

// The names of the policy in force and of the policy that is being prepared, if any.
[[nodiscard]] PolicyStatus PolicyNow(const Router& router, const RuntimeSettings& settings);

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_EPOCHS_OF_ALL_H_
