// The simple rules that a replay compares with: those of crawlers without a model of change. All
// make exactly one crawl a tick, and drop pages that are gone.
#ifndef FRESHET_LAB_COMMON_REPLAY_RULES_H_
#define FRESHET_LAB_COMMON_REPLAY_RULES_H_

#include <memory>
#include <string_view>
#include <vector>

#include "lab/common/replay_policy.h"

namespace freshet {

// Makes the rule of that name; nullptr for other text. `pages` outlives the rule.
//
//   uniform         the page crawled longest ago
//   importance      the page of largest importance x time since the last crawl
//   pings_first     the page of highest importance among those signalled since their last crawl; of
//                   equal pages, the first signalled; if there is none, the page crawled longest
//                   ago
//   nutch_adaptive  AdaptiveFetchSchedule of Apache Nutch with the defaults of nutch-default.xml.
//                   The page that is due first is crawled. The interval of a page is 30 days at
//                   first. A crawl multiplies it by 1.4 if the page is unchanged and by 0.8 if it
//                   has changed, raises it to the time since the last change that a crawl found
//                   (sync_delta), and keeps it within 60 s and 365 days. The page is due an
//                   interval later, less 0.3 times that time (sync_delta_rate), and at the latest
//                   after 90 days (db.fetch.interval.max). If that time is longer than the
//                   interval, 0.3 times the interval counts: without such a bound a page that has
//                   not changed for years is always due (NUTCH-1564).
[[nodiscard]] std::unique_ptr<ReplayPolicy> MakeReplayRule(std::string_view name,
                                                           const std::vector<ReplayPage>& pages);

// The names of all rules. Thread-safe.
[[nodiscard]] std::vector<std::string_view> ReplayRuleNames();

}  // namespace freshet

#endif  // FRESHET_LAB_COMMON_REPLAY_RULES_H_
