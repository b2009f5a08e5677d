#include "core/index/wake_wheels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace freshet {
namespace {

// The largest slow_high/slow_low of each group. A page above the last ratio gets no wheel.
constexpr std::array<double, 4> kRatios = {1 + 1e-3, 4, 16, 64};
// The classes cover slow_low from 2^-kOctaves to 2^kOctaves seconds.
constexpr int kOctaves = 100;
constexpr size_t kClasses = 4 * kOctaves;
constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;
constexpr size_t kFewPages = 4096;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Keeps four minima, because in one chain each comparison would wait for the previous one.
double Least(const std::vector<double>& times) {
  std::array<double, 4> least = {kInfinity, kInfinity, kInfinity, kInfinity};
  size_t i = 0;
  for (; i + 4 <= times.size(); i += 4) {
    for (size_t k = 0; k < 4; ++k) least[k] = std::min(least[k], times[i + k]);
  }
  for (; i < times.size(); ++i) least[0] = std::min(least[0], times[i]);
  return std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
}

}  // namespace

void WakeWheels::Renew(size_t pages) {
  if (pages <= 4 * made_for_) return;
  made_for_ = std::max(pages, kFewPages);
  number_of_.assign(kRatios.size() * kClasses, -1);
  std::erase_if(wheels_, [](const WakeWheel& wheel) { return wheel.entries() == 0; });
  open_at_.resize(wheels_.size());
  due_at_.resize(wheels_.size());
  for (size_t i = 0; i < wheels_.size(); ++i) Note(i);
  FindNext();
}

size_t WakeWheels::buckets() const {
  return std::clamp<size_t>(std::bit_ceil(made_for_ / 512 + 1), 128, size_t{1} << 18);
}

Sleeping WakeWheels::File(PageId page, uint8_t tag, double slow_low, double slow_high, double at,
                          double now) {
  const int32_t number = NumberFor(slow_low, slow_high, now);
  if (number < 0) return Sleeping::kUnfit;
  WakeWheel& wheel = wheels_[static_cast<size_t>(number)];
  if (!wheel.File(chunks_, page, tag, at, now)) return Sleeping::kDue;
  Note(static_cast<size_t>(number));
  next_open_ = std::min(next_open_, wheel.next_open());
  next_due_ = std::min(next_due_, wheel.next_due());
  return Sleeping::kFiled;
}

void WakeWheels::Note(size_t number) {
  open_at_[number] = wheels_[number].next_open();
  due_at_[number] = wheels_[number].next_due();
}

void WakeWheels::FindNext() {
  next_open_ = Least(open_at_);
  next_due_ = Least(due_at_);
}

int32_t WakeWheels::NumberFor(double slow_low, double slow_high, double now) {
  size_t group = 0;
  while (group < kRatios.size() && slow_high > kRatios[group] * slow_low) ++group;
  // Faster than std::frexp. Numbers that are not finite or not positive are out of range here, too.
  const auto bits = std::bit_cast<uint64_t>(slow_low);
  const int exponent = static_cast<int>(bits >> 52) - 1022;
  const bool upper = (bits & kMantissa) >= (std::bit_cast<uint64_t>(M_SQRT1_2) & kMantissa);
  const int place = 2 * (exponent + kOctaves) + (upper ? 1 : 0);
  if (group == kRatios.size() || place < 0 || place >= static_cast<int>(kClasses)) return -1;
  int32_t& number = number_of_[group * kClasses + static_cast<size_t>(place)];
  if (number < 0 || wheels_[static_cast<size_t>(number)].worn()) {
    const double low = std::ldexp(upper ? M_SQRT1_2 : 0.5, exponent);
    number = Make(low, std::ldexp(upper ? 1.0 : M_SQRT1_2, exponent), kRatios[group], now);
  }
  return number;
}

int32_t WakeWheels::Make(double slow_low, double slow_high, double ratio, double now) {
  const double high = slow_high * (1 + 1e-9);
  // From a crawl to its crossing, a page needs x/speed <= 2 slow_low seconds, because V/s^2 never
  // rises (docs/index-proofs.md).
  wheels_.emplace_back(slow_low * (1 - 1e-9), high * ratio, 2 * high,
                       static_cast<uint32_t>(buckets()), now);
  open_at_.push_back(kInfinity);
  due_at_.push_back(kInfinity);
  return static_cast<int32_t>(wheels_.size() - 1);
}

std::optional<OpenedBucket> WakeWheels::Open(double now, std::vector<WakeEntry>* due) {
  // Opens at most one wheel with entries. Because of rounding, a wheel can ask to be opened and
  // then have nothing due.
  std::optional<OpenedBucket> opened;
  for (size_t i = 0; i < wheels_.size() && !opened; ++i) {
    if (now < open_at_[i]) continue;
    const double due_at = wheels_[i].Open(chunks_, now, due);
    Note(i);
    if (!std::isinf(due_at)) opened = {due_at, wheels_[i].slow_high()};
  }
  FindNext();
  return opened;
}

double WakeWheels::FallToNext(double now) const {
  double least = kInfinity;
  for (size_t i = 0; i < wheels_.size(); ++i) {
    least = std::min(least, std::max(due_at_[i] - now, 0.0) / wheels_[i].slow_high());
  }
  return least;
}

void WakeWheels::MoveThreshold(double rise, double now) {
  for (size_t i = 0; i < wheels_.size(); ++i) {
    if (rise > 0) wheels_[i].ThresholdRose(rise, now);
    if (rise < 0) wheels_[i].ThresholdFell(-rise, now);
    Note(i);
  }
  FindNext();
}

}  // namespace freshet
