// Finds sources that have become worse, or better again, before the slow model shows it. Recall and
// false signals are learned over months (core/estimate/page_estimator.h), because crawls are rare.
// For each host and source, this class compares the last few dozen crawls with the model. It
// estimates the shift b: the odds of the source's signals are now e^b times those of the model. b
// is a random walk that each crawl corrects (a dynamic generalised linear model; West, Harrison and
// Migon 1985). A crawl finds a change with the probability
//
//   p(b) = 1 - e^-s(b),   s(b) = rest + sum over its signals of ln(1 + o_i e^b),
//
// where o_i is the odds that signal i stands for a change under the model, and `rest` is the
// exponent of a change without the source. With g and I the score and the information of the
// outcome in b,
//
//   V <- min(V + kWalk, kSpread),   V <- 1/(1/V + I),   b <- b + V g.
//
// A sequential test (Page 1954) decides whether the source is notably worse than the model says.
// Each crawl adds to a sum the log likelihood ratio of b = -2 against b = 0, but at most 1.6; the
// sum never falls below 0. Once the sum reaches 12, the source is in quarantine at that host. If
// outcomes follow the model, this happens less than once in e^12 = 160,000 crawls. In quarantine, a
// signal of the source adds less staleness to its page: its odds are taken as e^(b/2) times those
// of the model. This also applies to pages that already wait. Only half of the shift is applied,
// and only to staleness; docs/model.md has the reason. The quarantine ends when outcomes put b near
// 0, because the source has recovered or the model has caught up. Both need crawls: time alone
// never ends a quarantine.
//
// Waiting pages are re-estimated at their next signal or crawl, and all pages at the next epoch. An
// epoch stores the sources in quarantine. A restart loses the evidence about other sources, and the
// evidence since the last epoch; later crawls provide it again.
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

// The signals of one source in an interval that ended with a crawl.
struct SignalledInterval {
  struct Signals {
    double odds = 0;  // under the model, finite, >= 0
    double count = 0;
  };
  absl::InlinedVector<Signals, 4> signals;
  double rest = 0;  // >= 0
  bool changed = false;
};

// The part of a source's shift b that is applied: half of it, if the source is in quarantine.
struct SourceShift {
  uint8_t source = 0;
  double shift = 0;  // <= 0
};

// The evidence of the last crawls about one source at one host. Value type, thread-compatible.
struct SourceStanding {
  std::string host;
  uint8_t source = 0;
  // Fading sums over the last few dozen crawls. signals: signals in the intervals before the
  // crawls. believed: true signals that the model expected, without the shift. proved: true
  // signals.
  double signals = 0;
  double believed = 0;
  double proved = 0;
  double shift = 0;      // b, applied or not
  double variance = 0;   // V
  double suspicion = 0;  // the sum of the sequential test
  Instant last;          // the last crawl
  Instant since;         // the start of the quarantine; none = not in quarantine
  [[nodiscard]] bool quarantined() const { return !since.is_none(); }
};

// Reports that a quarantine began or ended.
struct QuarantineNews {
  bool begun = false;
  SourceStanding standing;
};

enum class QuarantineChange : uint8_t { kNone, kBegun, kEnded };

// The sources of the hosts of one shard. All sources of a host are in one shard, so results do not
// depend on the number of shards. Bounded: at most limits::kMaxWatchedSources sources. Beyond that,
// the sources whose last crawl is longest ago are forgotten, but sources in quarantine only after
// all others.
//
// Owner thread only.
class Quarantine {
 private:
  using Sources = absl::InlinedVector<SourceStanding, 1>;

 public:
  // The evidence of a batch of crawls. Install makes it current. A dropped batch leaves no trace.
  class Staged {
    friend class Quarantine;
    absl::btree_map<std::string, Sources> hosts_;  // all sources of each changed host
    std::vector<QuarantineNews> news_;             // in order
  };

  // Records a crawl at `now` that ended an interval with signals of `source`. Returns whether a
  // quarantine began or ended. No-op without signals. O(signals).
  QuarantineChange Observe(const std::string& host, uint8_t source,
                           const SignalledInterval& interval, Instant now, Staged& staged) const;
  // O(staged). Rarely, after many calls with new sources, O(size).
  void Install(Staged&& staged);

  // The shifts that apply at a host after the batch so far. Most hosts have none.
  using Shifts = std::vector<SourceShift>;
  [[nodiscard]] Shifts ShiftsOf(const std::string& host, const Staged& staged) const;
  // nullptr = not known.
  [[nodiscard]] const SourceStanding* Find(const std::string& host, uint8_t source,
                                           const Staged& staged) const;
  [[nodiscard]] size_t size() const { return size_; }
  // The number of sources in quarantine, and the number of quarantines that have begun.
  [[nodiscard]] size_t quarantined() const { return quarantined_; }
  [[nodiscard]] uint64_t begun() const { return begun_; }
  // Returns the quarantines that began or ended since the last call, but at most the newest
  // limits::kMaxQuarantineNews.
  [[nodiscard]] std::vector<QuarantineNews> TakeNews() { return std::exchange(news_, {}); }
  // Hosts are divided into kParts parts. ForEach calls `body` with each standing of a part.
  static constexpr size_t kParts = PartedMap<std::string, Sources>::kParts;
  template <typename Body>
  void ForEach(size_t part, Body body) const {
    hosts_.ForEach(part, [&body](const std::string& /*host*/, const Sources& sources) {
      for (const SourceStanding& standing : sources) body(standing);
    });
  }

  // Serialise writes a line for each source in quarantine, ordered by host and source. AddLine
  // reads one line. If it cannot, it returns InvalidArgument and changes nothing.
  [[nodiscard]] std::string Serialise() const;
  [[nodiscard]] static bool IsLine(std::string_view line);
  [[nodiscard]] Status AddLine(std::string_view line);

 private:
  // nullptr = the host is not known.
  [[nodiscard]] const Sources* SourcesOf(const std::string& host, const Staged& staged) const;
  void Forget();
  // All standings, in no particular order. Valid until the next call of a non-const function.
  [[nodiscard]] std::vector<const SourceStanding*> All() const;

  PartedMap<std::string, Sources> hosts_;
  size_t size_ = 0;
  size_t quarantined_ = 0;
  uint64_t begun_ = 0;
  std::vector<QuarantineNews> news_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_QUARANTINE_H_
