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
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

AwakeBand::Line AwakeBand::MakeLine(uint32_t slot, const ValueJet& jet, double now) {
  // The line holds for d <= span: slope d + curvature d^2/2 <= (slope + curvature span/2) d. A page
  // that will not be hot for long gets a long line; the price is curvature span d/2.
  const double left = std::max(period_end_ - now, 0.0);
  double span = 4 * left;
  if (jet.value < hot_level_ && jet.slope > 0) {
    span += std::min(2 * (hot_level_ - jet.value) / jet.slope, kMaxPeriods * left);
  }
  const double slope = (jet.slope + jet.curvature * span / 2) * (1 + kSlack);
  // The line is written down from the origin; what rounding takes there is added.
  const double since = now - origin_;
  const double rounding = kRounding * slope * (since + span);
  return {jet.value * (1 + kSlack) - slope * since + rounding, slope, now + span, slot};
}

void AwakeBand::Place(const Line& line) {
  AwakePage& page = pages_[line.slot];
  // Written so that a bound that is not a number is hot.
  page.hot = !(At(line, period_end_) < hot_level_);
  std::vector<Line>& lines = page.hot ? hot_ : cold_;
  page.place = static_cast<uint32_t>(lines.size());
  lines.push_back(line);
}

uint32_t AwakeBand::Add(const AwakePage& page, const ValueJet& jet, double now, Instant at) {
  uint32_t slot;
  if (free_.empty()) {
    slot = static_cast<uint32_t>(pages_.size());
    pages_.push_back(page);
  } else {
    slot = free_.back();
    free_.pop_back();
    pages_[slot] = page;
  }
  pages_[slot].evaluated = at;
  pages_[slot].at_evaluation = jet.value;
  Place(MakeLine(slot, jet, now));
  if (pages_[slot].hot) bounds_.push_back(jet.value);
  return slot;
}

void AwakeBand::Detach(uint32_t slot) {
  const AwakePage& page = pages_[slot];
  std::vector<Line>& lines = page.hot ? hot_ : cold_;
  lines[page.place] = lines.back();
  pages_[lines[page.place].slot].place = page.place;
  lines.pop_back();
  if (!page.hot) return;
  bounds_.resize(hot_.size() + 1);
  bounds_[page.place] = bounds_.back();
  bounds_.pop_back();
}

void AwakeBand::Remove(uint32_t slot) {
  Detach(slot);
  free_.push_back(slot);
}

void AwakeBand::Tighten(uint32_t slot, const ValueJet& jet, double now, Instant at) {
  AwakePage& page = pages_[slot];
  page.evaluated = at;
  page.at_evaluation = jet.value;
  const Line line = MakeLine(slot, jet, now);
  if (page.hot) {
    hot_[page.place] = line;
    bounds_[page.place] = jet.value;
  } else {
    cold_[page.place] = line;
  }
}

void AwakeBand::ReadBounds(double now) {
  bounds_.resize(hot_.size());
  const double t = now - origin_;
  for (size_t i = 0; i < hot_.size(); ++i) bounds_[i] = hot_[i].base + hot_[i].slope * t;
}

uint32_t AwakeBand::Top() const {
  if (hot_.empty()) return kNone;
  // Two chains of maxima that do not wait for one another, then the first that equals them.
  const size_t n = hot_.size();
  double even = bounds_[0];
  double odd = even;
  size_t i = 1;
  for (; i + 1 < n; i += 2) {
    even = std::max(even, bounds_[i]);
    odd = std::max(odd, bounds_[i + 1]);
  }
  if (i < n) even = std::max(even, bounds_[i]);
  const double highest = std::max(even, odd);
  size_t best = n;
  for (i = 0; i < n; ++i) {
    if (bounds_[i] != highest) continue;
    if (best < n) {
      const AwakePage& a = pages_[hot_[i].slot];
      const AwakePage& b = pages_[hot_[best].slot];
      if (a.turn > b.turn || (a.turn == b.turn && a.page > b.page)) continue;
    }
    best = i;
  }
  CHECK(best < n, "a bound is not a number");
  return hot_[best].slot;
}

void AwakeBand::Gather(double now) {
  for (const Line& line : hot_) {
    pages_[line.slot].hot = false;
    pages_[line.slot].place = static_cast<uint32_t>(cold_.size());
    cold_.push_back(line);
  }
  hot_.clear();
  bounds_.clear();
  const double passed = now - origin_;
  for (Line& line : cold_) line.base += line.slope * passed;
  origin_ = now;
}

double AwakeBand::LevelOfRank(double t, size_t rank) {
  if (rank >= cold_.size()) return -kInfinity;
  // A sample is enough: only cost depends on how many pages are hot.
  constexpr size_t kSample = 256;
  const size_t step = std::max<size_t>(1, cold_.size() / kSample);
  sample_.clear();
  for (size_t i = 0; i < cold_.size(); i += step) sample_.push_back(At(cold_[i], t));
  const size_t place = std::min(rank / step, sample_.size() - 1);
  std::nth_element(sample_.begin(), sample_.begin() + static_cast<std::ptrdiff_t>(place),
                   sample_.end(), std::greater<>());
  return sample_[place];
}

void AwakeBand::SplitAt(double level) {
  hot_level_ = level;
  // Only the pages that change sides are touched.
  for (size_t i = 0; i < cold_.size();) {
    if (At(cold_[i], period_end_) < level) {
      ++i;
      continue;
    }
    AwakePage& page = pages_[cold_[i].slot];
    page.hot = true;
    page.place = static_cast<uint32_t>(hot_.size());
    hot_.push_back(cold_[i]);
    cold_[i] = cold_.back();
    pages_[cold_[i].slot].place = static_cast<uint32_t>(i);
    cold_.pop_back();
    if (i == cold_.size()) pages_[hot_.back().slot].place = static_cast<uint32_t>(hot_.size() - 1);
  }
  list_from_ = 0;
}

double AwakeBand::ValueAtRank(double now, size_t rank) {
  sample_.clear();
  for (const Line& line : hot_) sample_.push_back(At(line, now));
  for (const Line& line : cold_) sample_.push_back(At(line, now));
  CHECK(!sample_.empty());
  const size_t place = std::min(rank, sample_.size() - 1);
  std::nth_element(sample_.begin(), sample_.begin() + static_cast<std::ptrdiff_t>(place),
                   sample_.end(), std::greater<>());
  return sample_[place];
}

void AwakeBand::ListBelow(double level, size_t max, std::vector<uint32_t>* slots) {
  for (; list_from_ < cold_.size() && max > 0; ++list_from_) {
    const Line& line = cold_[list_from_];
    if (!(At(line, period_end_) < level)) continue;
    slots->push_back(line.slot);
    --max;
  }
}

}  // namespace freshet
