// Finds sources that have gone bad, or good again, before the slow model knows. Recall and false
// signals are learned over months (core/estimate/page_estimator.h), because crawls are scarce. For
// each host and source, this class keeps the evidence of the last few dozen crawls against the
// model: the logarithm b of the factor by which the odds of its signals differ now, a random walk
// that each crawl corrects (a dynamic generalised linear model; West, Harrison and Migon 1985). A
// crawl finds a change with the probability
//
//   p(b) = 1 - e^-s(b),   s(b) = rest + sum over its signals of ln(1 + o_i e^b),
//
// o_i the odds that signal i stands for a change under the model, `rest` the exponent of a change
// without the source. With g and I the score and the information of the outcome in b,
//
//   V <- min(V + kWalk, kSpread),   V <- 1/(1/V + I),   b <- b + V g.
//
// A sequential test (Page 1954) decides whether the source is notably worse than believed: the sum
// of the logarithms of the likelihood ratios of b = -2 against b = 0 since the sum was last 0; one
// crawl adds at most 1.6. Once the sum reaches 12, the source is in quarantine at that host. If
// outcomes follow the model, this happens less than once in e^12 = 160,000 crawls. In quarantine,
// the odds behind the staleness that its signals add to pages, also waiting ones, are e^(b/2) times
// those of the model. Only half of the shift counts, and only for staleness: docs/model.md has the
// cost of more. The quarantine ends when outcomes put b near 0, because the source mended or the
// model caught up. Both need crawls; time alone ends nothing.
//
// Waiting pages are weighed again at their next estimate: with a signal or a crawl of their own,
// and all at the next epoch. An epoch stores the sources in quarantine. A restart loses the
// evidence about other sources and since the epoch: later crawls show it again.
#ifndef FRESHET_CORE_ESTIMATE_QUARANTINE_H_
#define FRESHET_CORE_ESTIMATE_QUARANTINE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/inlined_vector.h"
#include "core/base/parted_map.h"
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

// The part of a source's shift that is in force.
struct SourceShift {
  uint8_t source = 0;
  double shift = 0;  // <= 0
};

// The evidence of the last crawls about one source at one host. Value type, thread-compatible.
struct SourceStanding {
  std::string host;
  uint8_t source = 0;
  // Over the last few dozen crawls, fading: signals in the intervals that they ended, the number of
  // true ones that the model expected, without the shift, and the number of true ones.
  double signals = 0;
  double believed = 0;
  double proved = 0;
  double shift = 0;      // b, in force or not
  double variance = 0;   // V
  double suspicion = 0;  // the sum of the test
  Instant last;          // the last crawl
  Instant since;         // in quarantine since; none = not in quarantine
  [[nodiscard]] bool quarantined() const { return !since.is_none(); }
};

// A quarantine that began or ended.
struct QuarantineNews {
  bool begun = false;
  SourceStanding standing;
};

enum class QuarantineChange : uint8_t { kNone, kBegun, kEnded };

// The sources of the hosts of one shard. Each host is in one shard, so results do not depend on the
// number of shards. Bounded: limits::kMaxWatchedSources; past that the sources crawled longest ago
// are forgotten, those in quarantine last.
//
// Owner thread only.
class Quarantine {
 private:
  using Sources = absl::InlinedVector<SourceStanding, 1>;

 public:
  // The evidence of a batch of crawls. Install takes it over; a dropped batch leaves no trace.
  class Staged {
    friend class Quarantine;
    absl::btree_map<std::string, Sources> hosts_;  // all sources of each changed host
    std::vector<QuarantineNews> news_;             // in order
  };

  // Records a crawl at `now` that ended an interval with signals of `source`. Returns whether a
  // quarantine began or ended. No-op without signals. O(signals).
  QuarantineChange Observe(const std::string& host, uint8_t source,
                           const SignalledInterval& interval, Instant now, Staged& staged) const;
  // O(staged), but for O(size) once in many calls with new sources.
  void Install(Staged&& staged);

  // The shifts in force at a host, mostly none, as the batch so far leaves them.
  using Shifts = std::vector<SourceShift>;
  [[nodiscard]] Shifts ShiftsOf(const std::string& host, const Staged& staged) const;
  // nullptr = not known.
  [[nodiscard]] const SourceStanding* Find(const std::string& host, uint8_t source,
                                           const Staged& staged) const;
  [[nodiscard]] size_t size() const { return size_; }
  // The number of sources in quarantine, and of the quarantines that have begun.
  [[nodiscard]] size_t quarantined() const { return quarantined_; }
  [[nodiscard]] uint64_t begun() const { return begun_; }
  // Quarantines that began or ended since the last call, at most the newest
  // limits::kMaxQuarantineNews.
  [[nodiscard]] std::vector<QuarantineNews> TakeNews() { return std::exchange(news_, {}); }
  // Hosts are in so many parts. Calls `body` with each standing of a part.
  static constexpr size_t kParts = PartedMap<std::string, Sources>::kParts;
  template <typename Body>
  void ForEach(size_t part, Body body) const {
    hosts_.ForEach(part, [&body](const std::string& /*host*/, const Sources& sources) {
      for (const SourceStanding& standing : sources) body(standing);
    });
  }

  // Writes a line for each source in quarantine, in order of host and source, and reads one back.
  // InvalidArgument, and nothing changed, for other text.
  [[nodiscard]] std::string Serialise() const;
  [[nodiscard]] static bool IsLine(std::string_view line);
  [[nodiscard]] Status AddLine(std::string_view line);

 private:
  // nullptr = the host is not known.
  [[nodiscard]] const Sources* SourcesOf(const std::string& host, const Staged& staged) const;
  void Forget();
  // All standings, in no order; valid until the next call that is not const.
  [[nodiscard]] std::vector<const SourceStanding*> All() const;

  PartedMap<std::string, Sources> hosts_;
  size_t size_ = 0;
  size_t quarantined_ = 0;
  uint64_t begun_ = 0;
  std::vector<QuarantineNews> news_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_QUARANTINE_H_
