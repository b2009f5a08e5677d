#include "core/index/awake_band.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/check.h"

namespace freshet {
namespace {

// Values have relative errors below 1e-12. A line is rounded once a period and expires after at
// most kMaxPeriods periods, so its rounding error is below 4096 x 2^-52 < 1e-12. This slack covers
// both.
constexpr double kSlack = 1e-11;
constexpr double kMaxPeriods = 4096;
constexpr double kRounding = kMaxPeriods * 0x1p-52;
// A line lasts this many periods, so that few lines are renewed at a split. The cost: a line that
// lasts longer must be steeper, and bounds its page less tightly.
constexpr double kPeriodsALine = 10;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLowest = std::numeric_limits<double>::lowest();
// A level is computed again if the number of pages above it differs from the target by more than
// this factor.
constexpr double kTolerance = 2;
// The tolerance if the picks are certain to be worth at least the price (Period::known). In that
// case another selection of lines would cost more than it saves.
constexpr double kToleranceOnce = 8;
// The origin of the lines moves after this many periods.
constexpr double kPeriodsAnOrigin = 8;
constexpr size_t kSample = 256;
constexpr size_t kListed = 128;

}  // namespace

AwakeBand::Line AwakeBand::MakeLine(uint32_t slot, const ValueJet& jet, double now) const {
  // For d <= span, slope d + curvature d^2/2 <= (slope + curvature span/2) d. A page that will not
  // soon be warm gets a long span, although this raises its line by curvature span d/2.
  const double left = std::max(next_.end - now, 0.0);
  double span = kPeriodsALine * left;
  if (jet.value < warm_.level && jet.slope > 0) {
    span += std::min(2 * (warm_.level - jet.value) / jet.slope, kMaxPeriods * left);
  }
  return Write(slot, jet.value, jet.slope + jet.curvature * span / 2, now, span);
}

// Returns the chord of the jet over the hot period. The jet is convex, so it lies below its chord.
AwakeBand::Line AwakeBand::MakeHotLine(uint32_t slot, double now, Instant at) const {
  const AwakePage& page = pages_[slot];
  const double span = hot_.end - now;
  const double since = (at - page.since).seconds();
  const ValueJet& jet = page.jet;
  const double value = jet.value + since * (jet.slope + jet.curvature * since / 2);
  return Write(slot, value, jet.slope + jet.curvature * (since + span / 2), now, span);
}

AwakeBand::Line AwakeBand::Write(uint32_t slot, double value, double slope, double now,
                                 double span) const {
  slope *= 1 + kSlack;
  // The base of a line is its value at the origin.
  const double since = now - origin_;
  // Covers the rounding errors of the base and of the clock, at `now` and later.
  const double rounding = slope * (kRounding * (since + span) + 0x1p-51 * (now + span));
  const Line line{value * (1 + kSlack) - slope * since + rounding, slope, now + span, slot};
  DCHECK(!std::isnan(line.base) && std::isfinite(line.slope));
  return line;
}

void AwakeBand::Enter(uint32_t slot, double now) {
  if (places_.size() < pages_.size()) places_.resize(pages_.size());
  shared_.Add(slot);
  const ValueJet& jet = pages_[slot].jet;
  const Line line = MakeLine(slot, jet, now);
  const uint32_t place = lines_.Join(line);
  places_[slot].line = place;
  if (expires_.size() < lines_.base.size()) expires_.resize(lines_.base.size());
  expires_[place] = line.expires;
  if (!Reaches(line, warm_)) return;
  (void)Join(warm_, line);
  if (!Reaches(line, hot_)) return;
  const uint32_t hot = Join(hot_, line);
  if (bounds_.size() < hot_.base.size()) bounds_.resize(hot_.base.size());
  bounds_[hot] = jet.value;
}

void AwakeBand::Follow(uint32_t slot, uint32_t leader) {
  if (places_.size() < pages_.size()) places_.resize(pages_.size());
  if (shared_.Follow(slot, leader)) Replace(leader, slot);
}

void AwakeBand::Replace(uint32_t slot, uint32_t by) {
  DCHECK(places_[slot].line != kNone && places_[by].line == kNone);
  pages_.MoveValue(slot, by);
  for (Tier* tier : {&warm_, &next_, &hot_}) {
    const uint32_t place = PlaceIn(*tier, slot);
    if (place != kNone) tier->slot[place] = by;
  }
  places_[by] = places_[slot];
  lines_.slot[places_[by].line] = by;
  places_[slot].line = kNone;
}

void AwakeBand::Leave(Tier& tier, uint32_t place) {
  tier.Erase(place);
  if (place < tier.size) places_[tier.slot[place]].tier[tier.id] = place;
}

void AwakeBand::MoveLine(uint32_t from, uint32_t to) {
  if (from == to) return;
  lines_.Set(to, lines_.Get(from));
  expires_[to] = expires_[from];
  places_[lines_.slot[to]].line = to;
}

void AwakeBand::EraseLine(uint32_t place) {
  if (place < examined_) {
    // The last examined line fills the gap, which moves the gap to the end of the examined lines.
    MoveLine(--examined_, place);
    place = examined_;
  }
  MoveLine(lines_.size - 1, place);
  lines_.Erase(lines_.size - 1);
}

void AwakeBand::Remove(uint32_t slot) {
  const std::optional<uint32_t> successor = shared_.Leave(slot);
  if (successor && *successor != kNone) Replace(slot, *successor);
  pages_.GiveBack(slot);
  if (!successor || *successor != kNone) return;
  if (next_.size > 0) {
    const uint32_t next = PlaceIn(next_, slot);
    if (next != kNone) Leave(next_, next);
  }
  EraseLine(places_[slot].line);
  places_[slot].line = kNone;
  const uint32_t warm = PlaceIn(warm_, slot);
  if (warm == kNone) return;
  Leave(warm_, warm);
  const uint32_t hot = PlaceIn(hot_, slot);
  if (hot == kNone) return;
  bounds_[hot] = bounds_[hot_.size - 1];
  bounds_[hot_.size - 1] = -kInfinity;
  Leave(hot_, hot);
}

void AwakeBand::Tighten(uint32_t slot, const ValueJet& jet, double now, Instant at) {
  AwakePage& page = pages_[slot];
  page.jet = jet;
  page.since = at;
  page.exact = true;
  const uint32_t place = places_[slot].line;
  const Line line = MakeLine(slot, jet, now);
  lines_.Set(place, line);
  expires_[place] = line.expires;
  const uint32_t next = PlaceIn(next_, slot);
  if (next != kNone) next_.Set(next, line);
  if (next == kNone && place < examined_ && Reaches(line, next_)) (void)Join(next_, line);
  // The new line can be steeper, because it can last longer. A page that is not warm, or not hot,
  // still need not join that tier: its line at the beginning of the period was low enough.
  const uint32_t warm = PlaceIn(warm_, slot);
  if (warm == kNone) return;
  warm_.Set(warm, line);
  const uint32_t hot = PlaceIn(hot_, slot);
  if (hot == kNone) return;
  hot_.Set(hot, MakeHotLine(slot, now, at));
  bounds_[hot] = jet.value;
}

void AwakeBand::SetBound(uint32_t slot, double bound) { bounds_[PlaceIn(hot_, slot)] = bound; }

void AwakeBand::ListAbove(double value, std::vector<uint32_t>* slots) const {
  for (size_t i = 0; i < hot_.size; ++i) {
    if (bounds_[i] > value) slots->push_back(hot_.slot[i]);
  }
}

AwakeBand::Leader AwakeBand::ReadBounds(double now) {
  if (hot_.size == 0) return {};
  return LeaderAt(kernels_.evaluate(hot_.base.data(), hot_.slope.data(), hot_.size, now - origin_,
                                    bounds_.data()));
}

AwakeBand::Leader AwakeBand::Top() {
  if (hot_.size == 0) return {};
  return LeaderAt(kernels_.find_highest(bounds_.data(), hot_.size));
}

AwakeBand::Leader AwakeBand::LeaderAt(const HighestValue& highest) const {
  size_t best = highest.place;
  // Turns matter only among exact values: a bound that is not exact must be tightened first.
  const bool tie =
      highest.next == highest.value && highest.value == pages_[hot_.slot[best]].jet.value;
  for (size_t i = 0; tie && i < hot_.size; ++i) {
    if (bounds_[i] != highest.value) continue;
    const AwakePage& a = pages_[hot_.slot[i]];
    const AwakePage& b = pages_[hot_.slot[best]];
    if (a.turn < b.turn || (a.turn == b.turn && a.page < b.page)) best = i;
  }
  return {hot_.slot[best], highest.value, highest.next};
}

uint32_t* AwakeBand::Selected(const Lines& lines) {
  if (selected_.size() < lines.base.size()) selected_.resize(lines.base.size());
  return selected_.data();
}

void AwakeBand::MoveOrigin(double now, double length) {
  const double passed = now - origin_;
  if (passed < kPeriodsAnOrigin * length) return;
  kernels_.advance(lines_.base.data(), lines_.slope.data(), lines_.size, passed);
  kernels_.advance(warm_.base.data(), warm_.slope.data(), warm_.size, passed);
  // The hot lines still refer to the old origin. The caller fills the tier again.
  hot_.Clear();
  origin_ = now;
}

size_t AwakeBand::ListExpiring(size_t first, size_t end, double t) {
  return kernels_.select_below(expires_.data() + first, end - first, t, Selected(lines_));
}

double AwakeBand::SampleRank(const Lines& lines, double t, size_t rank) {
  const size_t step = lines.size / kSample + 1;
  sample_.clear();
  for (size_t i = 0; i < lines.size; i += step) {
    sample_.push_back(lines.At(i, t));
  }
  const size_t place = std::min(rank / step, sample_.size() - 1);
  std::nth_element(sample_.begin(), sample_.begin() + static_cast<std::ptrdiff_t>(place),
                   sample_.end(), std::greater<>());
  return sample_[place];
}

void AwakeBand::Fill(const Lines& from, const Period& period, Tier& tier) {
  const double end = tier.end - origin_;
  uint32_t* const selected = Selected(from);
  const auto select = [&](double level) {
    tier.level = level;
    return kernels_.select_not_below(from.base.data(), from.slope.data(), from.size, end, level,
                                     selected);
  };
  size_t count = 0;
  if (period.target >= from.size) {
    count = select(kLowest);
  } else {
    // If picks are certain to be worth at least the price, a level above the price might only force
    // another split.
    const double gap = period.known ? std::max(tier.gap, 0.0) : tier.gap;
    count = select(period.price * (1 - gap));
    const auto ratio = static_cast<double>(period.target) / static_cast<double>(count + 1);
    if (period.known && ratio < kToleranceOnce && ratio * kToleranceOnce > 1) {
      // Accepts the selection, and keeps the gap for the next regular period.
    } else if (ratio * kTolerance < 1 || ratio > kTolerance) {
      count = select(SampleRank(from, end, period.target));
      tier.gap = period.price > 0 ? 1 - tier.level / period.price : 0;
    } else {
      tier.gap *= std::sqrt(ratio);
    }
  }
  JoinSelected(from, 0, count, tier);
}

void AwakeBand::JoinSelected(const Lines& from, size_t first, size_t count, Tier& tier) {
  tier.Reserve(tier.size + count);
  for (size_t i = 0; i < count; ++i) (void)Join(tier, from.Get(first + selected_[i]));
}

void AwakeBand::Adapt(const Period& period, Tier& tier) {
  const auto ratio = static_cast<double>(period.target) / static_cast<double>(tier.size + 1);
  astray_ = ratio * kTolerance < 1 || ratio > kTolerance;
  if (!astray_) tier.gap *= std::sqrt(ratio);
}

void AwakeBand::Aim(const Period& period) {
  if (period.target >= lines_.size) {
    next_.level = kLowest;
  } else if (astray_) {
    next_.level = SampleRank(lines_, next_.end - origin_, period.target);
    next_.gap = period.price > 0 ? 1 - next_.level / period.price : 0;
  } else {
    next_.level = period.price * (1 - next_.gap);
  }
}

void AwakeBand::Gather(size_t end) {
  const size_t first = examined_;
  const size_t count =
      kernels_.select_not_below(lines_.base.data() + first, lines_.slope.data() + first,
                                end - first, next_.end - origin_, next_.level, Selected(lines_));
  JoinSelected(lines_, first, count, next_);
  examined_ = static_cast<uint32_t>(end);
}

void AwakeBand::SplitWarm(double now, Instant at, const Period& hot) {
  hot_.Clear();
  hot_.end = std::min(now + hot.length, warm_.end);
  hot_.since = at;
  Fill(warm_, hot, hot_);
  if (bounds_.size() < hot_.base.size()) bounds_.resize(hot_.base.size());
  for (uint32_t i = 0; i < hot_.size; ++i) hot_.Set(i, MakeHotLine(hot_.slot[i], now, at));
}

void AwakeBand::Renew(size_t first, size_t end, double until, double now, Instant at,
                      Evaluate evaluate) {
  const size_t expiring = ListExpiring(first, end, until);
  for (size_t i = 0; i < expiring; ++i) {
    const uint32_t slot = lines_.slot[first + selected_[i]];
    Tighten(slot, evaluate(slot), now, at);
  }
}

void AwakeBand::Examine(size_t count, double now, Instant at, Evaluate evaluate) {
  const size_t end = std::min<size_t>(lines_.size, examined_ + count);
  Renew(examined_, end, next_.end, now, at, evaluate);
  Gather(end);
}

void AwakeBand::Prepare(double now, Instant at, const Period& warm, double stride,
                        Evaluate evaluate) {
  const double left = warm_.end - now;
  if (examined_ == 0) Aim(warm);
  const double share = left > stride ? stride / left : 1;
  const auto rest = static_cast<double>(lines_.size - examined_);
  Examine(static_cast<size_t>(share * rest) + 1, now, at, evaluate);
}

void AwakeBand::Split(double now, Instant at, const Period& warm, const Period& hot,
                      Evaluate evaluate) {
  if (examined_ > 0 && !warm.known && next_.end - now > warm.length / 2) {
    Examine(lines_.size, now, at, evaluate);
    std::swap(warm_, next_);
    MoveOrigin(now, warm.length);
    Adapt(warm, warm_);
    next_.end = warm_.end + warm.length;
  } else {
    warm_.Clear();
    warm_.end = now + warm.length;
    next_.end = warm_.end + warm.length;
    MoveOrigin(now, warm.length);
    Renew(0, lines_.size, warm_.end, now, at, evaluate);
    Fill(lines_, warm, warm_);
  }
  next_.Clear();
  next_.gap = warm_.gap;
  warm_.since = at;
  next_.since = Instant::Infinite();  // so Holds also checks lines renewed in this period
  examined_ = 0;
  SplitWarm(now, at, hot);
}

double AwakeBand::ValueAtRank(size_t rank) {
  CHECK(size() > 0);
  return SampleRank(lines_, warm_.end - origin_, rank);
}

size_t AwakeBand::CountAtLeast(double level) const {
  const double t = warm_.end - origin_;
  const size_t step = size() / kSample + 1;
  size_t count = 0;
  for (size_t i = 0; i < size(); i += step) {
    count += lines_.At(i, t) >= level ? step : 0;
  }
  return count;
}

void AwakeBand::ListBelow(double level, size_t max, std::vector<uint32_t>* slots) {
  const double t = warm_.end - origin_;
  const size_t end = std::min(size(), list_from_ + kListed);
  for (; list_from_ < end && max > 0; ++list_from_) {
    if (lines_.At(list_from_, t) >= level) continue;
    slots->push_back(lines_.slot[list_from_]);
    --max;
  }
  if (list_from_ >= size()) list_from_ = 0;
}

}  // namespace freshet
