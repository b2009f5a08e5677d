// Pauses of hosts that ask for a pause, by Retry-After or by throttled answers (HTTP status 429 or
// 503).
#ifndef FRESHET_CORE_SCHEDULE_HOST_BACKOFF_H_
#define FRESHET_CORE_SCHEDULE_HOST_BACKOFF_H_

#include <cstdint>
#include <string_view>

#include "core/base/units.h"

namespace freshet {

struct HostRecord;

// The backoff settings for hosts. Value type, thread-compatible.
struct HostBackoff {
  Duration first;  // pause after the first throttled answer; 0 = throttled answers cause no pause
  // The longest pause without Retry-After; >= `first`.
  Duration longest = Duration::Hours(1);
  // The longest pause by Retry-After. It is limited because the answer for one page says little
  // about the other pages of the host.
  Duration longest_asked = Duration::Days(1);
  // For each period of this length without a throttled answer, the number of throttled answers in a
  // row falls by one; > 0.
  Duration quiet = Duration::Seconds(600);
  bool operator==(const HostBackoff&) const = default;
};

// The pause after `throttles` throttled answers in a row. It starts at `first`, doubles with each
// answer, and is at most `longest`. Up to a quarter is added, so that hosts that failed together do
// not come back together. The result depends only on the arguments, because all work of the core is
// repeatable. 0 if `throttles` is 0.
[[nodiscard]] Duration ThrottlePause(const HostBackoff& backoff, std::string_view host,
                                     int throttles);

// The pause of a host that asked for one. It is `asked`, limited to `longest_asked`, plus jitter.
// The jitter is at most a tenth, and at most `first`.
[[nodiscard]] Duration AskedPause(const HostBackoff& backoff, std::string_view host,
                                  Duration asked);

// The end of the last pause for a throttled answer; none = no throttled answers are counted.
[[nodiscard]] Instant QuietSince(const HostRecord& host);

// The number of throttled answers in a row as of `now`. It falls by one for each HostBackoff::quiet
// that has passed since the pause ended.
[[nodiscard]] int ThrottlesAt(const HostBackoff& backoff, const HostRecord& host, Instant now);

// Records a throttled answer to a fetch that began at `began`. If a host with many pages in flight
// throttles all of them at once, only one answer is counted. Blocks the host for the usual pause,
// or as AskedPause says if `asked` is not 0. A block is never shortened.
void NoteThrottled(const HostBackoff& backoff, Instant began, Duration asked, Instant now,
                   HostRecord* host);

// Records a pause that the host asked for in an answer that was not throttled.
void NoteAsked(const HostBackoff& backoff, Duration asked, Instant now, HostRecord* host);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_BACKOFF_H_
