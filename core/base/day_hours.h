// A daily window in which something is allowed, such as 22:00-06:00, on a clock with a fixed offset
// from UTC. Daylight saving is not modelled: operators who want it change the hours twice a year.
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
  uint16_t until = kDay;  // exclusive end, 1 to kDay; less than `from` = on the next day
  int16_t offset = 0;     // minutes by which the clock is ahead of UTC
  bool operator==(const DayHours&) const = default;

  [[nodiscard]] bool always() const { return from == 0 && until == kDay; }
  // The first instant within the hours that is not before `at`. Returns an infinite `at` unchanged.
  [[nodiscard]] Instant NextOpen(Instant at) const;
  [[nodiscard]] bool Has(Instant at) const { return NextOpen(at) == at; }
};

// Not OK: InvalidArgument if minutes are out of range or the offset exceeds 14 hours.
[[nodiscard]] Status Validate(const DayHours& hours);

// Parses a window. "22:00-06:00" is in UTC. "22:00-06:00+02:00" is on a clock that is two hours
// ahead of UTC. "00:00-24:00" and "always" mean the whole day. Not OK: InvalidArgument for any
// other text. The message quotes the text.
[[nodiscard]] StatusOr<DayHours> ParseDayHours(std::string_view text);
// Formats the hours so that ParseDayHours returns the same hours.
[[nodiscard]] std::string DayHoursText(const DayHours& hours);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_DAY_HOURS_H_
