#include "core/base/day_hours.h"

#include <cstdlib>
#include <optional>

#include "core/base/check.h"
#include "fmt/format.h"

namespace freshet {
namespace {

constexpr int64_t kMinute = 60'000'000;  // microseconds
constexpr int64_t kDayMicros = DayHours::kDay * kMinute;
constexpr int kMaxOffset = 14 * 60;
// Error messages show only this many bytes of the text.
constexpr size_t kMaxText = 32;

std::optional<int> Digits(std::string_view text) {
  if (text.size() != 2) return std::nullopt;
  int number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

// Parses "HH:MM" and returns the number of minutes; nullopt for other text and for more than `most`
// minutes.
std::optional<int> ParseMinutes(std::string_view text, int most) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const std::optional<int> hours = Digits(text.substr(0, 2));
  const std::optional<int> minutes = Digits(text.substr(3, 2));
  if (!hours || !minutes || *minutes > 59) return std::nullopt;
  const int sum = *hours * 60 + *minutes;
  return sum <= most ? std::optional(sum) : std::nullopt;
}

// Parses the UTC offset that follows the hours, and returns the offset in minutes. An empty text
// and "Z" mean UTC.
std::optional<int> ParseOffset(std::string_view text) {
  if (text.empty() || text == "Z") return 0;
  if (text[0] != '+' && text[0] != '-') return std::nullopt;
  const std::optional<int> minutes = ParseMinutes(text.substr(1), kMaxOffset);
  if (!minutes) return std::nullopt;
  return text[0] == '-' ? -*minutes : *minutes;
}

std::string MinutesText(int minutes) {
  return fmt::format("{:02}:{:02}", minutes / 60, minutes % 60);
}

}  // namespace

Instant DayHours::NextOpen(Instant at) const {
  DCHECK(Validate(*this).ok());
  if (always() || at.infinite()) return at;
  // Microseconds since midnight on the window's clock. The remainder is negative for times before
  // 1970.
  int64_t time = (at.micros() % kDayMicros + offset * kMinute) % kDayMicros;
  if (time < 0) time += kDayMicros;
  const int64_t begin = from * kMinute;
  const int64_t end = until * kMinute;
  const bool within = begin < end ? time >= begin && time < end : time >= begin || time < end;
  if (within) return at;
  const int64_t wait = begin >= time ? begin - time : begin - time + kDayMicros;
  return at + Duration::Micros(wait);
}

Status Validate(const DayHours& hours) {
  if (hours.from >= DayHours::kDay || hours.until < 1 || hours.until > DayHours::kDay ||
      hours.from == hours.until) {
    return InvalidArgument(
        "hours: from minute {} to minute {} of the day is not a span within one day", hours.from,
        hours.until);
  }
  if (std::abs(hours.offset) <= kMaxOffset) return absl::OkStatus();
  return InvalidArgument("hours: the offset of {} minutes is over the limit of {}", hours.offset,
                         kMaxOffset);
}

StatusOr<DayHours> ParseDayHours(std::string_view text) {
  if (text == "always") return DayHours();
  const std::string_view shown = text.substr(0, kMaxText);
  if (text.size() >= 11 && text[5] == '-') {
    const std::optional<int> from = ParseMinutes(text.substr(0, 5), DayHours::kDay - 1);
    const std::optional<int> until = ParseMinutes(text.substr(6, 5), DayHours::kDay);
    const std::optional<int> offset = ParseOffset(text.substr(11));
    if (from && until && offset && from != until) {
      // An `until` of 00:00 means midnight at the end of the day.
      const int end = *until == 0 ? DayHours::kDay : *until;
      const DayHours hours = {.from = static_cast<uint16_t>(*from),
                              .until = static_cast<uint16_t>(end),
                              .offset = static_cast<int16_t>(*offset)};
      return hours.always() ? DayHours() : hours;
    }
    if (from && until && offset) {
      return InvalidArgument("'{}' is an empty span; 00:00-24:00 means all of the day", shown);
    }
  }
  return InvalidArgument(
      "'{}' is not a span of hours, such as 22:00-06:00 (UTC), 22:00-06:00+02:00 or always", shown);
}

std::string DayHoursText(const DayHours& hours) {
  std::string text = MinutesText(hours.from) + "-" + MinutesText(hours.until);
  if (hours.offset != 0 && !hours.always()) {
    text += (hours.offset < 0 ? "-" : "+") + MinutesText(std::abs(hours.offset));
  }
  return text;
}

}  // namespace freshet
