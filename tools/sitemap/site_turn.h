// Limits the time of one site among many that are polled in turns.
#ifndef FRESHET_TOOLS_SITEMAP_SITE_TURN_H_
#define FRESHET_TOOLS_SITEMAP_SITE_TURN_H_

#include <functional>

#include "absl/status/status.h"
#include "core/base/units.h"
#include "sync/mutex.h"
#include "tools/sitemap/turn.h"

namespace freshet::sitemap {

// Counts the time that one site uses: its turns and its work between them, but not its waits for a
// turn. Owner thread only.
class FRESHET_THREAD_ANNOTATION(capability("mutex")) SiteTurn {
 public:
  // `turn` and `clock` outlive this object. `most` is the maximum time of a poll. `clock` and
  // `cancelled` are called both with and without the turn.
  SiteTurn(Turn& turn, const std::function<Instant()>& clock, Duration most,
           std::function<bool()> cancelled)
      : turn_(turn), clock_(clock), most_(most), cancelled_(std::move(cancelled)) {}

  void Lock() FRESHET_THREAD_ANNOTATION(acquire_capability())
      FRESHET_THREAD_ANNOTATION(no_thread_safety_analysis) {
    turn_.Lock();
  }
  void Unlock() FRESHET_THREAD_ANNOTATION(release_capability())
      FRESHET_THREAD_ANNOTATION(no_thread_safety_analysis) {
    turn_.Unlock();
  }
  // Begins a poll, which may take the whole time of a site.
  void Begin() FRESHET_REQUIRES(this);
  // Counts the time of the current turn so far.
  void Charge() FRESHET_REQUIRES(this);
  // Releases the turn to the thread that has waited longest, runs `work`, and waits for a turn
  // again. Counts the time that `work` returns.
  void Without(const std::function<Duration()>& work) FRESHET_REQUIRES(this);
  // Gives the turn to other sites between two pieces of a document, and waits for the next turn.
  // Errors: Cancelled, or OutOfTime.
  [[nodiscard]] absl::Status GiveOn() FRESHET_REQUIRES(this);
  // The site's remaining time.
  [[nodiscard]] Duration left() const { return left_; }
  // Makes a DeadlineExceeded error with a message for users.
  [[nodiscard]] absl::Status OutOfTime() const;

 private:
  Turn& turn_;
  const std::function<Instant()>& clock_;
  const Duration most_;
  const std::function<bool()> cancelled_;
  Duration left_;
  Instant charged_;  // time until which the site's time was counted
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_SITE_TURN_H_
