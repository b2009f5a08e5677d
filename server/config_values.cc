#include "server/config_values.h"

#include <charconv>
#include <cmath>
#include <map>
#include <system_error>

#include "core/base/limits.h"
#include "core/base/wrong_value.h"

namespace freshet {

StatusOr<Duration> ParseSpanValue(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) {
    return InvalidArgument("{}", WrongValue(text, kDurationWords));
  }
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  static const std::map<std::string_view, double> kUnits = {
      {"", 1}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  const auto it = kUnits.find(unit);
  if (it == kUnits.end()) return InvalidArgument("{}", WrongValue(text, kDurationWords));
  return Duration::FromSeconds(number * it->second);
}

StatusOr<double> ParseNumberValue(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return InvalidArgument("{}", WrongValue(text, "a number"));
  }
  return number;
}

StatusOr<int64_t> ParseIntegerValue(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return InvalidArgument("{}", WrongValue(text, "a whole number"));
  }
  return number;
}

StatusOr<CrawlCap> ParseCrawlCap(std::string_view text) {
  if (text == "0") return CrawlCap();
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return InvalidArgument("{}", WrongValue(text, kCrawlCapWords));
  }
  ASSIGN_OR_RETURN(const int64_t count, ParseIntegerValue(text.substr(0, slash)));
  ASSIGN_OR_RETURN(const Duration per, ParseSpanValue(text.substr(slash + 1)));
  if (count < 1 || count > int64_t{limits::kMaxCrawlsPerSpan}) {
    return InvalidArgument("{}", WrongValue(text, fmt::format("1 to {} crawls in a span of time",
                                                              limits::kMaxCrawlsPerSpan)));
  }
  if (per < Duration::Seconds(1) || per > Duration::Days(366)) {
    return InvalidArgument("{}", WrongValue(text, "crawls in a span of 1 second to 366 days"));
  }
  return CrawlCap{.count = static_cast<uint32_t>(count), .per = per};
}

}  // namespace freshet
