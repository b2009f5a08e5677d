#include "server/logs/log_text.h"

#include <cstdint>
#include <cstdio>
#include <ctime>

#include "core/base/safe_text.h"
#include "fmt/chrono.h"
#include "fmt/format.h"

namespace freshet {

std::string LogText(std::string_view text, size_t most) {
  std::string line = SafeText(text.substr(0, most));
  if (text.size() > most) line += fmt::format("... ({} bytes)", text.size());
  return line;
}

std::string TimeText(Instant at) {
  const int64_t micros = at.micros();
  const int64_t seconds = micros >= 0 ? micros / 1'000'000 : (micros - 999'999) / 1'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(static_cast<std::time_t>(seconds)),
                     micros - seconds * 1'000'000);
}

std::optional<Instant> ParseTimeText(const std::string& text) {
  std::tm date{};
  int micros = 0;
  int end = -1;
  const int read =
      std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%6dZ%n", &date.tm_year, &date.tm_mon,
                  &date.tm_mday, &date.tm_hour, &date.tm_min, &date.tm_sec, &micros, &end);
  if (read != 7 || end != static_cast<int>(text.size()) || micros < 0) return std::nullopt;
  date.tm_year -= 1900;
  date.tm_mon -= 1;
  return Instant::FromUnixSeconds(timegm(&date)) + Duration::Micros(micros);
}

}  // namespace freshet
