#include "tools/cli/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/time/time.h"

namespace freshet::cli {
namespace {

constexpr double kMicrosPerSecond = 1e6;

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return absl::InvalidArgumentError(fmt::format(format, std::forward<Args>(args)...));
}

// Values may be long: an error shows their start.
std::string Shown(std::string_view text) {
  constexpr size_t kMaxShown = 60;
  if (text.size() <= kMaxShown) return fmt::format("'{}'", text);
  return fmt::format("'{}...'", text.substr(0, kMaxShown));
}

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::StatusOr<google::protobuf::Timestamp> FromAbsl(absl::Time time, std::string_view text) {
  const absl::Time first = absl::FromCivil(absl::CivilSecond(1, 1, 1), absl::UTCTimeZone());
  const absl::Time last = absl::FromCivil(absl::CivilSecond(10000, 1, 1), absl::UTCTimeZone());
  if (time < first || time >= last) return Invalid("{} is not in the years 1 to 9999", Shown(text));
  google::protobuf::Timestamp result;
  const int64_t micros = absl::ToUnixMicros(time);
  int64_t seconds = micros / 1'000'000;
  if (micros % 1'000'000 < 0) --seconds;
  result.set_seconds(seconds);
  result.set_nanos(static_cast<int32_t>(micros - seconds * 1'000'000) * 1000);
  return result;
}

absl::StatusOr<google::protobuf::Timestamp> ParseCalendar(std::string_view text) {
  static constexpr std::array<const char*, 6> kForms = {"%Y-%m-%d%ET%H:%M:%E*S%Ez",
                                                        "%Y-%m-%d%ET%H:%M%Ez",
                                                        "%Y-%m-%d%ET%H:%M:%E*S",
                                                        "%Y-%m-%d %H:%M:%E*S",
                                                        "%Y-%m-%d",
                                                        "%Y-%m"};
  std::string error;
  absl::Time time;
  for (const char* form : kForms) {
    if (absl::ParseTime(form, View(text), &time, &error)) return FromAbsl(time, text);
  }
  return Invalid("{} is no time: give Unix seconds or ISO 8601", Shown(text));
}

// Seconds in one of a unit, 0 for an unknown one.
double UnitSeconds(std::string_view unit) {
  static constexpr std::array<std::pair<std::string_view, double>, 7> kUnits = {
      {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"", 1}}};
  for (const auto& [name, seconds] : kUnits) {
    if (name == unit) return seconds;
  }
  return 0;
}

}  // namespace

absl::StatusOr<double> ParseNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return Invalid("{} is no number", Shown(text));
  }
  if (!std::isfinite(value)) return Invalid("{} is not finite", Shown(text));
  return value;
}

absl::StatusOr<double> ParseNonNegative(std::string_view text) {
  absl::StatusOr<double> value = ParseNumber(text);
  if (value.ok() && *value < 0) return Invalid("{} is negative", Shown(text));
  return value;
}

absl::StatusOr<uint64_t> ParseCount(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return Invalid("{} is no whole number >= 0", Shown(text));
  }
  return value;
}

absl::StatusOr<bool> ParseBool(std::string_view text) {
  const std::string lower = absl::AsciiStrToLower(View(text));
  if (lower == "true" || lower == "yes" || lower == "1") return true;
  if (lower == "false" || lower == "no" || lower == "0") return false;
  return Invalid("{} is neither true nor false", Shown(text));
}

absl::StatusOr<google::protobuf::Timestamp> ParseTime(std::string_view text) {
  if (const absl::StatusOr<double> seconds = ParseNumber(text); seconds.ok()) {
    // Checked here because the conversion below is only defined for what fits.
    if (std::fabs(*seconds) > 1e12) return Invalid("{} is not in the years 1 to 9999", Shown(text));
    return FromAbsl(absl::FromUnixMicros(std::llround(*seconds * kMicrosPerSecond)), text);
  }
  return ParseCalendar(text);
}

