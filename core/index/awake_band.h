// The awake pages of an index (core/index/price_index.h), which compete for picks. Each has a line:
// an upper bound of its value, linear in time.
//
// V(t) <= a + s t until the line expires (ValueJet). When a page wakes, its line is derived from
// the point at which its value crosses the wake threshold (core/index/wake_threshold.h). The page
// is evaluated when its line becomes the highest. The band is split twice. Only the warm pages can
// come near the price within a few hundred picks. Among the warm pages, only the hot pages can come
// near it within a few dozen picks. A pick visits only the hot pages.
//
// Why two splits: choosing the hot pages takes a visit to all lines from which they are chosen, and
// the smaller the set of hot pages is, the more often it must be chosen. With n awake pages, W
// picks in a period of warm pages and H picks in a period of hot pages, a pick costs about
// n/W + 1.5 W/H + 3 H line visits. For a few thousand pages, this sum is nearly constant around
// W = 400 and H = 40.
//
// There are a few thousand lines, too many to visit in one pick. The warm pages of the next period
// are therefore gathered in the last quarter of the current period: after each split of the warm
// pages, a few picks examine a part of the lines each.
//
// Invariants, at every instant from a split to the end of its period:
//  1. The line of every page is at least its value.
//  2. Until warm_end, the value of every page that is not warm is below the warm level. Its line
//  shows this, or showed it when the period began.
//  3. Until hot_end <= warm_end, the value of every warm page that is not hot is below the hot
//  level. Its line shows this, or showed it when the period began.
//  4. While the next period of warm pages is prepared, the lines examined so far are the first
//  ones. None of them expires before that period ends. Each of their pages is either among the
//  warm pages gathered for that period, or stays below that period's level until it ends.
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

// Allocates nothing once the vectors have grown to their final size. Owner thread only.
class AwakeBand {
 public:
  // `pages` must outlive the band. The band frees the slots of pages that leave it.
  explicit AwakeBand(AwakePages& pages) : pages_(pages), shared_(pages) {}

  // Adds the page of a slot. The page's jet (AwakePage::jet) holds from `now` on.
  void Enter(uint32_t slot, double now);
  // Adds the page like Enter, but lets it share the line of `leader` (SharedLines::Follow).
  void Follow(uint32_t slot, uint32_t leader);
  [[nodiscard]] const SharedLines& shared() const { return shared_; }
  void Remove(uint32_t slot);
  // Replaces the page's line with a tighter one that touches the exact value at `now`. `jet` is the
  // jet of that value.
  void Tighten(uint32_t slot, const ValueJet& jet, double now, Instant at);

