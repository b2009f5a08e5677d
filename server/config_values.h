// Parsers for values in configurations: numbers, durations and crawl caps.
//
// All functions are thread-safe. Not OK: InvalidArgument, which quotes the text.
#ifndef FRESHET_SERVER_CONFIG_VALUES_H_
#define FRESHET_SERVER_CONFIG_VALUES_H_

#include <cstdint>
#include <string_view>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/crawl_cap.h"

namespace freshet {

// Parses "1.5s", "250ms", "5m", "2h" or "7d". A number without a unit is in seconds.
[[nodiscard]] StatusOr<Duration> ParseSpanValue(std::string_view text);
[[nodiscard]] StatusOr<double> ParseNumberValue(std::string_view text);
[[nodiscard]] StatusOr<int64_t> ParseIntegerValue(std::string_view text);
// Parses a cap: "1000/1d" means at most a thousand crawls in any period of a day, and "0" means no
// cap.
[[nodiscard]] StatusOr<CrawlCap> ParseCrawlCap(std::string_view text);

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_VALUES_H_
