// Time, rates and identifiers as types of their own, and the only conversions between them.
//
// Instants and durations are whole microseconds. Seconds would not do: a value grows with the time
// since the crawl, so equal pages crawled within one second would have equal values, and chance
// would pick. Rates are per second. The formulas of core/model take plain doubles in any one unit;
// the callers of this project always pass seconds.
#ifndef FRESHET_CORE_BASE_UNITS_H_
#define FRESHET_CORE_BASE_UNITS_H_

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace freshet {

// A signed span of time. Value type, thread-compatible.
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration Micros(int64_t n) { return Duration(n); }
  static constexpr Duration Millis(int64_t n) { return Duration(n * 1000); }
  static constexpr Duration Seconds(int64_t n) { return Duration(n * 1'000'000); }
  static constexpr Duration Hours(int64_t n) { return Seconds(n * 3600); }
  static constexpr Duration Days(int64_t n) { return Seconds(n * 86400); }
  // Rounds toward zero; saturates at +-292,000 years. NaN becomes zero.
  static constexpr Duration FromSeconds(double seconds) {
    const double us = seconds * 1e6;
    if (!(us < 9.2e18)) return us != us ? Duration() : Infinite();
    if (us < -9.2e18) return Duration(std::numeric_limits<int64_t>::min());
    return Duration(static_cast<int64_t>(us));
  }
  static constexpr Duration Infinite() { return Duration(std::numeric_limits<int64_t>::max()); }

  [[nodiscard]] constexpr int64_t micros() const { return us_; }
  [[nodiscard]] constexpr std::chrono::microseconds chrono() const {
    return std::chrono::microseconds(us_);
  }
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(us_) * 1e-6; }
  [[nodiscard]] constexpr bool infinite() const { return *this == Infinite(); }

  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration o) const { return Duration(us_ + o.us_); }
  constexpr Duration operator-(Duration o) const { return Duration(us_ - o.us_); }
  constexpr Duration operator*(int64_t k) const { return Duration(us_ * k); }

 private:
  constexpr explicit Duration(int64_t us) : us_(us) {}
  int64_t us_ = 0;
};

// A point in time: microseconds since the Unix epoch, UTC. Instants given to core never step back
// (server/system_clock sees to it). Value type, thread-compatible.
class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant FromMicros(int64_t us) { return Instant(us); }
  static constexpr Instant FromUnixSeconds(int64_t s) { return Instant(s * 1'000'000); }
  // No time, "none" in comments: the Unix epoch, earlier than every real instant. None is the
  // default, also in the store.
  static constexpr Instant None() { return Instant(); }
  // Later than every real instant: "never".
  static constexpr Instant Infinite() { return Instant(std::numeric_limits<int64_t>::max()); }

  [[nodiscard]] constexpr int64_t micros() const { return us_; }
  [[nodiscard]] constexpr bool is_none() const { return *this == None(); }
  [[nodiscard]] constexpr bool infinite() const { return *this == Infinite(); }

  constexpr auto operator<=>(const Instant&) const = default;
  constexpr Instant operator+(Duration d) const {
    int64_t sum = 0;
    if (__builtin_add_overflow(us_, d.micros(), &sum)) return Infinite();
    return Instant(sum);
  }
  constexpr Instant operator-(Duration d) const { return Instant(us_ - d.micros()); }
  constexpr Duration operator-(Instant o) const { return Duration::Micros(us_ - o.us_); }

 private:
  constexpr explicit Instant(int64_t us) : us_(us) {}
  int64_t us_ = 0;
};

// Events per second. Value type, thread-compatible.
class Rate {
 public:
  constexpr Rate() = default;
  static constexpr Rate PerSecond(double r) { return Rate(r); }
  static constexpr Rate PerDay(double r) { return Rate(r / 86400.0); }
  [[nodiscard]] constexpr double per_second() const { return per_second_; }
  constexpr auto operator<=>(const Rate&) const = default;

 private:
  constexpr explicit Rate(double r) : per_second_(r) {}
  double per_second_ = 0;
};

// An integer that names one kind of thing and converts to no other.
template <typename Tag, typename Int>
class StrongId {
 public:
  using Value = Int;
  constexpr StrongId() = default;
  constexpr explicit StrongId(Int value) : value_(value) {}
  [[nodiscard]] constexpr Int value() const { return value_; }
  constexpr auto operator<=>(const StrongId&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, StrongId id) {
    return H::combine(std::move(h), id.value_);
  }

 private:
  Int value_ = 0;
};

// Dense position of a page in its shard's memory. Assigned at every start, and never stored.
using PageId = StrongId<struct PageIdTag, uint32_t>;
// Dense position of a host in its shard's memory. Never stored.
using HostId = StrongId<struct HostIdTag, uint32_t>;
// Dense number of a group of hosts in its owner's memory; 0 = none. Never stored.
using GroupId = StrongId<struct GroupIdTag, uint32_t>;
// Fencing token of one assignment; unique for the life of the database, never zero when issued.
using LeaseId = StrongId<struct LeaseIdTag, uint64_t>;
// One of the 4096 parts that hosts hash to; the unit in which pages move between shards.
using Slot = StrongId<struct SlotTag, uint16_t>;

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_UNITS_H_
