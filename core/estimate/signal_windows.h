// Signals that come one by one and belong together: a content delivery network or IndexNow tells of
// a mass edit page by page, each in a message of its own, so that no message shows how many pages
// it is about. What a source tells of a host within a few hours counts as one burst, as what a
// sitemap tells in one poll does.
#ifndef FRESHET_CORE_ESTIMATE_SIGNAL_WINDOWS_H_
#define FRESHET_CORE_ESTIMATE_SIGNAL_WINDOWS_H_

#include <cstdint>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/model/signal.h"

namespace freshet {

// Where a signal belongs: its class, and what its burst is known by (zero: it came alone). Value
// type, thread-compatible.
struct PlacedSignal {
  SourceClass source_class;
  uint64_t burst = 0;
};

// Bounded: limits::kMaxSignalWindows hosts and sources at a time; past that all are forgotten, and
// what comes next starts new windows. Nothing is stored: after a start, likewise.
// Owner thread only.
class SignalWindows {
 private:
  struct Window {
    Instant begin;
    uint32_t signals = 0;
  };

 public:
  // Windows as a batch of signals leaves them. Install takes it over; dropped, it leaves no trace.
  class Staged {
    friend class SignalWindows;
    absl::flat_hash_map<uint64_t, Window> windows_;
    Instant last_;  // of the signals
  };

  // A window ends this long after its first signal: a quarter of `day`.
  explicit SignalWindows(Duration day) : length_(Duration::Micros(day.micros() / 4)) {}

  // A signal of `source` about a page of `host`, which came at `now` with the poll `poll` (zero:
  // none) of `pages` pages of the host. Polls of three pages and more show what they are; smaller
  // ones take the class of all that came in their window so far, this one included.
  [[nodiscard]] PlacedSignal Place(std::string_view host, uint8_t source, uint64_t poll,
                                   uint32_t pages, Instant now, Staged& staged) const;
  void Install(const Staged& staged);

 private:
  Duration length_;
  absl::flat_hash_map<uint64_t, Window> windows_;  // by hash of host and source
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_SIGNAL_WINDOWS_H_
