// Simulates what would happen if a simple rule chose the pages for the same crawls.
#ifndef FRESHET_LAB_DEMO_RULE_SCHEDULE_H_
#define FRESHET_LAB_DEMO_RULE_SCHEDULE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lab/common/replay_rules.h"
#include "lab/demo/ledger.h"
#include "lab/demo/poll_plan.h"
#include "lab/demo/replayed_history.h"

namespace freshet::demo {

// Crawls pages by a rule of lab/common/replay_rules.h, at the same times as the server's workers.
// The rule has the server's information and delays. It learns of a poll when the server has
// acknowledged it, and chooses a page as long before the fetch as the server does. New pages of a
// poll count as never crawled, and as signalled. The simulation has no effect on the server.
// Thread-compatible.
class RuleSchedule {
 public:
  // Starts at `start_micros` with the given last crawls. The history outlives the schedule; `rule`
  // is a name for MakeReplayRule.
  RuleSchedule(std::string_view rule, const ReplayedHistory& replayed,
               const LastCrawls& last_crawls, int64_t start_micros);
  RuleSchedule(const RuleSchedule&) = delete;
  RuleSchedule& operator=(const RuleSchedule&) = delete;

  // Adds polls, in the order of their acknowledgements. Polls before the start are known.
  void Know(std::span<const KnownPoll> polls);

  // Makes a crawl at each of these times, which are in order and not after `now_micros`. To choose
  // a page, the rule uses what it knew `lead_micros` earlier.
  void AdvanceTo(int64_t now_micros, std::span<const int64_t> crawls, int64_t lead_micros);

  // Returns the true freshness under the rule.
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

 private:
  void LearnUntil(int64_t micros);
  void LearnFrom(const Poll& poll, int64_t known_micros);
  void Crawl(int64_t now_micros);

  const ReplayedHistory* replayed_;
  Ledger ledger_;
  PollPlan polls_;
  std::deque<KnownPoll> known_;    // polls that the rule has not learned yet
  std::vector<ReplayPage> pages_;  // for the rule, which reads only the importance
  std::unique_ptr<ReplayPolicy> rule_;
  bool any_page_ = false;  // the rule knows a page
};

}  // namespace freshet::demo

#endif  // FRESHET_LAB_DEMO_RULE_SCHEDULE_H_
