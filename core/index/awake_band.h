// The awake pages, which compete now, each under a line that its value cannot cross.
//
// V(t) <= a + s t until the line expires (ValueJet). A page wakes under a line that follows from
// its crossing of the threshold, and is evaluated when it comes to the top. The band is split
// twice: warm pages may come near the price within some hundred picks, hot ones among them within
// some dozen. A pick looks only at the hot pages.
//
// Why two splits: from time to time all lines must be visited, and the fewer the hot pages, the
// shorter their period. With n awake pages, W picks to a period of warm pages and H to one of hot
// pages a pick costs about n/W + 1.5 W/H + 3 H line visits; for some thousand pages the sum is flat
// around W = 400 and H = 40.
//
// All lines are some thousand, too many to pass over in one pick. So the warm pages of the next
// period are gathered in the last quarter of this one: a part of the lines in each of a few picks
// after each split of warm pages.
//
// Invariants, at every instant from a split to the end of its period:
//  1. The line of every page is at least its value.
//  2. Until warm_end, every page that is not warm is below the warm level: its line says so, or
//  said so when the period began.
//  3. Until hot_end <= warm_end, every warm page that is not hot is below the hot level, by its
//  line now or then.
//  4. While the next period of warm pages is prepared, the lines examined for it so far are the
//  first ones. Each of them expires no sooner than that period ends, and its page is either among
//  the warm pages gathered for it or stays below its level until its end.
#ifndef FRESHET_CORE_INDEX_AWAKE_BAND_H_
#define FRESHET_CORE_INDEX_AWAKE_BAND_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/units.h"
#include "core/index/awake_pages.h"
#include "core/index/band_lines.h"
#include "core/index/line_kernels.h"
#include "core/index/shared_lines.h"
#include "core/model/crawl_value.h"

namespace freshet {

// The band. No call allocates once vectors have their size. Owner thread only.
class AwakeBand {
 public:
  // The pages outlive the band, which gives their slots back.
  explicit AwakeBand(AwakePages& pages) : pages_(pages), shared_(pages) {}

  // Takes in the page of a slot, whose jet holds from `now` on.
  void Enter(uint32_t slot, double now);
  // In place of Enter: makes the page share the line of `leader` (SharedLines::Follow).
  void Follow(uint32_t slot, uint32_t leader);
  [[nodiscard]] const SharedLines& shared() const { return shared_; }
  void Remove(uint32_t slot);
  // Lowers the line to `jet`, the jet of the exact value at `now`, which it touches.
  void Tighten(uint32_t slot, const ValueJet& jet, double now, Instant at);

  // The number of lines.
  [[nodiscard]] size_t size() const { return lines_.size; }
  // The slots of the hot pages.
  [[nodiscard]] std::span<const uint32_t> hot() const { return {hot_.slot.data(), hot_.size}; }
  [[nodiscard]] double warm_end() const { return warm_.end; }
  [[nodiscard]] double hot_end() const { return hot_.end; }
  // Whether a page outside the hot or warm ones might beat `value`: every warm page that is not hot
  // is below the hot level, every other page below the warm level.
  [[nodiscard]] bool BelowHotLevel(double value) const {
    return hot_.size < warm_.size && value < hot_.level;
  }
  [[nodiscard]] bool BelowWarmLevel(double value) const {
    return warm_.size < lines_.size && value < warm_.level;
  }

  static constexpr uint32_t kNone = SharedLines::kNone;
  struct Leader {
    uint32_t slot = kNone;  // kNone = no page is hot
    double bound = 0;
    double next = 0;  // the largest bound of the others
  };
  // Computes the bounds of all hot pages at `now` <= hot_end. Returns the page of the largest
  // bound, among equal bounds the page of the smallest turn.
  [[nodiscard]] Leader ReadBounds(double now);
  // The leader by the bounds as read; bounds of pages tightened since are exact.
  [[nodiscard]] Leader Top();
  // Appends the slots of hot pages whose bound is above `value`.
  void ListAbove(double value, std::vector<uint32_t>* slots) const;
  // Replaces the bound as read, until the next ReadBounds: by the value of a page evaluated at the
  // same instant, or by one below all values.
  void SetBound(uint32_t slot, double bound);

