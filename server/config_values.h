// Readers of values in configurations: numbers, durations and the like.
//
// All functions are thread-safe. InvalidArgument repeats the text.
#ifndef FRESHET_SERVER_CONFIG_VALUES_H_
#define FRESHET_SERVER_CONFIG_VALUES_H_

#include <cstdint>
#include <string_view>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/crawl_cap.h"

namespace freshet {

// "1.5s", "250ms", "5m", "2h", "7d"; a bare number is seconds.
[[nodiscard]] StatusOr<Duration> ParseSpanValue(std::string_view text);
[[nodiscard]] StatusOr<double> ParseNumberValue(std::string_view text);
[[nodiscard]] StatusOr<int64_t> ParseIntegerValue(std::string_view text);
// "1000/1d": a thousand in any day; "0": no cap.
[[nodiscard]] StatusOr<CrawlCap> ParseCrawlCap(std::string_view text);

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_VALUES_H_
