#include "core/index/awake_band.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace freshet {
namespace {

// Values have relative errors below 1e-12, and a line is rounded once a period; it expires after
// kMaxPeriods of them, so this covers both: 4096 x 2^-52 < 1e-12.
constexpr double kSlack = 1e-11;
constexpr double kMaxPeriods = 4096;
constexpr double kRounding = kMaxPeriods * 0x1p-52;
// Long enough that few lines are renewed at a split. What it costs is a slope that is too steep by
// the part of a page's cycle that so many periods are.
constexpr double kPeriodsALine = 16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLowest = std::numeric_limits<double>::lowest();
// A level is found anew where the pages above are more or fewer than this many times those wanted.
constexpr double kTolerance = 2;
// Under a value that is reached so many times fewer will do.
constexpr double kFew = 8;
// The origin of the lines moves up once in so many periods.
constexpr double kPeriodsAnOrigin = 8;
constexpr size_t kSample = 256;
constexpr size_t kListed = 512;

}  // namespace

void AwakeBand::Lines::Reserve(size_t lines) {
  if (lines + kLinePadding <= base.size()) return;
  const size_t room = 2 * lines + kLinePadding;
  base.resize(room, -kInfinity);
  slope.resize(room);
  slot.resize(room);
}

void AwakeBand::Lines::Set(size_t i, const Line& line) {
  base[i] = line.base;
  slope[i] = line.slope;
  slot[i] = line.slot;
}

uint32_t AwakeBand::Lines::Join(const Line& line) {
  Reserve(size_t{size} + 1);
  Set(size, line);
  return size++;
}

void AwakeBand::Lines::Erase(size_t i) {
  --size;
  base[i] = base[size];
  slope[i] = slope[size];
  slot[i] = slot[size];
  base[size] = -kInfinity;
}

void AwakeBand::Lines::Clear() {
  std::fill_n(base.begin(), size, -kInfinity);
  size = 0;
}

AwakeBand::Line AwakeBand::MakeLine(uint32_t slot, const ValueJet& jet, double now) const {
  // The line holds for d <= span: slope d + curvature d^2/2 <= (slope + curvature span/2) d. A page
  // that will not be warm for long gets a long line; the price is curvature span d/2.
  const double left = std::max(warm_.end - now, 0.0);
  double span = kPeriodsALine * left;
  if (jet.value < warm_.level && jet.slope > 0) {
    span += std::min(2 * (warm_.level - jet.value) / jet.slope, kMaxPeriods * left);
  }
  return Write(slot, jet.value, jet.slope + jet.curvature * span / 2, now, span);
}

// The chord of the jet, which bends upwards.
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
  // The line is written down from the origin; what rounding takes there is added.
  const double since = now - origin_;
  const double rounding = kRounding * slope * (since + span);
  const Line line{value * (1 + kSlack) - slope * since + rounding, slope, now + span, slot};
  DCHECK(!std::isnan(line.base) && std::isfinite(line.slope));
  return line;
}

