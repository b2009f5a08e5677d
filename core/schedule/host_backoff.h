// How long a host is left alone that asks for it: by Retry-After, or by an answer that says that it
// is fetched too often or cannot answer now (HTTP status 429 or 503).
#ifndef FRESHET_CORE_SCHEDULE_HOST_BACKOFF_H_
#define FRESHET_CORE_SCHEDULE_HOST_BACKOFF_H_

#include <cstdint>
#include <string_view>

#include "core/base/units.h"

namespace freshet {

struct HostRecord;

// Value type, thread-compatible.
struct HostBackoff {
  Duration first;  // pause after the first throttled answer; zero: throttling pauses nothing
  // No pause that was not asked for is longer; >= `first`.
  Duration longest = Duration::Hours(1);
  // No pause that was asked for is longer: a host is shared by pages that do not all mean it.
  Duration longest_asked = Duration::Days(1);
  // Time without a throttled answer that forgives one of those before; > 0.
  Duration quiet = Duration::Seconds(600);
  bool operator==(const HostBackoff&) const = default;
};

// The pause after so many throttled answers in a row: `first`, doubled by each, plus up to a
// quarter so that hosts that failed together do not come back together; `longest` at most. The same
// for the same host and count: everything that the core does can be repeated. Zero when there are
// none.
[[nodiscard]] Duration ThrottlePause(const HostBackoff& backoff, std::string_view host,
                                     int throttles);

// The pause of a host that asked for one: what it asked for, `longest_asked` at most, and up to a
// tenth more, `first` at most.
[[nodiscard]] Duration AskedPause(const HostBackoff& backoff, std::string_view host,
                                  Duration asked);

// When the host was last not to be fetched because of a throttled answer; none: it stands for
// none.
[[nodiscard]] Instant QuietSince(const HostRecord& host);

// How many throttled answers in a row the host still stands for at `now`: one is forgiven for every
// quiet time since its pause ended.
[[nodiscard]] int ThrottlesAt(const HostBackoff& backoff, const HostRecord& host, Instant now);

// Takes note of a throttled answer to a fetch that began at `began`: a host that has many pages out
// throttles all of them at once, which counts once. Blocks the host for the pause; `asked`, if not
// zero, takes its place. Blocks only ever grow.
void NoteThrottled(const HostBackoff& backoff, Instant began, Duration asked, Instant now,
                   HostRecord* host);

// Takes note of a pause that came with any other answer.
void NoteAsked(const HostBackoff& backoff, Duration asked, Instant now, HostRecord* host);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_BACKOFF_H_
