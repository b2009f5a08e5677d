// How far ahead of its tick a page is leased, and when pages are asked for again where too few were
// found.
#ifndef FRESHET_SERVER_ENGINE_LOOKAHEAD_H_
#define FRESHET_SERVER_ENGINE_LOOKAHEAD_H_

#include "core/base/units.h"

namespace freshet {

// Thread-compatible.
class Lookahead {
 public:
  // At least 20 ms, and twice what a lease takes to be durable. A signal that comes within this
  // time is too late for the pick.
  [[nodiscard]] Duration time() const { return time_; }
  // The last request found too few pages.
  [[nodiscard]] bool barren() const { return barren_; }
  // Nothing is asked for until then, as too few pages were found; none: there is no need to wait.
  [[nodiscard]] Instant barren_until() const { return barren_until_; }

  // Notes that a request took `took`, and whether it found too few pages. `stalled`: nothing can be
  // leased.
  void Note(Duration took, bool short_of_pages, bool stalled, Instant now);
  // Pages may be found from now on.
  void EndWait() { barren_until_ = Instant::None(); }

 private:
  // Between requests that find too few pages; whatever changes a page ends the wait early.
  static constexpr Duration kMinBarrenWait = Duration::Millis(5);
  static constexpr Duration kMinLookahead = Duration::Millis(20);

  Duration time_ = kMinLookahead;
  bool barren_ = false;
  Instant barren_until_;
  Duration barren_wait_ = kMinBarrenWait;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_LOOKAHEAD_H_