uint32_t AwakeBand::Take() {
  if (free_.empty()) {
    pages_.emplace_back();
    places_.emplace_back();
    return static_cast<uint32_t>(pages_.size() - 1);
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void AwakeBand::Prepare(uint32_t slot, const ValueParameters& value) {
  pages_[slot].prepared = true;
  if (free_values_.empty()) {
    places_[slot].value = static_cast<uint32_t>(values_.size());
    values_.push_back(value);
  } else {
    places_[slot].value = free_values_.back();
    free_values_.pop_back();
    values_[places_[slot].value] = value;
  }
}

void AwakeBand::Enter(uint32_t slot, double now) {
  const ValueJet& jet = pages_[slot].jet;
  const Line line = MakeLine(slot, jet, now);
  Places& places = places_[slot];
  places.line = lines_.Join(line);
  places.warm = kNone;
  places.hot = kNone;
  if (expires_.size() < lines_.base.size()) expires_.resize(lines_.base.size());
  expires_[places.line] = line.expires;
  const auto reaches = [this, &line](const Tier& tier) {
    return line.base + line.slope * (tier.end - origin_) >= tier.level;
  };
  if (!reaches(warm_)) return;
  places.warm = warm_.Join(line);
  if (!reaches(hot_)) return;
  places.hot = hot_.Join(line);
  if (bounds_.size() < hot_.base.size()) bounds_.resize(hot_.base.size());
  bounds_[places.hot] = jet.value;
}

void AwakeBand::Erase(Lines& lines, uint32_t Places::*place, uint32_t index) {
  lines.Erase(index);
  if (index < lines.size) places_[lines.slot[index]].*place = index;
}

void AwakeBand::Remove(uint32_t slot) {
  const Places places = places_[slot];
  expires_[places.line] = expires_[lines_.size - 1];
  Erase(lines_, &Places::line, places.line);
  free_.push_back(slot);
  if (pages_[slot].prepared) free_values_.push_back(places.value);
  if (places.warm == kNone) return;
  Erase(warm_, &Places::warm, places.warm);
  if (places.hot == kNone) return;
  bounds_[places.hot] = bounds_[hot_.size - 1];
  bounds_[hot_.size - 1] = -kInfinity;
  Erase(hot_, &Places::hot, places.hot);
}

void AwakeBand::Tighten(uint32_t slot, const ValueJet& jet, double now, Instant at) {
  AwakePage& page = pages_[slot];
  page.jet = jet;
  page.since = at;
  page.exact = true;
  const Places places = places_[slot];
  const Line line = MakeLine(slot, jet, now);
  lines_.Set(places.line, line);
  expires_[places.line] = line.expires;
  if (places.warm == kNone) return;
  warm_.Set(places.warm, line);
  if (places.hot == kNone) return;
  hot_.Set(places.hot, MakeHotLine(slot, now, at));
  bounds_[places.hot] = jet.value;
}

void AwakeBand::TakeValue(uint32_t slot) { bounds_[places_[slot].hot] = pages_[slot].jet.value; }

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
  for (size_t i = 0; highest.next == highest.value && i < hot_.size; ++i) {
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

void AwakeBand::Empty(Tier& tier, uint32_t Places::*place) {
  for (uint32_t i = 0; i < tier.size; ++i) places_[tier.slot[i]].*place = kNone;
  tier.Clear();
}

void AwakeBand::Begin(double now, double length) {
  Empty(hot_, &Places::hot);
  Empty(warm_, &Places::warm);
  warm_.end = now + length;
  const double passed = now - origin_;
  if (passed < kPeriodsAnOrigin * length) return;
  kernels_.advance(lines_.base.data(), lines_.slope.data(), lines_.size, passed);
  origin_ = now;
}

size_t AwakeBand::ListExpiring() {
  return kernels_.select_below(expires_.data(), lines_.size, warm_.end, Selected(lines_));
}

double AwakeBand::SampleRank(const Lines& lines, double t, size_t rank) {
  const size_t step = lines.size / kSample + 1;
  sample_.clear();
  for (size_t i = 0; i < lines.size; i += step) {
    sample_.push_back(lines.base[i] + lines.slope[i] * t);
  }
  const size_t place = std::min(rank / step, sample_.size() - 1);
  std::nth_element(sample_.begin(), sample_.begin() + static_cast<std::ptrdiff_t>(place),
                   sample_.end(), std::greater<>());
  return sample_[place];
}

void AwakeBand::Fill(const Lines& from, const Period& period, Tier& tier, uint32_t Places::*place) {
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
    count = select(period.price * (1 - tier.gap));
    const auto ratio = static_cast<double>(period.target) / static_cast<double>(count + 1);
    if (period.known && ratio < kFew) {
      // Once, between two periods: the distance stays what it is for those.
    } else if (ratio * kTolerance < 1 || ratio > kTolerance) {
      count = select(SampleRank(from, end, period.target));
      tier.gap = period.price > 0 ? 1 - tier.level / period.price : 0;
    } else {
      tier.gap *= std::sqrt(ratio);
    }
  }
  tier.Reserve(count);
  tier.size = static_cast<uint32_t>(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t line = selected[i];
    tier.Set(i, {from.base[line], from.slope[line], 0, from.slot[line]});
    places_[from.slot[line]].*place = i;
  }
}

void AwakeBand::SplitWarm(double now, Instant at, const Period& hot) {
  Empty(hot_, &Places::hot);
  hot_.end = std::min(now + hot.length, warm_.end);
  Fill(warm_, hot, hot_, &Places::hot);
  if (bounds_.size() < hot_.base.size()) bounds_.resize(hot_.base.size());
  for (uint32_t i = 0; i < hot_.size; ++i) hot_.Set(i, MakeHotLine(hot_.slot[i], now, at));
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
    count += lines_.base[i] + lines_.slope[i] * t >= level ? step : 0;
  }
  return count;
}

void AwakeBand::ListBelow(double level, size_t max, std::vector<uint32_t>* slots) {
  const double t = warm_.end - origin_;
  const size_t end = std::min(size(), list_from_ + kListed);
  for (; list_from_ < end && max > 0; ++list_from_) {
    if (lines_.base[list_from_] + lines_.slope[list_from_] * t >= level) continue;
    slots->push_back(lines_.slot[list_from_]);
    --max;
  }
  if (list_from_ >= size()) list_from_ = 0;
}

}  // namespace freshet
