// Decides when a watched document is polled again.
#ifndef FRESHET_TOOLS_SITEMAP_INTERVALS_H_
#define FRESHET_TOOLS_SITEMAP_INTERVALS_H_

#include <string_view>

#include "core/base/units.h"

namespace freshet::sitemap {

// Value type, thread-compatible.
struct IntervalRule {
  Duration first = Duration::Hours(1);  // for a new document
  Duration least = Duration::Seconds(300);
  Duration most = Duration::Days(1);
};

// Returns the interval after a poll. `interval` is the previous one; 0 = none. If the poll found
// news, the interval is halved. Otherwise it grows by half, within the bounds. So a document with
// news in every second or third poll keeps its interval. Thread-safe.
[[nodiscard]] Duration NextInterval(const IntervalRule& rule, Duration interval, bool changed);

// Returns `now` plus the interval, up to a tenth sooner or later, so that documents found together
// are polled apart. The same arguments give the same instant. Thread-safe.
[[nodiscard]] Instant NextPoll(Instant now, Duration interval, std::string_view url);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_INTERVALS_H_
