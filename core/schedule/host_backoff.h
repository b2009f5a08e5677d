// The pauses of hosts that ask for them: by Retry-After, or by throttled answers (HTTP status 429
// or 503).
#ifndef FRESHET_CORE_SCHEDULE_HOST_BACKOFF_H_
#define FRESHET_CORE_SCHEDULE_HOST_BACKOFF_H_

#include <cstdint>
#include <string_view>

#include "core/base/units.h"

namespace freshet {

struct HostRecord;

// The back-off of hosts. Value type, thread-compatible.
struct HostBackoff {
  Duration first;  // pause after the first throttled answer; 0 = throttling pauses nothing
  // The longest pause without Retry-After; >= `first`.
  Duration longest = Duration::Hours(1);
  // The longest pause by Retry-After: a page that asks for more does not speak for all pages of its
  // host.
  Duration longest_asked = Duration::Days(1);
  // Time without a throttled answer that forgives one earlier answer; > 0.
  Duration quiet = Duration::Seconds(600);
  bool operator==(const HostBackoff&) const = default;
};

// The pause after `throttles` throttled answers in a row: `first`, doubled by each, plus up to a
// quarter so that hosts that failed together do not come back together; at most `longest`. Equal
// for equal host and count, because all work of the core is repeatable. 0 for no throttled answers.
[[nodiscard]] Duration ThrottlePause(const HostBackoff& backoff, std::string_view host,
                                     int throttles);

// The pause of a host that asked for one: `asked`, at most `longest_asked`, plus up to a tenth, at
// most `first`.
[[nodiscard]] Duration AskedPause(const HostBackoff& backoff, std::string_view host,
                                  Duration asked);

// The end of the last pause for a throttled answer; none = no such answer counts.
[[nodiscard]] Instant QuietSince(const HostRecord& host);

// The throttled answers in a row that still count at `now`: one is forgiven for every quiet time
// since the pause ended.
[[nodiscard]] int ThrottlesAt(const HostBackoff& backoff, const HostRecord& host, Instant now);

// Records a throttled answer to a fetch that began at `began`; a host with many pages out throttles
// all at once, which counts once. Blocks the host for the pause, or for `asked` unless that is 0.
// Blocks only ever grow.
void NoteThrottled(const HostBackoff& backoff, Instant began, Duration asked, Instant now,
                   HostRecord* host);

// Records a pause that came with any other answer.
void NoteAsked(const HostBackoff& backoff, Duration asked, Instant now, HostRecord* host);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_BACKOFF_H_
