// When a document that is watched is polled again.
#ifndef FRESHET_TOOLS_SITEMAP_INTERVALS_H_
#define FRESHET_TOOLS_SITEMAP_INTERVALS_H_

#include <string_view>

#include "core/base/units.h"

namespace freshet::sitemap {

// Value type, thread-compatible.
struct IntervalRule {
  Duration first = Duration::Hours(1);  // of a document that is new
  Duration least = Duration::Seconds(300);
  Duration most = Duration::Days(1);
};

// The interval after a poll, of what it was before (zero: there was none): half of it if the poll
// found something new, else half as much again; within the bounds. So a document that has news in
// every second or third poll keeps its interval. Thread-safe.
[[nodiscard]] Duration NextInterval(const IntervalRule& rule, Duration interval, bool changed);

// `now` + the interval, up to a tenth sooner or later, so that documents that were found together
// part. The same arguments give the same instant. Thread-safe.
[[nodiscard]] Instant NextPoll(Instant now, Duration interval, std::string_view url);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_INTERVALS_H_
