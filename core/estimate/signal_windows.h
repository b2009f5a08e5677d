// Groups signals that come one by one but belong together. A content delivery network or IndexNow
// reports a mass edit page by page, so no single message shows the number of pages. Therefore all
// signals of a source for a host within a few hours count as one burst, like those of one poll of a
// sitemap.
#ifndef FRESHET_CORE_ESTIMATE_SIGNAL_WINDOWS_H_
#define FRESHET_CORE_ESTIMATE_SIGNAL_WINDOWS_H_

#include <cstdint>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/model/signal.h"

namespace freshet {

// The class of a signal, and the key of its burst (0 = it came alone).
// Value type, thread-compatible.
struct PlacedSignal {
  SourceClass source_class;
  uint64_t burst = 0;
};

// Bounded: at most limits::kMaxSignalWindows (host, source) pairs at a time. If there are more, the
// pairs whose window has ended are forgotten or, if that is not enough, all pairs. The next signals
// then start new windows. Nothing is stored, so a restart forgets all windows, too.
// Owner thread only.
class SignalWindows {
 private:
  struct Window {
    Instant begin;
    uint32_t signals = 0;
  };

 public:
  // The windows after a batch of signals. Install makes them current. A dropped batch leaves no
  // trace.
  class Staged {
    friend class SignalWindows;
    absl::flat_hash_map<uint64_t, Window> windows_;
    Instant last_;  // the last signal
  };

  // A window ends this long after its first signal: a quarter of `day`.
  explicit SignalWindows(Duration day) : length_(Duration::Micros(day.micros() / 4)) {}

  // Places a signal of `source` about a page of `host`. The signal came at `now` with the poll
  // `poll` (0 = none), which named `pages` pages of the host. A poll of three pages or more has its
  // own class. For smaller polls, the class follows from the number of all signals in their window
  // so far, including this one.
  [[nodiscard]] PlacedSignal Place(std::string_view host, uint8_t source, uint64_t poll,
                                   uint32_t pages, Instant now, Staged& staged) const;
  void Install(const Staged& staged);

 private:
  Duration length_;
  absl::flat_hash_map<uint64_t, Window> windows_;  // by hash of host and source
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_SIGNAL_WINDOWS_H_
