// The pages that compete now, each under a line that its value cannot cross.
//
// A page is evaluated once when it wakes; from then on V(t) <= a + s t until its line expires
// (ValueJet). The band is split: the hot pages are looked at in every pick; the lines of the cold
// ones stay below `hot_level` until `period_end`, when the split is made anew.
//
// Invariants, at every instant from the last split to period_end:
//  1. The line of every page is at least its value.
//  2. The line of every cold page is below hot_level.
#ifndef FRESHET_CORE_INDEX_AWAKE_BAND_H_
#define FRESHET_CORE_INDEX_AWAKE_BAND_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/model/crawl_value.h"

namespace freshet {

// Value type, thread-compatible. Times are seconds on the clock of the index.
struct AwakePage {
  PageId page;
  HostId host;
  int64_t turn = 0;      // of equal values the page of the smaller turn wins
  bool running = false;  // the exponent was zero at `turn`; else it is `exponent`
  double exponent = 0;
  float crossing = 0;  // cached for the level below, for the time when it sleeps again
  uint16_t level = 0;
  ValueParameters value;
  Instant evaluated;         // its line touches the value at this instant
  double at_evaluation = 0;  // the exact value then
  bool hot = false;
  uint32_t place = 0;  // in the hot or in the cold lines
};

// Owner thread only. A slot names a page for as long as it is in the band.
class AwakeBand {
 public:
  // Takes a page in under the line that `jet`, its value at `now`, allows.
  [[nodiscard]] uint32_t Add(const AwakePage& page, const ValueJet& jet, double now, Instant at);
  void Remove(uint32_t slot);
  // The exact value at `now` is known: the line touches it.
  void Tighten(uint32_t slot, const ValueJet& jet, double now, Instant at);

  [[nodiscard]] AwakePage& operator[](uint32_t slot) { return pages_[slot]; }
  [[nodiscard]] const AwakePage& operator[](uint32_t slot) const { return pages_[slot]; }
  [[nodiscard]] size_t size() const { return hot_.size() + cold_.size(); }
  [[nodiscard]] double hot_level() const { return hot_level_; }
  [[nodiscard]] double period_end() const { return period_end_; }
  [[nodiscard]] bool all_hot() const { return cold_.empty(); }

  // Computes the bounds of all hot pages at `now` <= period_end.
  void ReadBounds(double now);
  [[nodiscard]] double bound(uint32_t slot) const { return bounds_[pages_[slot].place]; }
  // The page was evaluated at the instant of the bounds: its bound becomes its value.
  void TakeValue(uint32_t slot) { bounds_[pages_[slot].place] = pages_[slot].at_evaluation; }
  // The slot of the largest bound read, of equal ones of the smallest turn, with exact values taken
  // for the bounds of pages that were tightened since; kNone: no page is hot.
  static constexpr uint32_t kNone = ~uint32_t{0};
  [[nodiscard]] uint32_t Top() const;

  // Begins a period of `length` seconds at `now` in which about `target` pages are hot. Lines that
  // would expire in it are renewed by `evaluate(page)`, which returns the jet at `now`.
  template <typename Evaluate>
  void Split(double now, Instant at, double length, size_t target, const Evaluate& evaluate);
  // The value that about `rank` pages reach at `now`. Precondition: not empty.
  [[nodiscard]] double ValueAtRank(double now, size_t rank);
  // Appends up to `max` slots of pages whose line is below `level` at the end of the period.
  void ListBelow(double level, size_t max, std::vector<uint32_t>* slots);

 private:
  // V(t) <= base + slope (t - origin_).
  struct Line {
    double base = 0;
    double slope = 0;
    double expires = 0;
    uint32_t slot = 0;
  };
  [[nodiscard]] Line MakeLine(uint32_t slot, const ValueJet& jet, double now);
  [[nodiscard]] double At(const Line& line, double t) const {
    return line.base + line.slope * (t - origin_);
  }
  void Place(const Line& line);
  void Detach(uint32_t slot);
  // Moves all lines to the cold ones and their origin to `now`.
  void Gather(double now);
  [[nodiscard]] double LevelOfRank(double t, size_t rank);
  void SplitAt(double level);

  std::vector<AwakePage> pages_;  // by slot
  std::vector<uint32_t> free_;
  std::vector<Line> hot_;
  std::vector<Line> cold_;
  std::vector<double> bounds_;  // of hot_, as read
  std::vector<double> sample_;
  double origin_ = 0;
  double hot_level_ = 0;
  double period_end_ = 0;
  size_t list_from_ = 0;
};

template <typename Evaluate>
void AwakeBand::Split(double now, Instant at, double length, size_t target,
                      const Evaluate& evaluate) {
  Gather(now);
  period_end_ = now + length;
  for (Line& line : cold_) {
    if (line.expires >= period_end_) continue;
    AwakePage& page = pages_[line.slot];
    const ValueJet jet = evaluate(page);
    page.evaluated = at;
    page.at_evaluation = jet.value;
    line = MakeLine(line.slot, jet, now);
  }
  SplitAt(LevelOfRank(period_end_, target));
}

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_AWAKE_BAND_H_
