#include "tools/sitemap/feed_date.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "tools/cli/cells.h"

namespace freshet::sitemap {
namespace {

constexpr Duration kFirstZone = Duration::Hours(14);
constexpr Duration kLastZone = Duration::Hours(12);
constexpr size_t kMaxDateBytes = 100;

// The parts of a date read so far. Value type, thread-compatible.
struct Parts {
  int year = 0;
  unsigned month = 0;  // 0 = only a year
  unsigned day = 0;    // 0 = only a month
  bool has_time = false;
  Duration time;  // time of day
  std::optional<Duration> zone;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); }

// Reads a text from the front to the end. Thread-compatible.
class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] char front() const { return rest_.empty() ? '\0' : rest_.front(); }
  // Reads the next character if `any` contains it.
  bool Take(std::string_view any) {
    if (rest_.empty() || any.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view TakeWhile(bool (*fits)(char)) {
    size_t size = 0;
    while (size < rest_.size() && fits(rest_[size])) ++size;
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  // Reads a number of exactly this many digits.
  std::optional<int> TakeNumber(size_t digits) {
    if (rest_.size() < digits) return std::nullopt;
    int number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + digits, number);
    if (error != std::errc() || end != rest_.data() + digits || !IsDigit(rest_.front())) {
      return std::nullopt;
    }
    rest_.remove_prefix(digits);
    return number;
  }
  void SkipBlanks() {
    while (Take(" \t\r\n")) {
    }
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

struct Zone {
  std::string_view name;
  int minutes;
};
// Names of zones that have only one meaning.
constexpr std::array<Zone, 38> kZones = {
    {{"z", 0},       {"ut", 0},     {"utc", 0},    {"gmt", 0},    {"wet", 0},    {"west", 60},
     {"bst", 60},    {"cet", 60},   {"cest", 120}, {"met", 60},   {"mest", 120}, {"mez", 60},
     {"mesz", 120},  {"eet", 120},  {"eest", 180}, {"msk", 180},  {"msd", 240},  {"hkt", 480},
     {"sgt", 480},   {"awst", 480}, {"jst", 540},  {"kst", 540},  {"acst", 570}, {"aest", 600},
     {"aedt", 660},  {"nzst", 720}, {"nzdt", 780}, {"est", -300}, {"edt", -240}, {"cst", -360},
     {"cdt", -300},  {"mst", -420}, {"mdt", -360}, {"pst", -480}, {"pdt", -420}, {"akst", -540},
     {"akdt", -480}, {"hst", -600}}};

constexpr std::array<std::string_view, 12> kMonths = {
    "january", "february", "march",     "april",   "may",      "june",
    "july",    "august",   "september", "october", "november", "december"};
constexpr std::array<std::string_view, 7> kDays = {"monday", "tuesday",  "wednesday", "thursday",
                                                   "friday", "saturday", "sunday"};

// Returns the position, from 1, of the name that begins with the word, which must have three
// letters or more; 0 = none.
template <size_t kCount>
unsigned NumberOf(const std::array<std::string_view, kCount>& names, std::string_view word) {
  if (word.size() < 3) return 0;
  const auto found = std::find_if(names.begin(), names.end(), [&](std::string_view name) {
    return name.starts_with(word) || (name == "september" && word == "sept");
  });
  return found == names.end() ? 0 : static_cast<unsigned>(found - names.begin()) + 1;
}

// Reads +02:00, +0200, +02 or +2; nullopt = the text is different.
std::optional<Duration> TakeOffset(Cursor& text) {
  const bool west = text.front() == '-';
  if (!text.Take("+-")) return std::nullopt;
  const std::string_view digits = text.TakeWhile(IsDigit);
  Cursor number(digits);
  std::optional<int> hours = number.TakeNumber(digits.size() == 1 || digits.size() == 3 ? 1 : 2);
  std::optional<int> minutes = 0;
  if (digits.size() >= 3) minutes = number.TakeNumber(2);
  if (digits.size() <= 2 && text.Take(":")) minutes = text.TakeNumber(2);
  if (!hours || !minutes || !number.empty() || *hours > 14 || *minutes > 59) return std::nullopt;
  const Duration offset = Duration::Seconds(int64_t{*hours} * 3600 + int64_t{*minutes} * 60);
  return west ? Duration() - offset : offset;
}

// Reads a zone up to the end of the text: a number, a name, or both. Ignores unknown names. Returns
// false if the text is not a zone.
bool TakeZone(Cursor& text, Parts* parts) {
  text.SkipBlanks();
  const std::string name(text.TakeWhile(IsLetter));
  for (const Zone& zone : kZones) {
    if (zone.name == name) parts->zone = Duration::Seconds(int64_t{zone.minutes} * 60);
  }
  if (text.front() == '+' || text.front() == '-') {
    parts->zone = TakeOffset(text);
    if (!parts->zone) return false;
  }
  text.SkipBlanks();
  // Names such as (CEST), [Europe/Paris] and Europe/Paris are ignored.
  if (text.front() == '(' || text.front() == '[' || text.front() == '/') {
    if (text.front() == '/') parts->zone.reset();
    return true;
  }
  return text.empty();
}

// Reads 08:30, 08:30:01, 08:30:01.5 or, if `basic`, 083001.
bool TakeTime(Cursor& text, bool basic, Parts* parts) {
  const auto two = [&text, basic](bool one_will_do) {
    std::optional<int> number = text.TakeNumber(2);
    if (!number && one_will_do && !basic) number = text.TakeNumber(1);
    return number;
  };
  const std::optional<int> hour = two(true);
  if (!basic && !text.Take(":")) return false;
  const std::optional<int> minute = two(false);
  std::optional<int> second = 0;
  if (basic ? IsDigit(text.front()) : text.Take(":")) second = two(false);
  if (!hour || !minute || !second || *hour > 24 || *minute > 59 || *second > 60) return false;
  if (*hour == 24 && (*minute > 0 || *second > 0)) return false;
  parts->has_time = true;
  parts->time = Duration::Seconds(int64_t{*hour} * 3600 + int64_t{*minute} * 60 + *second);
  if (text.front() == '.' || text.front() == ',') {
    text.Take(".,");
    const std::string_view digits = text.TakeWhile(IsDigit);
    if (digits.empty()) return false;
    int64_t micros = 0;
    for (size_t i = 0; i < 6; ++i) micros = micros * 10 + (i < digits.size() ? digits[i] - '0' : 0);
    parts->time = parts->time + Duration::Micros(micros);
  }
  return true;
}

// Reads 2024-05-17T08:30:01Z and similar forms; nullopt = the text has another form.
std::optional<Parts> TakeIso(Cursor text) {
  Parts parts;
  const std::optional<int> year = text.TakeNumber(4);
  if (!year) return std::nullopt;
  parts.year = *year;
  if (text.empty()) return parts;
  const bool basic = IsDigit(text.front());
  if (!basic && !text.Take("-/")) return std::nullopt;
  const auto two = [&text, basic] {
    std::optional<int> number = text.TakeNumber(2);
    if (!number && !basic) number = text.TakeNumber(1);
    return static_cast<unsigned>(number.value_or(0));
  };
  parts.month = two();
  if (parts.month == 0) return std::nullopt;
  if (text.empty()) return basic ? std::nullopt : std::optional(parts);
  if (!basic && !text.Take("-/")) return std::nullopt;
  parts.day = two();
  if (parts.day == 0) return std::nullopt;
  text.SkipBlanks();
  if (!text.Take("t") && !IsDigit(text.front())) {
    // A day with a zone is still a date without a time.
    return TakeZone(text, &parts) ? std::optional(parts) : std::nullopt;
  }
  text.SkipBlanks();
  const bool colons = text.rest().substr(0, 3).find(':') != std::string_view::npos;
  if (!TakeTime(text, !colons, &parts) || !TakeZone(text, &parts)) return std::nullopt;
  return parts;
}

// Two digits mean 1970 to 2069; three digits follow RFC 2822.
int FullYear(int year, size_t digits) {
  if (digits == 2) return year < 70 ? year + 2000 : year + 1900;
  return digits == 3 ? year + 1900 : year;
}

// Reads a number of an RFC 822 date. The first number of one or two digits is the day, the other
// number is the year.
bool TakeDayOrYear(Cursor& text, Parts* parts) {
  const std::string_view digits = text.TakeWhile(IsDigit);
  int number = 0;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (parts->day == 0 && digits.size() <= 2) {
    parts->day = static_cast<unsigned>(number);
    return parts->day > 0;
  }
  if (parts->year != 0 || digits.size() < 2 || digits.size() > 4) return false;
  parts->year = FullYear(number, digits.size());
  return true;
}

bool NextIsTime(std::string_view rest) {
  const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  return digits > 0 && digits <= 2 && rest.substr(digits).starts_with(':');
}

// Reads a day of the week, a month, or the zone. The zone is the last part of a date, except for
// the year in some forms.
bool TakeWord(Cursor& text, Parts* parts, bool* last) {
  Cursor ahead = text;
  const std::string_view word = ahead.TakeWhile(IsLetter);
  const unsigned month = NumberOf(kMonths, word);
  const bool of_week = parts->day == 0 && NumberOf(kDays, word) > 0;
  const bool zone_before_year = parts->year == 0 && parts->has_time && !word.empty();
  if (month > 0 && parts->month == 0) {
    parts->month = month;
  } else if (zone_before_year) {
    const auto zone = std::find_if(kZones.begin(), kZones.end(),
                                   [word](const Zone& known) { return known.name == word; });
    if (zone != kZones.end()) parts->zone = Duration::Seconds(int64_t{zone->minutes} * 60);
  } else if (!of_week) {
    *last = true;
    return TakeZone(text, parts);
  }
  text = ahead;
  return true;
}

// Reads Fri, 17 May 2024 08:30:01 +0200; Fri May 17 08:30:01 2024; Friday, 17-May-24 08:30:01 GMT.
std::optional<Parts> TakeRfc822(Cursor text) {
  Parts parts;
  while (!text.empty()) {
    const bool whole = parts.day > 0 && parts.month > 0 && parts.has_time;
    if (text.Take(" \t\r\n,.") || (!whole && text.Take("-"))) continue;
    if (NextIsTime(text.rest())) {
      if (parts.has_time || !TakeTime(text, false, &parts)) return std::nullopt;
    } else if (IsDigit(text.front())) {
      if (!TakeDayOrYear(text, &parts)) return std::nullopt;
    } else {
      bool last = false;
      if (!TakeWord(text, &parts, &last)) return std::nullopt;
      if (last) break;
    }
  }
  if (parts.day == 0 || parts.month == 0 || parts.year == 0) return std::nullopt;
  return parts;
}

// Returns the first instant after the day, month or year.
std::chrono::sys_days EndOf(const Parts& parts, std::chrono::year_month_day first) {
  if (parts.day > 0) return std::chrono::sys_days(first) + std::chrono::days(1);
  return std::chrono::sys_days(parts.month > 0 ? first + std::chrono::months(1)
                                               : first + std::chrono::years(1));
}

Instant InstantOf(std::chrono::sys_days day) {
  return Instant::FromUnixSeconds(std::chrono::sys_seconds(day).time_since_epoch().count());
}

}  // namespace

absl::StatusOr<FeedDate> ParseFeedDate(std::string_view text) {
  const absl::Status none =
      absl::InvalidArgumentError(fmt::format("'{}' is not a date", text.substr(0, 60)));
  const std::string_view trimmed = cli::Trimmed(text);
  if (trimmed.size() > kMaxDateBytes) return none;
  const std::string lower = absl::AsciiStrToLower({trimmed.data(), trimmed.size()});
  std::optional<Parts> parts = TakeIso(Cursor(lower));
  if (!parts) parts = TakeRfc822(Cursor(lower));
  if (!parts) return none;
  const std::chrono::year_month_day first(std::chrono::year(parts->year),
                                          std::chrono::month(std::max(parts->month, 1U)),
                                          std::chrono::day(std::max(parts->day, 1U)));
  if (!first.ok() || parts->year < 1 || parts->year > 9999) return none;
  FeedDate date;
  date.told = InstantOf(first) + parts->time - parts->zone.value_or(Duration());
  date.earliest = date.told;
  date.latest = date.told;
  if (!parts->has_time) {
    // The last microsecond of the day, month or year.
    date.latest =
        InstantOf(EndOf(*parts, first)) - Duration::Micros(1) - parts->zone.value_or(Duration());
  }
  if (!parts->zone) {
    date.earliest = date.earliest - kFirstZone;
    date.latest = date.latest + kLastZone;
  }
  return date;
}

}  // namespace freshet::sitemap
