// The pages that compete now, each under a line that its value cannot cross.
//
// V(t) <= a + s t until the line expires (ValueJet). A page wakes under a line that follows from
// where it crosses the threshold, and is evaluated when it comes to the top. The band is split
// twice: the warm pages are those that may come near the price within some hundred picks, the hot
// ones those of them that may within some dozen. A pick looks at the hot pages only.
//
// Why two splits: all lines have to be passed over from time to time, and the fewer the hot pages,
// the shorter their period. With n awake pages, W picks to a period of warm pages and H to one of
// hot pages a pick costs about n/W + 1.5 W/H + 3 H line visits; for some thousand pages the
// sum is flat around W = 400 and H = 40.
//
// All lines are some thousand, too many to pass over in one pick: the warm pages of the next period
// are gathered in the last quarter of this one, a part of the lines in each of a few picks after
// each split of warm pages.
//
// Pages whose values are the same at every instant, as those of crawls that were told together,
// share a line: it is that of the smallest page, the others queue behind it and cost nothing.
//
// Invariants, at every instant from a split to the end of its period:
//  1. The line of every page is at least its value.
//  2. Until warm_end, every page that is not warm is below the warm level: its line says so, or
//  said so when the period began.
//  3. Until hot_end <= warm_end, every warm page that is not hot is below the hot level, likewise.
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
#include "core/index/awake_page.h"
#include "core/index/band_lines.h"
#include "core/index/line_kernels.h"
#include "core/model/crawl_value.h"

namespace freshet {

// Owner thread only. A slot names a page for as long as it is in the band. No call allocates once
// vectors have their size.
class AwakeBand {
 public:
  // A slot whose page is to be filled in and then entered; until then it counts for nothing. What
  // was there before is not cleared. The jet of the page holds from `now` on.
  [[nodiscard]] uint32_t Take();
  [[nodiscard]] AwakePage& page(uint32_t slot) { return pages_[slot]; }
  void Enter(uint32_t slot, double now);
  // In place of Enter: the page shares the line of `leader`, or of who leads in its place.
  // Precondition: both are of one value at every instant, and of one turn.
  void Follow(uint32_t slot, uint32_t leader);
  // A slot with a line that may be one to follow, by what an AwakePage tells; kNone: none is known.
  [[nodiscard]] uint32_t LeaderOf(uint32_t slot) const;
  void Remove(uint32_t slot);
  // `jet` is that of the exact value at `now`: the line touches it.
  void Tighten(uint32_t slot, const ValueJet& jet, double now, Instant at);

  [[nodiscard]] const AwakePage& operator[](uint32_t slot) const { return pages_[slot]; }
  // The value parameters of a page that is prepared. Lost when the page leaves.
  [[nodiscard]] const ValueParameters& value(uint32_t slot) const {
    return values_[value_of_[slot]];
  }
  void Prepare(uint32_t slot, const ValueParameters& value);
  // Lines, and the pages that share them.
  [[nodiscard]] size_t size() const { return lines_.size; }
  [[nodiscard]] size_t pages() const { return lines_.size + followers_; }
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
  // Appends the slots of those whose bound is above `value`.
  void ListAbove(double value, std::vector<uint32_t>* slots) const;
  // The page was evaluated at the instant of the bounds: its bound becomes its value.
  void TakeValue(uint32_t slot);

  struct Period {
    double length = 0;   // seconds
    size_t target = 0;   // pages, about
    double price = 0;    // a guess of what is picked: it tells where to split
    bool known = false;  // it is no guess but a value that is reached
  };
  // Begins a period in which `warm.target` pages are warm, and one in which `hot.target` of them
  // are hot: that of the warm ones as it was prepared, if there is one. Lines that would expire in
  // the longer one are renewed by `evaluate(slot)`, which returns the jet at `now`.
  using Evaluate = absl::FunctionRef<ValueJet(uint32_t)>;
  void Split(double now, Instant at, const Period& warm, const Period& hot, Evaluate evaluate);
  // Whether this period of warm pages is near its end, and the next one not wholly prepared.
  [[nodiscard]] bool PrepareDue(double now, const Period& warm) const {
    return warm_.end - now <= warm.length / 4 && examined_ < lines_.size;
  }
  // Prepares a part of the next period of warm pages: as much as is to be done until the next call,
  // in `stride` seconds, if all is to be done until the end of this one.
  void Prepare(double now, Instant at, const Period& warm, double stride, Evaluate evaluate);
  // Begins another period of hot pages; it ends with that of the warm ones.
  void SplitWarm(double now, Instant at, const Period& hot);
  // The value that about `rank` pages reach at warm_end, by a sample of 256 lines: its error is
  // that of such a quantile, and nothing but cost may depend on it. Precondition: not empty.
  [[nodiscard]] double ValueAtRank(size_t rank);
  // About how many pages reach `level` then, by a sample.
  [[nodiscard]] size_t CountAtLeast(double level) const;
  // Appends slots of pages whose line is below `level` then: of the next hundred in turn, at
  // most `max`.
  void ListBelow(double level, size_t max, std::vector<uint32_t>* slots);
  // The line of a page, at an instant from its beginning up to warm_end.
  [[nodiscard]] double BoundAt(uint32_t slot, double t) const {
    const uint32_t line = places_[slot].line;
    return lines_.At(line != kNone ? line : places_[LeaderOfQueue(slot)].line, t - origin_);
  }
  // Whether invariants 2 to 4 hold, for debug builds: takes a pass over all lines.
  [[nodiscard]] bool Holds() const;