  // The number of lines.
  [[nodiscard]] size_t size() const { return lines_.size; }
  // The slots of the hot pages.
  [[nodiscard]] std::span<const uint32_t> hot() const { return {hot_.slot.data(), hot_.size}; }
  [[nodiscard]] double warm_end() const { return warm_.end; }
  [[nodiscard]] double hot_end() const { return hot_.end; }
  // BelowHotLevel returns true if a warm page that is not hot might beat `value`: the values of
  // these pages are only known to be below the hot level. BelowWarmLevel does the same for pages
  // that are not warm, and the warm level.
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
    double next = 0;  // the largest bound of the other hot pages
  };
  // Computes the bounds of all hot pages at `now` <= hot_end. Returns the page with the largest
  // bound; among equal bounds, the page with the smallest AwakePage::turn.
  [[nodiscard]] Leader ReadBounds(double now);
  // The leader by the bounds that ReadBounds computed. Pages that were tightened since then count
  // with their exact values.
  [[nodiscard]] Leader Top();
  // Appends the slots of hot pages whose bound is above `value`.
  void ListAbove(double value, std::vector<uint32_t>* slots) const;
  // Replaces a page's bound until the next ReadBounds. The new bound is the page's value at the
  // same instant, or a number below all values.
  void SetBound(uint32_t slot, double bound);

  struct Period {
    double length = 0;   // seconds
    size_t target = 0;   // approximate number of pages
    double price = 0;    // expected value of picks; decides where to split
    bool known = false;  // the picks are certain to be worth at least `price`
  };
  // Returns the jet of the page in a slot, at the `now` of the call that gets this function.
  using Evaluate = absl::FunctionRef<ValueJet(uint32_t)>;
  // Begins a period with about `warm.target` warm pages, and within it a period with about
  // `hot.target` hot pages. Uses the warm pages that Prepare has gathered, if there are any. Renews
  // the lines that would expire within the period of warm pages, by calls of `evaluate`.
  void Split(double now, Instant at, const Period& warm, const Period& hot, Evaluate evaluate);
  // Returns true if this period of warm pages is near its end and the next one is not fully
  // prepared.
  [[nodiscard]] bool PrepareDue(double now, const Period& warm) const {
    return warm_.end - now <= warm.length / 4 && examined_ < lines_.size;
  }
  // Prepares a part of the next period of warm pages. The part is large enough that calls every
  // `stride` seconds finish before this period ends.
  void Prepare(double now, Instant at, const Period& warm, double stride, Evaluate evaluate);
  // Begins another period of hot pages. It ends at the latest with the period of warm pages.
  void SplitWarm(double now, Instant at, const Period& hot);
  // The value that about `rank` pages reach at warm_end, estimated from 256 lines. It has the error
  // of a sample quantile, so it may affect only the cost of picks, not their results. Precondition:
  // not empty.
  [[nodiscard]] double ValueAtRank(size_t rank);
  // The approximate number of pages that reach `level` at warm_end, estimated from a sample.
  [[nodiscard]] size_t CountAtLeast(double level) const;
  // Checks the next hundred or so lines, round-robin. Appends at most `max` slots of pages whose
  // line is below `level` at warm_end.
  void ListBelow(double level, size_t max, std::vector<uint32_t>* slots);
  // The height of a page's line at t. Precondition: t is between the line's beginning and warm_end.
  [[nodiscard]] double BoundAt(uint32_t slot, double t) const {
    return lines_.At(places_[shared_.LeaderOf(slot)].line, t - origin_);
  }
  // Returns true if invariants 2 to 4 hold. For debug builds: it visits all lines.
  [[nodiscard]] bool Holds() const;

 private:
  using Line = BandLine;
  using Lines = BandLines;
  using Tier = BandTier;
  // The places of a slot's lines. A place in a tier can be stale: it is valid only if the tier has
  // this slot there. A tier can therefore be emptied without visiting its pages, each of which
  // would be a cache miss.
  struct Places {
    uint32_t line = kNone;
    std::array<uint32_t, 3> tier = {kNone, kNone, kNone};
  };
  // Gives the line and the jet of `slot` to the slot `by`.
  void Replace(uint32_t slot, uint32_t by);
  // MakeLine makes a line that holds from `now` on for several periods, at least through the next
  // one. MakeHotLine makes a line that holds until hot_end.
  [[nodiscard]] Line MakeLine(uint32_t slot, const ValueJet& jet, double now) const;
  [[nodiscard]] Line MakeHotLine(uint32_t slot, double now, Instant at) const;
  // The line V(now + d) <= value + slope d for d <= span.
  [[nodiscard]] Line Write(uint32_t slot, double value, double slope, double now,
                           double span) const;
  // The place of a slot in a tier; kNone = not in the tier.
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
  // Writes to selected_ the places in [first, end) whose lines expire before `t`, counted from
  // `first`. Returns their number.
  size_t ListExpiring(size_t first, size_t end, double t);
  // Fills the empty `tier` with those lines of `from` that can reach its level before its end. The
  // level is set below the price, and the gap between them is adapted so that about period.target
  // lines match.
  void Fill(const Lines& from, const Period& period, Tier& tier);
  // Adds the lines that a pass over `from` has selected. Their places are counted from `first`.
  void JoinSelected(const Lines& from, size_t first, size_t count, Tier& tier);
  // Adapts the gap between the level and the price to the number of pages in the tier.
  void Adapt(const Period& period, Tier& tier);
  // Sets the level of the next warm period.
  void Aim(const Period& period);
  // Examines the next `count` lines for the next warm period.
  void Examine(size_t count, double now, Instant at, Evaluate evaluate);
  // Adds to the next warm period those lines, from the first unexamined one up to `end`, that reach
  // its level.
  void Gather(size_t end);
  void Renew(size_t first, size_t end, double until, double now, Instant at, Evaluate evaluate);
  // Moves the origin of the lines to `now` if the origin is several periods in the past.
  void MoveOrigin(double now, double length);
  [[nodiscard]] double SampleRank(const Lines& lines, double t, size_t rank);
  // A buffer for the places that a pass over `lines` selects.
  [[nodiscard]] uint32_t* Selected(const Lines& lines);

  const LineKernels& kernels_ = BestLineKernels();
  AwakePages& pages_;
  SharedLines shared_;
  std::vector<Places> places_;  // by slot
  Lines lines_;
  LineColumn expires_;  // by place in lines_
  Tier warm_{0};
  Tier next_{1};  // the warm pages of the next period, from the lines examined so far
  Tier hot_{2};
  uint32_t examined_ = 0;
  bool astray_ = true;              // no good gap between warm levels and the price is known
  LineColumn bounds_;               // by place in hot_, as last computed
  std::vector<uint32_t> selected_;  // places that the last pass selected
  std::vector<double> sample_;
  double origin_ = 0;
  size_t list_from_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_AWAKE_BAND_H_
