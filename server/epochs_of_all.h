// Epochs and changes of policy over all shards, each on its own thread.
#ifndef FRESHET_SERVER_EPOCHS_OF_ALL_H_
#define FRESHET_SERVER_EPOCHS_OF_ALL_H_

#include <functional>

#include "core/base/status.h"
#include "core/schedule/crawl_policy.h"
#include "server/epochs.h"
#include "server/plan_runner.h"
#include "server/router.h"

namespace freshet {

// Has every shard run an epoch (or file its pages anew, without learning), after `first`, which
// may be unset. `done` is called once, with the sum, when the last has; Unavailable where one is
// stopped.
void RunOnAllShards(const Router& router, bool learn, std::function<void(const ShardView&)> first,
                    std::function<void(const Status&, const EpochResult&)> done);

// Has all shards follow `policy`. `done` is called once it is in force, or with why it is not: the
// policy before then goes on. Assignments go on meanwhile.
void ChangePolicy(const Router& router, PlanRunner& plans, const CrawlPolicy& policy,
                  std::function<void(const Status&)> done);

}  // namespace freshet

#endif  // FRESHET_SERVER_EPOCHS_OF_ALL_H_
