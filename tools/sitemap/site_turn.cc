#include "tools/sitemap/site_turn.h"

#include <algorithm>

#include "fmt/format.h"

namespace freshet::sitemap {

void SiteTurn::Begin() {
  left_ = most_;
  charged_ = clock_();
}

void SiteTurn::Charge() {
  const Instant now = clock_();
  left_ = left_ - std::max(Duration(), now - charged_);
  charged_ = now;
}

void SiteTurn::Without(const std::function<Duration()>& work) {
  Charge();
  Unlock();
  left_ = left_ - work();
  Lock();
  charged_ = clock_();
}

absl::Status SiteTurn::GiveOn() {
  Without([] { return Duration(); });
  if (cancelled_()) return absl::CancelledError("stopped by a signal");
  return left_ > Duration() ? absl::OkStatus() : OutOfTime();
}

absl::Status SiteTurn::OutOfTime() const {
  return absl::DeadlineExceededError(fmt::format(
      "the site took more than {:.0f} s: the rest is left for another time", most_.seconds()));
}

}  // namespace freshet::sitemap
