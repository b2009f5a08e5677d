#include "core/index/wake_calendars.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace freshet {
namespace {

// Groups by slow_high/slow_low; pages above the last have no calendar.
constexpr std::array<double, 4> kRatios = {1 + 1e-3, 4, 16, 64};
// Classes of slow_low, from 2^-kOctaves to 2^kOctaves seconds.
constexpr int kOctaves = 100;
constexpr size_t kClasses = 4 * kOctaves;
constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;
constexpr size_t kFewPages = 4096;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Four at a time: one comparison after the other would wait for each.
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

void WakeCalendars::Renew(size_t pages) {
  if (pages <= 4 * made_for_) return;
  made_for_ = std::max(pages, kFewPages);
  number_of_.assign(kRatios.size() * kClasses, -1);
  std::erase_if(calendars_, [](const WakeCalendar& calendar) { return calendar.entries() == 0; });
  open_at_.resize(calendars_.size());
  due_at_.resize(calendars_.size());
  for (size_t i = 0; i < calendars_.size(); ++i) Note(i);
  FindNext();
}

size_t WakeCalendars::buckets() const {
  return std::clamp<size_t>(std::bit_ceil(made_for_ / 512 + 1), 128, size_t{1} << 18);
}

Sleeping WakeCalendars::File(PageId page, uint8_t tag, double slow_low, double slow_high, double at,
                             double now) {
  const int32_t number = NumberFor(slow_low, slow_high, now);
  if (number < 0) return Sleeping::kUnfit;
  WakeCalendar& calendar = calendars_[static_cast<size_t>(number)];
  if (!calendar.File(chunks_, page, tag, at, now)) return Sleeping::kDue;
  Note(static_cast<size_t>(number));
  next_open_ = std::min(next_open_, calendar.next_open());
  next_due_ = std::min(next_due_, calendar.next_due());
  return Sleeping::kFiled;
}

void WakeCalendars::Note(size_t number) {
  open_at_[number] = calendars_[number].next_open();
  due_at_[number] = calendars_[number].next_due();
}

void WakeCalendars::FindNext() {
  next_open_ = Least(open_at_);
  next_due_ = Least(due_at_);
}

int32_t WakeCalendars::NumberFor(double slow_low, double slow_high, double now) {
  size_t group = 0;
  while (group < kRatios.size() && slow_high > kRatios[group] * slow_low) ++group;
  // As std::frexp, which takes longer. What is not finite or not positive is out of range, too.
  const auto bits = std::bit_cast<uint64_t>(slow_low);
  const int exponent = static_cast<int>(bits >> 52) - 1022;
  const bool upper = (bits & kMantissa) >= (std::bit_cast<uint64_t>(M_SQRT1_2) & kMantissa);
  const int place = 2 * (exponent + kOctaves) + (upper ? 1 : 0);
  if (group == kRatios.size() || place < 0 || place >= static_cast<int>(kClasses)) return -1;
  int32_t& number = number_of_[group * kClasses + static_cast<size_t>(place)];
  if (number < 0 || calendars_[static_cast<size_t>(number)].worn()) {
    const double low = std::ldexp(upper ? M_SQRT1_2 : 0.5, exponent);
    number = Make(low, std::ldexp(upper ? 1.0 : M_SQRT1_2, exponent), kRatios[group], now);
  }
  return number;
}

int32_t WakeCalendars::Make(double slow_low, double slow_high, double ratio, double now) {
  const double high = slow_high * (1 + 1e-9);
  // From a crawl to the crossing a page needs x/speed <= 2 slow_low seconds, as V/s^2 never
  // rises (docs/index-proofs.md).
  calendars_.emplace_back(slow_low * (1 - 1e-9), high * ratio, 2 * high,
                          static_cast<uint32_t>(buckets()), now);
  open_at_.push_back(kInfinity);
  due_at_.push_back(kInfinity);
  return static_cast<int32_t>(calendars_.size() - 1);
}

std::optional<OpenedBucket> WakeCalendars::Open(double now, std::vector<WakeEntry>* due) {
  // Once: by what times are rounded a calendar may ask for it and find nothing to do.
  std::optional<OpenedBucket> opened;
  for (size_t i = 0; i < calendars_.size() && !opened; ++i) {
    if (now < open_at_[i]) continue;
    const double due_at = calendars_[i].Open(chunks_, now, due);
    Note(i);
    if (!std::isinf(due_at)) opened = {due_at, calendars_[i].slow_high()};
  }
  FindNext();
  return opened;
}

void WakeCalendars::MoveThreshold(double rise, double now) {
  for (size_t i = 0; i < calendars_.size(); ++i) {
    if (rise > 0) calendars_[i].ThresholdRose(rise, now);
    if (rise < 0) calendars_[i].ThresholdFell(-rise, now);
    Note(i);
  }
  FindNext();
}

}  // namespace freshet
