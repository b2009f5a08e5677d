// Computes what each poll of the site's sitemap finds.
#ifndef FRESHET_LAB_DEMO_POLL_PLAN_H_
#define FRESHET_LAB_DEMO_POLL_PLAN_H_

#include <cstdint>
#include <vector>

#include "lab/demo/replayed_history.h"

namespace freshet::demo {

// A page whose `lastmod` in the sitemap is newer than at the previous poll. Value type,
// thread-compatible.
struct TouchedPage {
  uint32_t page = 0;
  int64_t lastmod_micros = 0;  // wall time of its latest touch
  bool operator==(const TouchedPage&) const = default;
};

// The results of one poll. Value type, thread-compatible.
struct Poll {
  int64_t time_micros = 0;       // time of the poll, which covers everything since the previous one
  std::vector<uint32_t> births;  // new pages, in order of birth
  std::vector<TouchedPage> touched;  // each page once, in order of its latest touch
};

// A poll that the server has acknowledged. Value type, thread-compatible.
struct KnownPoll {
  int64_t poll_micros = 0;   // Poll::time_micros
  int64_t known_micros = 0;  // wall time of the last acknowledgement
};

// Plans one poll for each day of the history, at the end of the day. Thread-compatible.
class PollPlan {
 public:
  // Plans the polls after `polled_until_micros`. The history outlives the plan.
  PollPlan(const ReplayedHistory& replayed, int64_t polled_until_micros);

  // When the next poll is due.
  [[nodiscard]] int64_t next_micros() const { return next_micros_; }
  // Makes the next poll at `now_micros`, which is not before it is due. If the poller is several
  // days late, one poll finds all events of these days, and counts as the poll of the last of them.
  [[nodiscard]] Poll Next(int64_t now_micros);
  // Whether a poll has covered the end of the history.
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

#endif  // FRESHET_LAB_DEMO_POLL_PLAN_H_
