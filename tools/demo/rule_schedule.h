// What the same crawls would have achieved under a simple rule.
#ifndef FRESHET_TOOLS_DEMO_RULE_SCHEDULE_H_
#define FRESHET_TOOLS_DEMO_RULE_SCHEDULE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tools/common/replay_rules.h"
#include "tools/demo/ledger.h"
#include "tools/demo/poll_plan.h"
#include "tools/demo/replayed_history.h"

namespace freshet::demo {

// Crawls pages by a rule of tools/common/replay_rules.h, at the times at which the server's workers
// crawl. The rule has the server's information and the server's delays: it knows of a poll when the
// server has acknowledged it, and it chooses a page as long before the fetch as the server does.
// What a poll finds to be new counts as never crawled, and as signalled. A simulation on the same
// history; nothing of it reaches a server. Thread-compatible.
class RuleSchedule {
 public:
  // Starts at `start_micros` with pages crawled as given. The history outlives the schedule, and
  // `rule` is one of MakeReplayRule.
  RuleSchedule(std::string_view rule, const ReplayedHistory& replayed,
               const LastCrawls& last_crawls, int64_t start_micros);
  RuleSchedule(const RuleSchedule&) = delete;
  RuleSchedule& operator=(const RuleSchedule&) = delete;

  // Tells it of polls, in the order of their acknowledgements. Those before the start are known.
  void Know(std::span<const KnownPoll> polls);

  // Makes a crawl at each of these times, which are in order, and none later than `now_micros`;
  // each is chosen by what was known `lead_micros` before it.
  void AdvanceTo(int64_t now_micros, std::span<const int64_t> crawls, int64_t lead_micros);

  // Its true freshness.
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

 private:
  void LearnUntil(int64_t micros);
  void LearnFrom(const Poll& poll, int64_t known_micros);
  void Crawl(int64_t now_micros);

  const ReplayedHistory* replayed_;
  Ledger ledger_;
  PollPlan polls_;
  std::deque<KnownPoll> known_;    // not learned yet
  std::vector<ReplayPage> pages_;  // for the rule, which looks at importance alone
  std::unique_ptr<ReplayPolicy> rule_;
  bool any_page_ = false;  // is known to the rule
};

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_RULE_SCHEDULE_H_
