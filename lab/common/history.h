// Real page-change histories as files: one row per page,
//
//   url <TAB> importance <TAB> first_seen <TAB> t1:k1,t2:k2,...
//
// plain or gzip, without a header line. Times are Unix seconds; `k` is `c` for a change of the
// content and `m` for a minor touch without one. The last field may be empty.
#ifndef FRESHET_LAB_COMMON_HISTORY_H_
#define FRESHET_LAB_COMMON_HISTORY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace freshet {

// A time at which the source of a page was touched. Value type, thread-compatible.
struct Touch {
  int64_t unix_seconds = 0;
  bool change = false;  // false = a minor touch, which a sitemap announces like a change
  bool operator==(const Touch&) const = default;
};

// The history of one page. Value type, thread-compatible.
struct HistoryPage {
  std::string url;
  double importance = 1;           // finite, >= 0
  int64_t first_seen_seconds = 0;  // Unix time at which the page appears
  std::vector<Touch> touches;      // by time; at equal times changes first
};

// Parses one row. Its touches can be in any order. InvalidArgument, naming the field and the
// reason: the row does not have four fields, a URL, a finite importance >= 0, and times from 0 to
// the year 9999.
[[nodiscard]] StatusOr<HistoryPage> ParseHistoryRow(std::string_view row);

// Reads a whole file, in the order of its rows. NotFound: it cannot be opened. DataLoss: the gzip
// data is damaged or cut off. InvalidArgument, naming the row (from 1) and the reason: a row is
// invalid or has more than 16 MiB, a URL is repeated, or the file has no rows. Skips empty lines.
[[nodiscard]] StatusOr<std::vector<HistoryPage>> ReadHistory(const std::string& path);

}  // namespace freshet

#endif  // FRESHET_LAB_COMMON_HISTORY_H_