  struct Period {
    double length = 0;   // seconds
    size_t target = 0;   // number of pages, about
    double price = 0;    // a guess of the value of picks, which decides where to split
    bool known = false;  // `price` is no guess but a value that is reached
  };
  // Begins a period in which `warm.target` pages are warm, as prepared if it was, and one in which
  // `hot.target` of them are hot. Lines that would expire in the longer one are renewed by
  // `evaluate(slot)`, which returns the jet at `now`.
  using Evaluate = absl::FunctionRef<ValueJet(uint32_t)>;
  void Split(double now, Instant at, const Period& warm, const Period& hot, Evaluate evaluate);
  // Whether this period of warm pages is near its end, and the next one not wholly prepared.
  [[nodiscard]] bool PrepareDue(double now, const Period& warm) const {
    return warm_.end - now <= warm.length / 4 && examined_ < lines_.size;
  }
  // Prepares a part of the next period of warm pages: enough that calls every `stride` seconds
  // finish before the end of this one.
  void Prepare(double now, Instant at, const Period& warm, double stride, Evaluate evaluate);
  // Begins another period of hot pages, which ends with the period of the warm ones.
  void SplitWarm(double now, Instant at, const Period& hot);
  // The value that about `rank` pages reach at warm_end, by a sample of 256 lines. The error is
  // that of a sample quantile, so only cost may depend on it. Precondition: not empty.
  [[nodiscard]] double ValueAtRank(size_t rank);
  // The approximate number of pages that reach `level` at warm_end, by a sample.
  [[nodiscard]] size_t CountAtLeast(double level) const;
  // Appends at most `max` slots of pages whose line is below `level` at warm_end, among the next
  // hundred in turn.
  void ListBelow(double level, size_t max, std::vector<uint32_t>* slots);
  // The line of a page, at an instant from its beginning up to warm_end.
  [[nodiscard]] double BoundAt(uint32_t slot, double t) const {
    return lines_.At(places_[shared_.LeaderOf(slot)].line, t - origin_);
  }
  // Whether invariants 2 to 4 hold, for debug builds: takes a pass over all lines.
  [[nodiscard]] bool Holds() const;

 private:
  using Line = BandLine;
  using Lines = BandLines;
  using Tier = BandTier;
  // The places of the lines of a slot. A place in a tier may be stale, which the slot held there
  // shows. So a tier is emptied without a visit to each of its pages, each of which would be a line
  // of the cache.
  struct Places {
    uint32_t line = kNone;
    std::array<uint32_t, 3> tier = {kNone, kNone, kNone};
  };
  // Makes another slot take over line and jet.
  void Replace(uint32_t slot, uint32_t by);
  // A line from `now` on for some periods, at least the next one; and a hot line until hot_end.
  [[nodiscard]] Line MakeLine(uint32_t slot, const ValueJet& jet, double now) const;
  [[nodiscard]] Line MakeHotLine(uint32_t slot, double now, Instant at) const;
  // V(now + d) <= value + slope d.
  [[nodiscard]] Line Write(uint32_t slot, double value, double slope, double now,
                           double span) const;
  // The place of a slot in a tier; kNone = not there.
  [[nodiscard]] uint32_t PlaceIn(const Tier& tier, uint32_t slot) const {
    const uint32_t place = places_[slot].tier[tier.id];
    return place < tier.size && tier.slot[place] == slot ? place : kNone;
  }
  [[nodiscard]] bool Reaches(const Line& line, const Tier& tier) const {
    return line.base + line.slope * (tier.end - origin_) >= tier.level;
  }
  uint32_t Join(Tier& tier, const Line& line) {
    return places_[line.slot].tier[tier.id] = tier.Join(line);
  }
  void Leave(Tier& tier, uint32_t place);
  void MoveLine(uint32_t from, uint32_t to);
  void EraseLine(uint32_t place);
  [[nodiscard]] Leader LeaderAt(const HighestValue& highest) const;
  // The places of lines from `first` up to `end` that expire before `t`, counted from `first`.
  size_t ListExpiring(size_t first, size_t end, double t);
  // Fills `tier`, which is empty, with the lines of `from` that may reach its level before its end.
  // The level follows the price at a distance that is adapted to the target.
  void Fill(const Lines& from, const Period& period, Tier& tier);
  // Joins the lines that a pass over `from` has selected, in places counted from `first`.
  void JoinSelected(const Lines& from, size_t first, size_t count, Tier& tier);
  // Adapts the distance of the level to the result.
  void Adapt(const Period& period, Tier& tier);
  // Sets the level of the next period.
  void Aim(const Period& period);
  // Examines the next `count` lines for the next period.
  void Examine(size_t count, double now, Instant at, Evaluate evaluate);
  // Gathers the lines not examined yet, up to `end`, that reach the level of the next period.
  void Gather(size_t end);
  void Renew(size_t first, size_t end, double until, double now, Instant at, Evaluate evaluate);
  // Moves the origin of the lines near `now`.
  void MoveOrigin(double now, double length);
  [[nodiscard]] double SampleRank(const Lines& lines, double t, size_t rank);
  // Room for the selection of a pass over `lines`.
  [[nodiscard]] uint32_t* Selected(const Lines& lines);

  const LineKernels& kernels_ = BestLineKernels();
  AwakePages& pages_;
  SharedLines shared_;
  std::vector<Places> places_;  // by slot
  Lines lines_;
  LineColumn expires_;  // by place in lines_
  Tier warm_{0};
  Tier next_{1};  // the warm pages of the next period among examined lines
  Tier hot_{2};
  uint32_t examined_ = 0;
  bool astray_ = true;              // the distance of warm levels from the price is not known
  LineColumn bounds_;               // by place in hot_, as read
  std::vector<uint32_t> selected_;  // places in the lines that a tier is filled from
  std::vector<double> sample_;
  double origin_ = 0;
  size_t list_from_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_AWAKE_BAND_H_
