// The wake threshold of a price index: a value a little below the price. Pages with lower values
// can sleep.
#ifndef FRESHET_CORE_INDEX_WAKE_THRESHOLD_H_
#define FRESHET_CORE_INDEX_WAKE_THRESHOLD_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/base/check.h"

namespace freshet {

// The exponent at which a page reaches the price of a level (WakeThreshold), rounded down to 26
// bits after the leading bit. This is precise enough: even among ten million pages, the crossings
// of competing pages differ by one part in 2^22.
//
// The code is made of the upper 38 bits of this number as a double, counted from those of 2^-59.
// Encoding is therefore a shift and a subtraction, and rounds down. Numbers below 2^-59 are reached
// so soon after a crawl that no page sleeps until then. From kEnd on, the timer wheels
// (core/index/wake_wheels.h) cannot tell when a page wakes. Value type, thread-compatible.
class Crossing {
 public:
  Crossing() = default;
  // A crossing of `level`, which is not 0. An exponent of at least kEnd becomes infinite, and one
  // below 2^-59 becomes 0.
  Crossing(double exponent, uint16_t level) : code_(Encode(exponent)), level_(level) {}
  // `filed`: the row of the page already stores the level.
  [[nodiscard]] static Crossing FromCode(uint32_t code, uint16_t level, bool filed) {
    Crossing crossing;
    crossing.code_ = code;
    crossing.level_ = level;
    crossing.filed_ = filed;
    return crossing;
  }

  // From here on, the value of a page under a plain policy (IsPlain) can grow so slowly that the
  // clock of its wheel (docs/index.md) cannot follow the value.
  static constexpr double kEnd = 16;
  // Infinite = never reached. Precondition: the level is not 0.
  [[nodiscard]] double exponent() const {
    if (code_ == 0) return 0;
    if (code_ == kNever) return std::numeric_limits<double>::infinity();
    return std::bit_cast<double>((code_ + kBase) << kDropped);
  }
  // The exponent in 32 bits.
  [[nodiscard]] uint32_t code() const { return code_; }
  // 0 = no crossing is known.
  [[nodiscard]] uint16_t level() const { return level_; }
  [[nodiscard]] bool filed() const { return filed_; }

 private:
  static constexpr int kDropped = 26;
  static constexpr uint64_t kBase = (std::bit_cast<uint64_t>(0x1p-59) >> kDropped) - 1;
  static constexpr uint32_t kNever = ~uint32_t{0};
  static_assert((std::bit_cast<uint64_t>(kEnd) >> kDropped) - kBase < kNever);
  [[nodiscard]] static uint32_t Encode(double exponent) {
    DCHECK(!std::signbit(exponent));
    if (!(exponent < kEnd)) return kNever;
    const uint64_t kept = std::bit_cast<uint64_t>(exponent) >> kDropped;
    return kept > kBase ? static_cast<uint32_t>(kept - kBase) : 0;
  }

  uint32_t code_ = 0;
  uint16_t level_ = 0;
  bool filed_ = false;
};

// The threshold, and its level: the highest point on a grid of ln V that is not above
// ln(threshold). Levels have 16-bit numbers, counted from a base, so that a page can store the
// level for which its crossing was computed. 0 = the level is too far from the base to have a
// number. Value type, thread-compatible.
class WakeThreshold {
 public:
  WakeThreshold() { Set(0); }

  // Moves the threshold to e^log_value, with log_value clamped to [-700, 700].
  void Set(double log_value) {
    log_ = std::clamp(log_value, kLowest, -kLowest);
    value_ = std::exp(log_);
    level_ = static_cast<int64_t>(std::floor(log_ / kStep));
    level_price_ = std::exp(static_cast<double>(level_) * kStep);
    const int64_t code = level_ - base_;
    code_ = code >= 1 && code <= 0xffff ? static_cast<uint16_t>(code) : uint16_t{0};
  }
  // Moves the threshold, and renumbers the levels so that the new level is in the middle of the
  // range. Precondition: no page stores a level number.
  void Rebase(double log_value) {
    base_ = static_cast<int64_t>(std::floor(log_value / kStep)) - 0x8000;
    Set(log_value);
  }

  [[nodiscard]] double log() const { return log_; }
  [[nodiscard]] double value() const { return value_; }
  // Returns true if the threshold is at its minimum. No page may sleep then.
  [[nodiscard]] bool lowest() const { return log_ <= kLowest; }
  // The number and the value of the level. Crossings are computed for the level, not for the
  // threshold itself. They remain valid while the threshold moves within one step of the grid. For
  // nearby levels, the bounds of docs/index-proofs.md apply.
  [[nodiscard]] uint16_t code() const { return code_; }
  [[nodiscard]] double level_price() const { return level_price_; }
  // The value of a level at most 64 steps from the current one.
  [[nodiscard]] double PriceOf(uint16_t code) const {
    if (code == code_) return level_price_;
    const double y = (int{code} - int{code_}) * kStep;
    // e^y, with a relative error below 3e-14.
    constexpr double kThird = 1.0 / 3;
    constexpr double kFifth = 1.0 / 5;
    return level_price_ * (1 + y * (1 + y / 2 * (1 + y * kThird * (1 + y / 4 * (1 + y * kFifth)))));
  }
  // The distance from the level with this number (0 = the current level) up to ln(threshold).
  [[nodiscard]] double Above(uint16_t code) const {
    const int64_t level = code == 0 ? level_ : base_ + int64_t{code};
    return log_ - static_cast<double>(level) * kStep;
  }

 private:
  static constexpr double kLowest = -700;
  static constexpr double kStep = 1.0 / 4096;

  double log_ = 0;
  double value_ = 1;
  int64_t level_ = 0;
  int64_t base_ = 0;
  double level_price_ = 1;
  uint16_t code_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_WAKE_THRESHOLD_H_
