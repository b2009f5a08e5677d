// Decides how far ahead of its tick a page is leased, and how long to wait after a request that
// found too few pages.
#ifndef FRESHET_SERVER_ENGINE_LOOKAHEAD_H_
#define FRESHET_SERVER_ENGINE_LOOKAHEAD_H_

#include "core/base/units.h"

namespace freshet {

// Adapts both times to the requests so far. Thread-compatible.
class Lookahead {
 public:
  // How far ahead pages are leased: about twice the time that a lease takes to become durable, but
  // at least 20 ms and at most 1 s. A signal that arrives within this time before a tick is too
  // late to change the pick for the tick.
  [[nodiscard]] Duration time() const { return time_; }
  // Returns true if the last request found too few pages.
  [[nodiscard]] bool barren() const { return barren_; }
  // The time until which no pages are requested, because the last request found too few; none = no
  // wait.
  [[nodiscard]] Instant barren_until() const { return barren_until_; }

  // Notes that a request took `took`, and whether it found too few pages. `stalled`: no page can be
  // leased now.
  void Note(Duration took, bool short_of_pages, bool stalled, Instant now);
  // Ends the wait, because a request may find pages now.
  void EndWait() { barren_until_ = Instant::None(); }

 private:
  // The first wait between requests that find too few pages. Any change of a page ends the wait
  // early.
  static constexpr Duration kMinBarrenWait = Duration::Millis(5);
  static constexpr Duration kMinLookahead = Duration::Millis(20);

  Duration time_ = kMinLookahead;
  bool barren_ = false;
  Instant barren_until_;
  Duration barren_wait_ = kMinBarrenWait;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_LOOKAHEAD_H_
