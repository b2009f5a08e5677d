// The turns of one site among many, and its remaining time.
#ifndef FRESHET_TOOLS_SITEMAP_SITE_TURN_H_
#define FRESHET_TOOLS_SITEMAP_SITE_TURN_H_

#include <functional>

#include "absl/status/status.h"
#include "core/base/units.h"
#include "sync/mutex.h"
#include "tools/sitemap/turn.h"

namespace freshet::sitemap {

// Charges a site for its turns and for its work between them, but not for waiting. Owner thread
// only.
class FRESHET_THREAD_ANNOTATION(capability("mutex")) SiteTurn {
 public:
  // `turn` and `clock` outlive this object. A poll may take `most`. Calls `clock` and `cancelled`
  // with and without the turn.
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
  // Begins a poll with the whole time of the site.
  void Begin() FRESHET_REQUIRES(this);
  // Charges the site for the present turn so far.
  void Charge() FRESHET_REQUIRES(this);
  // Releases the turn to the thread that has waited longest, runs `work`, and takes a turn again.
  // Charges the site for the time that `work` returns.
  void Without(const std::function<Duration()>& work) FRESHET_REQUIRES(this);
  // Lets other sites have a turn between two pieces of a document. Errors: Cancelled, or OutOfTime.
  [[nodiscard]] absl::Status GiveOn() FRESHET_REQUIRES(this);
  // The site's remaining time.
  [[nodiscard]] Duration left() const { return left_; }
  // Makes the error DeadlineExceeded for people.
  [[nodiscard]] absl::Status OutOfTime() const;

 private:
  Turn& turn_;
  const std::function<Instant()>& clock_;
  const Duration most_;
  const std::function<bool()> cancelled_;
  Duration left_;
  Instant charged_;  // time of the last charge
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_SITE_TURN_H_
