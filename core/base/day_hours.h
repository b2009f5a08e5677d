// Hours of the day within which something may happen: a window that comes every day, by the clock
// of a fixed offset from UTC. There is no daylight saving: operators who want it set other hours
// twice a year.
#ifndef FRESHET_CORE_BASE_DAY_HOURS_H_
#define FRESHET_CORE_BASE_DAY_HOURS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/base/units.h"

namespace freshet {

// Value type, thread-compatible.
struct DayHours {
  static constexpr int kDay = 24 * 60;

  uint16_t from = 0;      // minute of the day, below kDay
  uint16_t until = kDay;  // the first minute outside, 1 to kDay; less than `from`: on the next day
  int16_t offset = 0;     // minutes that the clock is ahead of UTC
  bool operator==(const DayHours&) const = default;

  [[nodiscard]] bool always() const { return from == 0 && until == kDay; }
  // The first instant within the hours that is not before `at`.
  [[nodiscard]] Instant NextOpen(Instant at) const;
  [[nodiscard]] bool Has(Instant at) const { return NextOpen(at) == at; }
};

// InvalidArgument for minutes out of range or an offset of more than 14 hours.
[[nodiscard]] Status Validate(const DayHours& hours);

// "22:00-06:00", in UTC; "22:00-06:00+02:00" by a clock that is two hours ahead. "00:00-24:00" and
// "always" are the whole day. InvalidArgument for anything else, with the text.
[[nodiscard]] StatusOr<DayHours> ParseDayHours(std::string_view text);
// The text that ParseDayHours reads back.
[[nodiscard]] std::string DayHoursText(const DayHours& hours);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_DAY_HOURS_H_