absl::StatusOr<google::protobuf::Duration> ParseDuration(std::string_view text) {
  const absl::Status bad = Invalid(
      "{} is no duration: give seconds, or a number with us, ms, s, m, h or d", Shown(text));
  if (text.empty()) return bad;
  double seconds = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t digits = std::min(rest.find_first_not_of("0123456789."), rest.size());
    const absl::StatusOr<double> number = ParseNonNegative(rest.substr(0, digits));
    rest.remove_prefix(digits);
    const size_t letters = std::min(rest.find_first_of("0123456789."), rest.size());
    const double unit = UnitSeconds(rest.substr(0, letters));
    if (!number.ok() || unit == 0) return bad;
    seconds += *number * unit;
    rest.remove_prefix(letters);
  }
  if (seconds > 315'576'000'000.0) return Invalid("{} is more than 10,000 years", Shown(text));
  const int64_t micros = std::llround(seconds * kMicrosPerSecond);
  google::protobuf::Duration result;
  result.set_seconds(micros / 1'000'000);
  result.set_nanos(static_cast<int32_t>(micros % 1'000'000) * 1000);
  return result;
}

absl::StatusOr<v1::CrawlCap> ParseCrawlCap(std::string_view text) {
  v1::CrawlCap cap;
  if (text == "0") return cap;
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return Invalid("{} is no number of crawls in a span, such as 1000/1d, nor 0", Shown(text));
  }
  const absl::StatusOr<uint64_t> count = ParseCount(text.substr(0, slash));
  if (!count.ok()) return count.status();
  const absl::StatusOr<google::protobuf::Duration> per = ParseDuration(text.substr(slash + 1));
  if (!per.ok()) return per.status();
  if (*count < 1 || *count > UINT32_MAX) return Invalid("{} has no such number", Shown(text));
  cap.set_count(static_cast<uint32_t>(*count));
  *cap.mutable_per() = *per;
  return cap;
}

absl::StatusOr<v1::CrawlOutcome> ParseOutcome(std::string_view text) {
  std::string name = absl::AsciiStrToUpper(View(text));
  if (name.rfind("CRAWL_OUTCOME_", 0) != 0) name.insert(0, "CRAWL_OUTCOME_");
  v1::CrawlOutcome outcome = v1::CRAWL_OUTCOME_UNSPECIFIED;
  if (!v1::CrawlOutcome_Parse(name, &outcome)) {
    return Invalid(
        "{} is no outcome: give changed, unchanged, error, gone, moved or "
        "robots_denied",
        Shown(text));
  }
  return outcome;
}

absl::StatusOr<std::string> ParseBytes(std::string_view text) {
  std::string bytes;
  if (!absl::Base64Unescape(View(text), &bytes)) return Invalid("{} is not base64", Shown(text));
  return bytes;
}

std::string CheckServerAddress(const std::string& address) {
  constexpr std::string_view kPort = "7071";  // unless configured otherwise
  for (const std::string_view scheme : {"unix:", "unix-abstract:", "dns:", "ipv4:", "ipv6:"}) {
    if (address.starts_with(scheme)) return {};
  }
  if (address.find("://") != std::string::npos) {
    return fmt::format("{} is no address: give host:port, without a scheme", Shown(address));
  }
  const bool bracketed = address.starts_with('[');
  const size_t colons = static_cast<size_t>(std::count(address.begin(), address.end(), ':'));
  if (!bracketed && colons > 1) {
    return fmt::format(
        "{} is no address: give [host]:port where the host holds colons, such as "
        "[::1]:{}",
        Shown(address), kPort);
  }
  const size_t colon = bracketed ? address.rfind("]:") + 1 : address.find(':');
  const std::string host = address.substr(0, bracketed ? address.find(']') + 1 : colon);
  if (host.empty()) return fmt::format("{} names no host: give host:port", Shown(address));
  const bool has_port = bracketed ? colon != 0 : colon != std::string::npos;
  if (!has_port || colon + 1 == address.size()) {
    return fmt::format("{} has no port: give host:port, such as {}:{}", Shown(address), host,
                       kPort);
  }
  const absl::StatusOr<uint64_t> port = ParseCount(std::string_view(address).substr(colon + 1));
  if (!port.ok() || *port == 0 || *port > 65535) {
    return fmt::format("{}: the port is not 1 to 65535", Shown(address));
  }
  return {};
}

}  // namespace freshet::cli
