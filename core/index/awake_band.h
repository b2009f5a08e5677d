// The pages that compete now, each under a line that its value cannot cross.
//
// V(t) <= a + s t until the line expires (ValueJet). A page wakes under a line that follows from
// where it crosses the claim, and is evaluated when it comes to the top. The band is split twice:
// the warm pages are those that may come near the price within some hundred picks, the hot ones
// those of them that may within some dozen. A pick looks at the hot pages only.
//
// Why two splits: all lines have to be passed over from time to time, and the fewer the hot pages,
// the shorter their period. With n awake pages, W picks to a period of warm pages and H to one of
// hot pages a pick costs about n/W + 1.5 W/H + 3 H line visits; for some thousand pages the
// sum is flat around W = 400 and H = 40.
//
// Invariants, at every instant from a split to the end of its period:
//  1. The line of every page is at least its value.
//  2. Until warm_end, the line of every page that is not warm is below the warm level.
//  3. Until hot_end <= warm_end, the line of every warm page that is not hot is below the hot
//  level.
#ifndef FRESHET_CORE_INDEX_AWAKE_BAND_H_
#define FRESHET_CORE_INDEX_AWAKE_BAND_H_

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.h"
#include "core/index/line_kernels.h"
#include "core/model/crawl_value.h"

namespace freshet {

// Value type, thread-compatible. Times are seconds on the clock of the index.
struct AwakePage {
  PageId page;
  int64_t turn = 0;  // of equal values the page of the smaller turn wins
  // Bounds the value from `since` on.
  ValueJet jet;
  Instant since;
  // Of the record, at hand for values that need no more.
  float importance = 0;
  float rate = 0;
  // For the time when it sleeps again.
  uint32_t crossing = 0;  // Crossing::code
  uint16_t level = 0;
  bool exact : 1 = false;        // `jet` is that of the value at `since`
  bool running : 1 = false;      // the exponent was zero at `turn`; else it stands still
  bool plain : 1 = false;        // its value is scale R^1(rate elapsed), the scale is `importance`,
  bool per_change : 1 = false;   // or importance/rate
  bool prepared : 1 = false;     // its value parameters are known
  bool level_filed : 1 = false;  // Crossing::filed
};
static_assert(sizeof(AwakePage) == 64);

// Owner thread only. A slot names a page for as long as it is in the band. No call allocates once
// vectors have their size.
class AwakeBand {
 public:
  // A slot whose page is to be filled in and then entered; until then it counts for nothing. What
  // was there before is not cleared. The jet of the page holds from `now` on.
  [[nodiscard]] uint32_t Take();
  [[nodiscard]] AwakePage& page(uint32_t slot) { return pages_[slot]; }
  void Enter(uint32_t slot, double now);
  void Remove(uint32_t slot);
  // `jet` is that of the exact value at `now`: the line touches it.
  void Tighten(uint32_t slot, const ValueJet& jet, double now, Instant at);

  [[nodiscard]] const AwakePage& operator[](uint32_t slot) const { return pages_[slot]; }
  // The value parameters of a page that is prepared. Lost when the page leaves.
  [[nodiscard]] const ValueParameters& value(uint32_t slot) const {
    return values_[places_[slot].value];
  }
  void Prepare(uint32_t slot, const ValueParameters& value);
  [[nodiscard]] size_t size() const { return lines_.size; }
  // The slots of the hot pages.
  [[nodiscard]] std::span<const uint32_t> hot() const { return {hot_.slot.data(), hot_.size}; }
  [[nodiscard]] double warm_end() const { return warm_.end; }
  [[nodiscard]] double hot_end() const { return hot_.end; }
  // Whether a page that is worth `value` might be beaten by one that was not looked at: every warm
  // page that is not hot is below the hot level, every other page below the warm level.
  [[nodiscard]] bool BelowHotLevel(double value) const {
    return hot_.size < warm_.size && value < hot_.level;
  }
  [[nodiscard]] bool BelowWarmLevel(double value) const {
    return warm_.size < lines_.size && value < warm_.level;
  }

  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Leader {
    uint32_t slot = kNone;  // kNone: no page is hot
    double bound = 0;
    double next = 0;  // the largest of the others
  };
  // Computes the bounds of all hot pages at `now` <= hot_end. The page of the largest bound, of
  // equal ones that of the smallest turn.
  [[nodiscard]] Leader ReadBounds(double now);
  // The same of the bounds as read; those of pages that were tightened since are exact.
  [[nodiscard]] Leader Top();
  // The page was evaluated at the instant of the bounds: its bound becomes its value.
  void TakeValue(uint32_t slot);

