// Strong types for time, rates and identifiers, and the only conversions between them.
//
// Instants and durations are whole microseconds. Seconds would be too coarse: the value of a page
// grows with the time since its crawl, so equal pages crawled within the same second would have
// equal values, and the choice between them would be arbitrary. Rates are per second. The formulas
// of core/model take plain doubles in any consistent unit. The callers in this project always pass
// seconds.
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

// A point in time: microseconds since the Unix epoch, UTC. Instants passed to core never go
// backwards (server/system_clock guarantees it). Value type, thread-compatible.
class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant FromMicros(int64_t us) { return Instant(us); }
  static constexpr Instant FromUnixSeconds(int64_t s) { return Instant(s * 1'000'000); }
  // No time, called "none" in comments: the Unix epoch, which is earlier than every real instant.
  // None is the default value, also in the store.
  static constexpr Instant None() { return Instant(); }
  // Later than every real instant: stands for "never".
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

// An integer id of one kind of thing. It converts to no other kind.
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

// Dense index of a page in its shard's memory. Assigned again at every start, never stored.
using PageId = StrongId<struct PageIdTag, uint32_t>;
// Dense index of a host in its shard's memory. Never stored.
using HostId = StrongId<struct HostIdTag, uint32_t>;
// Dense number of a group of hosts, unique only within the object that assigned it; 0 = none. Never
// stored.
using GroupId = StrongId<struct GroupIdTag, uint32_t>;
// Fencing token of one assignment. Unique for the life of the database; never zero for an issued
// lease.
using LeaseId = StrongId<struct LeaseIdTag, uint64_t>;
// One of the 4096 hash slots for hosts. Pages move between shards in units of whole slots.
using Slot = StrongId<struct SlotTag, uint16_t>;

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_UNITS_H_
