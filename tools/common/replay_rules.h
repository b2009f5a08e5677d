// The simple rules that a replay compares with: what crawlers do that have no model of change. All
// spend exactly one crawl a tick, and drop a page that is gone.
#ifndef FRESHET_TOOLS_COMMON_REPLAY_RULES_H_
#define FRESHET_TOOLS_COMMON_REPLAY_RULES_H_

#include <memory>
#include <string_view>
#include <vector>

#include "tools/common/replay_policy.h"

namespace freshet {

// The rule of that name, or nullptr for any other text. `pages` outlives it.
//
//   uniform         the page crawled longest ago
//   importance      the page of largest importance x time since the last crawl
//   pings_first     of the pages signalled since their last crawl the one of highest importance, of
//                   equal ones that signalled first; without any, the page crawled longest ago
//   nutch_adaptive  the page that is due first; its interval is 30 days at first, times 1.4 after a
//                   crawl that found no change and times 0.8 after one that did, within 1 to 365
//                   days: AdaptiveFetchSchedule of Apache Nutch with its default rates
[[nodiscard]] std::unique_ptr<ReplayPolicy> MakeReplayRule(std::string_view name,
                                                           const std::vector<ReplayPage>& pages);

}  // namespace freshet

#endif  // FRESHET_TOOLS_COMMON_REPLAY_RULES_H_
