// What a poller of the site's sitemap finds, poll by poll.
#ifndef FRESHET_TOOLS_DEMO_POLL_PLAN_H_
#define FRESHET_TOOLS_DEMO_POLL_PLAN_H_

#include <cstdint>
#include <vector>

#include "tools/demo/replayed_history.h"

namespace freshet::demo {

// A page of a sitemap whose `lastmod` is newer than at the poll before. Value type,
// thread-compatible.
struct TouchedPage {
  uint32_t page = 0;
  int64_t lastmod_micros = 0;  // wall time of its latest touch
  bool operator==(const TouchedPage&) const = default;
};

// What one poll finds. Value type, thread-compatible.
struct Poll {
  int64_t time_micros = 0;           // of the poll; it covers the time since the poll before
  std::vector<uint32_t> births;      // pages that are new, in order of birth
  std::vector<TouchedPage> touched;  // each page once, in order of its latest touch
};

// A poll that the server has acknowledged. Value type, thread-compatible.
struct KnownPoll {
  int64_t poll_micros = 0;   // Poll::time_micros
  int64_t known_micros = 0;  // wall time of the last acknowledgement
};

// One poll for each day of the history, at the end of the day. Thread-compatible.
class PollPlan {
 public:
  // The polls after `polled_until_micros`. The history outlives the plan.
  PollPlan(const ReplayedHistory& replayed, int64_t polled_until_micros);

  // When the next poll takes place.
  [[nodiscard]] int64_t next_micros() const { return next_micros_; }
  // Makes it at `now_micros`, no earlier than it is due: a poller that is late by some days looks
  // once and finds what those days brought. The poll counts as that of the last day.
  [[nodiscard]] Poll Next(int64_t now_micros);
  // True once a poll has covered the end of the history.
  [[nodiscard]] bool done() const;

 private:
  [[nodiscard]] int64_t TimeOf(int64_t day) const;
  [[nodiscard]] bool CoversTheEnd(int64_t day) const;

  const ReplayedHistory* replayed_;
  size_t next_event_ = 0;
  int64_t day_ = 0;
  int64_t next_micros_ = 0;
};

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_POLL_PLAN_H_
