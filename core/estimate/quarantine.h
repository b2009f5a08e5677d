// Sources that have gone bad, or good again, before the slow model knows. Recall and false signals
// are learned over months (core/estimate/page_estimator.h), as they must where crawls are scarce.
// Of each host and source this keeps what its last few dozen crawls said against the model: the
// logarithm b of the factor by which the odds of its signals differ now, followed crawl by crawl as
// a random walk that the outcomes correct (a dynamic generalised linear model; West, Harrison and
// Migon 1985). A crawl finds a change with the probability
//
//   p(b) = 1 - e^-s(b),   s(b) = rest + sum over its signals of ln(1 + o_i e^b),
//
// o_i the odds that signal i stands for a change under the model, `rest` what speaks for a change
// without the source. With g and I the score and the information of the outcome in b,
//
//   V <- min(V + kWalk, kSpread),   V <- 1/(1/V + I),   b <- b + V g.
//
// Whether the source is notably worse than believed is decided by a sequential test (Page 1954):
// the sum of the logarithms of the likelihood ratios of b = -2 against b = 0 since it was last at
// zero; one crawl adds at most 1.6. Once it reaches 12, which happens less than once in e^12 =
// 160,000 crawls where outcomes are as the model says, the source is in quarantine at that host: of
// what its signals add to the staleness of pages, those that wait among them, the odds are taken to
// be e^(b/2) of what the model says. Half of the shift, and staleness alone: docs/model.md has what
// more of it costs. It ends when outcomes say that b is as good as zero, because the source mended
// or because the model has caught up. Both are crawls' evidence; time alone ends nothing.
//
// Pages that wait are weighed anew when they are next estimated: with a signal or a crawl of their
// own, and all of them at the next epoch. With an epoch the sources in quarantine are stored; what
// crawls said of others, or since then, is lost with a restart: those that follow show it again.
#ifndef FRESHET_CORE_ESTIMATE_QUARANTINE_H_
#define FRESHET_CORE_ESTIMATE_QUARANTINE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "core/base/status.h"
#include "core/base/units.h"

namespace freshet {

// The signals of one source in an interval that a crawl ended.
struct SignalledInterval {
  struct Signals {
    double odds = 0;  // under the model, finite, >= 0
    double count = 0;
  };
  absl::InlinedVector<Signals, 4> signals;
  double rest = 0;  // >= 0
  bool changed = false;
};

// What is in force of the shift of a source.
struct SourceShift {
  uint8_t source = 0;
  double shift = 0;  // <= 0
};

// What the last crawls have said of one source at one host. Value type, thread-compatible.
struct SourceStanding {
  std::string host;
  uint8_t source = 0;
  // Of the last few dozen crawls, fading: signals in the intervals that they ended, how many of
  // them the model expected to have stood for a change, shift aside, and how many did.
  double signals = 0;
  double believed = 0;
  double proved = 0;
  double shift = 0;      // b, in force or not
  double variance = 0;   // V
  double suspicion = 0;  // of the test
  Instant last;          // crawl
  Instant since;         // in quarantine since; none: it is not
  [[nodiscard]] bool quarantined() const { return !since.is_none(); }
};

enum class QuarantineChange : uint8_t { kNone, kBegun, kEnded };

// The sources of the hosts of one shard. A host is of one shard, so what is learned does not depend
// on their number. Bounded: limits::kMaxWatchedSources; past that those that were crawled longest
// ago are forgotten, those in quarantine last.
//
// Owner thread only.
class Quarantine {
 private:
  using Sources = absl::InlinedVector<SourceStanding, 1>;

 public:
  // What a batch of crawls says. Install takes it over; dropped, it leaves no trace.
  class Staged {
    friend class Quarantine;
    absl::btree_map<std::string, Sources> hosts_;  // all sources of those that change
    bool begun_ = false;                           // any quarantine has
  };

  // A crawl at `now` ended an interval with signals of `source`. Returns what it changed. No-op
  // without signals. O(signals).
  QuarantineChange Observe(const std::string& host, uint8_t source,
                           const SignalledInterval& interval, Instant now, Staged& staged) const;
  // O(staged), but for O(size) once in many calls with new sources.
  void Install(Staged&& staged);

  // The shifts in force of the sources of a host, mostly none, as the batch so far leaves them.
  using Shifts = std::vector<SourceShift>;
  [[nodiscard]] Shifts ShiftsOf(const std::string& host, const Staged& staged) const;
  // nullptr: not known.
  [[nodiscard]] const SourceStanding* Find(const std::string& host, uint8_t source,
                                           const Staged& staged) const;
  // nullptr: not known.
  [[nodiscard]] const SourceStanding* Find(const std::string& host, uint8_t source) const;

  [[nodiscard]] size_t size() const { return size_; }
  // In quarantine.
  [[nodiscard]] size_t quarantined() const { return quarantined_; }
  // In no order, until the next call that is not const.
  [[nodiscard]] std::vector<const SourceStanding*> All() const;

  // A line each of those in quarantine, in order of host and source; and back from one.
  // InvalidArgument, and nothing changed, for any other text.
  [[nodiscard]] std::string Serialise() const;
  [[nodiscard]] static bool IsLine(std::string_view line);
  [[nodiscard]] Status AddLine(std::string_view line);

 private:
  // nullptr: nothing is known of the host.
  [[nodiscard]] const Sources* SourcesOf(const std::string& host, const Staged& staged) const;
  void Forget();

  absl::flat_hash_map<std::string, Sources> hosts_;
  size_t size_ = 0;
  size_t quarantined_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_QUARANTINE_H_
