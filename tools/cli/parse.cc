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
#include "core/base/wrong_value.h"

namespace freshet::cli {
namespace {

constexpr double kMicrosPerSecond = 1e6;

// Makes the error "'TEXT' is not ALLOWED".
absl::Status Wrong(std::string_view text, std::string_view allowed) {
  return absl::InvalidArgumentError(WrongValue(text, allowed));
}

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::StatusOr<google::protobuf::Timestamp> FromAbsl(absl::Time time, std::string_view text) {
  const absl::Time first = absl::FromCivil(absl::CivilSecond(1, 1, 1), absl::UTCTimeZone());
  const absl::Time last = absl::FromCivil(absl::CivilSecond(10000, 1, 1), absl::UTCTimeZone());
  if (time < first || time >= last) return Wrong(text, "a time in the years 1 to 9999");
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
  return Wrong(text, "a time: Unix seconds, or ISO 8601 such as 2024-05-17T08:30Z");
}

// Returns the length of a unit in seconds; 0 = unknown unit.
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
    return Wrong(text, "a number");
  }
  if (!std::isfinite(value)) return Wrong(text, "a finite number");
  return value;
}

absl::StatusOr<double> ParseNonNegative(std::string_view text) {
  absl::StatusOr<double> value = ParseNumber(text);
  if (value.ok() && *value < 0) return Wrong(text, "a number of at least 0");
  return value;
}

absl::StatusOr<uint64_t> ParseCount(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return Wrong(text, "a whole number of at least 0");
  }
  return value;
}

absl::StatusOr<bool> ParseBool(std::string_view text) {
  const std::string lower = absl::AsciiStrToLower(View(text));
  if (lower == "true" || lower == "yes" || lower == "1") return true;
  if (lower == "false" || lower == "no" || lower == "0") return false;
  return Wrong(text, "true or false");
}

absl::StatusOr<google::protobuf::Timestamp> ParseTime(std::string_view text) {
  if (const absl::StatusOr<double> seconds = ParseNumber(text); seconds.ok()) {
    // Checked here because the conversion below is undefined for larger values.
    if (std::fabs(*seconds) > 1e12) return Wrong(text, "a time in the years 1 to 9999");
    return FromAbsl(absl::FromUnixMicros(std::llround(*seconds * kMicrosPerSecond)), text);
  }
  return ParseCalendar(text);
}

absl::StatusOr<google::protobuf::Duration> ParseDuration(std::string_view text) {
  const absl::Status bad = Wrong(text, kDurationWords);
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
  if (seconds > 315'576'000'000.0) return Wrong(text, "a duration of at most 10,000 years");
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
    return Wrong(text, kCrawlCapWords);
  }
  const absl::StatusOr<uint64_t> count = ParseCount(text.substr(0, slash));
  if (!count.ok()) return count.status();
  const absl::StatusOr<google::protobuf::Duration> per = ParseDuration(text.substr(slash + 1));
  if (!per.ok()) return per.status();
  if (*count < 1 || *count > UINT32_MAX) return Wrong(text, kCrawlCapWords);
  cap.set_count(static_cast<uint32_t>(*count));
  *cap.mutable_per() = *per;
  return cap;
}

absl::StatusOr<v1::CrawlOutcome> ParseOutcome(std::string_view text) {
  std::string name = absl::AsciiStrToUpper(View(text));
  if (name.rfind("CRAWL_OUTCOME_", 0) != 0) name.insert(0, "CRAWL_OUTCOME_");
  v1::CrawlOutcome outcome = v1::CRAWL_OUTCOME_UNSPECIFIED;
  if (!v1::CrawlOutcome_Parse(name, &outcome)) {
    return absl::InvalidArgumentError(
        WrongChoice(text, {"changed", "unchanged", "error", "gone", "moved", "robots_denied"}));
  }
  return outcome;
}

absl::StatusOr<std::string> ParseBytes(std::string_view text) {
  std::string bytes;
  if (!absl::Base64Unescape(View(text), &bytes)) return Wrong(text, "base64");
  return bytes;
}

std::string CheckServerAddress(const std::string& address) {
  constexpr std::string_view kPort = "7071";  // the server's default
  for (const std::string_view scheme : {"unix:", "unix-abstract:", "dns:", "ipv4:", "ipv6:"}) {
    if (address.starts_with(scheme)) return {};
  }
  if (address.find("://") != std::string::npos) {
    return WrongValue(address, "an address host:port, which has no scheme");
  }
  const bool bracketed = address.starts_with('[');
  const size_t colons = static_cast<size_t>(std::count(address.begin(), address.end(), ':'));
  if (!bracketed && colons > 1) {
    return WrongValue(
        address,
        fmt::format("an address host:port; a host with colons stands in brackets, such as [::1]:{}",
                    kPort));
  }
  const size_t colon = bracketed ? address.rfind("]:") + 1 : address.find(':');
  const std::string host = address.substr(0, bracketed ? address.find(']') + 1 : colon);
  if (host.empty()) return WrongValue(address, "an address host:port: the host is missing");
  const bool has_port = bracketed ? colon != 0 : colon != std::string::npos;
  if (!has_port || colon + 1 == address.size()) {
    return WrongValue(address, fmt::format("an address host:port, such as {}:{}", host, kPort));
  }
  const absl::StatusOr<uint64_t> port = ParseCount(std::string_view(address).substr(colon + 1));
  if (!port.ok() || *port == 0 || *port > 65535) {
    return WrongValue(address, "an address host:port with a port from 1 to 65535");
  }
  return {};
}

}  // namespace freshet::cli
