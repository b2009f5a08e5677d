#include "core/schedule/host_backoff.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/model/host.h"

namespace freshet {
namespace {

// Uniform in [0, 1), and independent for different hosts and counts.
double Jitter(std::string_view host, int throttles) {
  // FNV-1a. Frozen, so that a run can be repeated on any machine.
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : host) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  return Random(hash + static_cast<uint64_t>(throttles)).Uniform();
}

// The count at which the doubled pauses reach the longest one. A higher count would not lengthen a
// pause, but would take longer to fall again.
int MostThrottles(const HostBackoff& backoff) {
  int throttles = 1;
  for (Duration pause = backoff.first; pause > Duration() && pause < backoff.longest; ++throttles) {
    pause = pause * 2;
  }
  return throttles;
}

void Block(Duration pause, Instant now, HostRecord* host) {
  host->blocked_until = std::max(host->blocked_until, now + pause);
}

}  // namespace

Instant QuietSince(const HostRecord& host) {
  if (host.throttles == 0) return {};
  return std::max(host.last_throttled, host.blocked_until);
}

Duration ThrottlePause(const HostBackoff& backoff, std::string_view host, int throttles) {
  if (throttles == 0 || backoff.first == Duration()) return {};
  // Reserves a part of the longest pause for the jitter.
  const Duration most =
      std::max(backoff.first, Duration::FromSeconds(backoff.longest.seconds() * 0.8));
  Duration pause = backoff.first;
  for (int i = 1; i < throttles && pause < most; ++i) pause = pause * 2;
  pause = std::min(pause, most);
  const double jitter = pause.seconds() * Jitter(host, throttles) / 4;
  return std::min(pause + Duration::FromSeconds(jitter), backoff.longest);
}

Duration AskedPause(const HostBackoff& backoff, std::string_view host, Duration asked) {
  if (asked == Duration()) return {};
  asked = std::min(asked, backoff.longest_asked);
  const Duration tenth = Duration::FromSeconds(asked.seconds() * Jitter(host, 0) / 10);
  return asked + std::min(tenth, backoff.first);
}

int ThrottlesAt(const HostBackoff& backoff, const HostRecord& host, Instant now) {
  CHECK(host.throttles == 0 || backoff.quiet > Duration());
  if (host.throttles == 0 || now <= QuietSince(host)) return host.throttles;
  const int64_t forgiven = (now - QuietSince(host)).micros() / backoff.quiet.micros();
  return static_cast<int>(std::max<int64_t>(0, host.throttles - forgiven));
}

void NoteThrottled(const HostBackoff& backoff, Instant began, Duration asked, Instant now,
                   HostRecord* host) {
  int throttles = ThrottlesAt(backoff, *host, now);
  if (throttles == 0 || began >= QuietSince(*host)) ++throttles;
  host->throttles = static_cast<uint8_t>(std::min({throttles, MostThrottles(backoff), UINT8_MAX}));
  host->last_throttled = now;
  Block(asked > Duration() ? AskedPause(backoff, host->host, asked)
                           : ThrottlePause(backoff, host->host, host->throttles),
        now, host);
}

void NoteAsked(const HostBackoff& backoff, Duration asked, Instant now, HostRecord* host) {
  Block(AskedPause(backoff, host->host, asked), now, host);
}

}  // namespace freshet