 private:
  using Line = BandLine;
  using Lines = BandLines;
  using Tier = BandTier;
  // Where the lines of a slot are. In tiers it may be where one was: what the tier holds there
  // tells. So a tier is emptied without a visit to each of its pages, which at the end of a period
  // would be a line of the cache for each of many hundred.
  struct Places {
    uint32_t line = kNone;
    std::array<uint32_t, 3> tier = {kNone, kNone, kNone};
  };
  // Those that share a line. What has left stays in the heap until it comes up.
  struct Queue {
    struct Member {
      PageId page;
      uint32_t slot;
      bool operator<(const Member& other) const { return other.page < page; }
    };
    uint32_t leader = kNone;
    uint32_t followers = 0;
    std::vector<Member> heap;  // the smallest page on top
  };
  [[nodiscard]] uint32_t LeaderOfQueue(uint32_t slot) const {
    return queues_[queue_of_[slot]].leader;
  }
  [[nodiscard]] bool Follows(const Queue::Member& member, uint32_t queue) const {
    return queue_of_[member.slot] == queue && queues_[queue].leader != member.slot &&
           pages_[member.slot].page == member.page;
  }
  // The place in leaders_ for what is valued as the page.
  [[nodiscard]] static size_t LeaderPlace(const AwakePage& page);
  uint32_t MakeQueue(uint32_t leader);
  void Push(uint32_t queue, uint32_t slot);
  // Another slot takes over line and jet.
  void Replace(uint32_t slot, uint32_t by);
  // Takes the slot out of its queue. Whether another has its line now, or it never had one.
  bool LeaveQueue(uint32_t slot);
  // A line from `now` on that is to last for some periods, the next one at least, and one until
  // hot_end.
  [[nodiscard]] Line MakeLine(uint32_t slot, const ValueJet& jet, double now) const;
  [[nodiscard]] Line MakeHotLine(uint32_t slot, double now, Instant at) const;
  // V(now + d) <= value + slope d.
  [[nodiscard]] Line Write(uint32_t slot, double value, double slope, double now,
                           double span) const;
  // The place of a slot in a tier; kNone: it is not there.
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
  // What a pass over `from` has selected, in places counted from `first`.
  void JoinSelected(const Lines& from, size_t first, size_t count, Tier& tier);
  // Says how the distance turned out.
  void Adapt(const Period& period, Tier& tier);
  // Sets the level of the next period.
  void Aim(const Period& period);
  // Examines the next `count` lines for the next period.
  void Examine(size_t count, double now, Instant at, Evaluate evaluate);
  // Takes those of the lines that were not examined yet, up to `end`, that reach its level.
  void Gather(size_t end);
  void Renew(size_t first, size_t end, double until, double now, Instant at, Evaluate evaluate);
  // Lines are written down from an origin that is not far away.
  void MoveOrigin(double now, double length);
  [[nodiscard]] double SampleRank(const Lines& lines, double t, size_t rank);
  // Room for what a pass over `lines` selects.
  [[nodiscard]] uint32_t* Selected(const Lines& lines);

  const LineKernels& kernels_ = BestLineKernels();
  std::vector<AwakePage> pages_;  // by slot
  std::vector<Places> places_;    // by slot
  std::vector<ValueParameters> values_;
  std::vector<uint32_t> value_of_;  // by slot, of those that are prepared
  std::vector<uint32_t> free_values_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> queue_of_;  // by slot; kNone: it has its line alone
  std::vector<Queue> queues_;
  std::vector<uint32_t> free_queues_;
  size_t followers_ = 0;
  std::array<uint32_t, 1024> leaders_{};  // slots by what they are valued as, the latest
  Lines lines_;
  LineColumn expires_;  // by place in lines_
  Tier warm_{0};
  Tier next_{1};  // the warm pages of the next period, as far as lines were examined
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