  struct Period {
    double length = 0;   // seconds
    size_t target = 0;   // pages, about
    double price = 0;    // a guess of what is picked: it tells where to split
    bool known = false;  // it is no guess but a value that is reached
  };
  // Begins a period in which `warm.target` pages are warm, and one in which `hot.target` of them
  // are hot. Lines that would expire in the longer one are renewed by `evaluate(slot)`, which
  // returns the jet at `now`.
  template <typename Evaluate>
  void Split(double now, Instant at, const Period& warm, const Period& hot,
             const Evaluate& evaluate);
  // Begins another period of hot pages; it ends with that of the warm ones.
  void SplitWarm(double now, Instant at, const Period& hot);
  // The value that about `rank` pages reach at warm_end, by a sample of 256 lines: its error is
  // that of such a quantile, and nothing but cost may depend on it. Precondition: not empty.
  [[nodiscard]] double ValueAtRank(size_t rank);
  // About how many pages reach `level` then, by a sample.
  [[nodiscard]] size_t CountAtLeast(double level) const;
  // Appends slots of pages whose line is below `level` then: of the next few hundred in turn, at
  // most `max`.
  void ListBelow(double level, size_t max, std::vector<uint32_t>* slots);

 private:
  // V(t) <= base + slope (t - origin_).
  struct Line {
    double base = 0;
    double slope = 0;
    double expires = 0;
    uint32_t slot = 0;
  };
  // Lines by columns, for the passes of LineKernels. From `size` on base is -infinity, for
  // kLinePadding places at least.
  struct Lines {
    std::vector<double> base;
    std::vector<double> slope;
    std::vector<uint32_t> slot;
    uint32_t size = 0;
    // Room for `lines` in all.
    void Reserve(size_t lines);
    void Set(size_t i, const Line& line);
    [[nodiscard]] uint32_t Join(const Line& line);
    // Moves the last line to place i.
    void Erase(size_t i);
    void Clear();
  };
  // Some of the lines once more, close together.
  struct Tier : Lines {
    double level = 0;
    double end = 0;
    double gap = 0;  // level = (1 - gap) price
  };
  // Where the lines of a slot are; kNone: it has none there.
  struct Places {
    uint32_t line = kNone;
    uint32_t warm = kNone;
    uint32_t hot = kNone;
    uint32_t value = kNone;  // in values_
  };
  // A line from `now` on that is to last for some periods, and one until hot_end.
  [[nodiscard]] Line MakeLine(uint32_t slot, const ValueJet& jet, double now) const;
  [[nodiscard]] Line MakeHotLine(uint32_t slot, double now, Instant at) const;
  // V(now + d) <= value + slope d.
  [[nodiscard]] Line Write(uint32_t slot, double value, double slope, double now,
                           double span) const;
  void Erase(Lines& lines, uint32_t Places::*place, uint32_t index);
  [[nodiscard]] Leader LeaderAt(const HighestValue& highest) const;
  // The places of lines that expire before warm_end.
  size_t ListExpiring();
  // Fills `tier` with the lines of `from` that may reach its level before its end. The level
  // follows the price at a distance that is adapted to the target.
  void Fill(const Lines& from, const Period& period, Tier& tier, uint32_t Places::*place);
  void Empty(Tier& tier, uint32_t Places::*place);
  void Begin(double now, double length);
  [[nodiscard]] double SampleRank(const Lines& lines, double t, size_t rank);
  // Room for what a pass over `lines` selects.
  [[nodiscard]] uint32_t* Selected(const Lines& lines);

  const LineKernels& kernels_ = BestLineKernels();
  std::vector<AwakePage> pages_;  // by slot
  std::vector<Places> places_;    // by slot
  std::vector<ValueParameters> values_;
  std::vector<uint32_t> free_values_;
  std::vector<uint32_t> free_;
  Lines lines_;
  std::vector<double> expires_;  // by place in lines_
  Tier warm_;
  Tier hot_;
  std::vector<double> bounds_;      // by place in hot_, as read
  std::vector<uint32_t> selected_;  // places in the lines that a tier is filled from
  std::vector<double> sample_;
  double origin_ = 0;
  size_t list_from_ = 0;
};

template <typename Evaluate>
void AwakeBand::Split(double now, Instant at, const Period& warm, const Period& hot,
                      const Evaluate& evaluate) {
  Begin(now, warm.length);
  const size_t expiring = ListExpiring();
  for (size_t i = 0; i < expiring; ++i) {
    const uint32_t slot = lines_.slot[selected_[i]];
    Tighten(slot, evaluate(slot), now, at);
  }
  Fill(lines_, warm, warm_, &Places::warm);
  SplitWarm(now, at, hot);
}

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_AWAKE_BAND_H_
