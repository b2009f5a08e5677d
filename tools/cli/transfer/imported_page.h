// A page in the form in which an import sends it. It does not depend on the source of the page.
#ifndef FRESHET_TOOLS_CLI_TRANSFER_IMPORTED_PAGE_H_
#define FRESHET_TOOLS_CLI_TRANSFER_IMPORTED_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "freshet/v1/pages.pb.h"
#include "freshet/v1/types.pb.h"

namespace freshet::cli {

// Everything that is sent for one page, in this order. Value type, thread-compatible.
struct ImportedPage {
  uint64_t row = 0;  // first line of the page in its input, from 1
  v1::PageSpec page;
  // If set, settings that are missing in `page` get their defaults. Otherwise they stay unchanged.
  bool whole = false;
  // Past crawls, oldest first. Every crawl has a fetch time, and no crawl has a lease.
  std::vector<v1::CrawlResult> results;
  // Signals since the last crawl.
  std::vector<v1::PendingSignals> signals;
  bool recheck = false;
  // Fields that are unreadable or impossible, with their faults. These fields are left out, and the
  // rest of the page is kept.
  std::vector<std::string> left_out;
  // Some known crawls are not sent, because the API cannot take the signals between them.
  bool history_left_out = false;
  // The page might have been crawled, but the time is unknown, so no last crawl is sent.
  bool undated = false;
};

// Options for turning a record into an ImportedPage. Value type, thread-compatible.
struct ImportOptions {
  std::string crawl_id;                  // crawl id of pages whose record names none
  bool history = true;                   // also sends the crawls before the last one
  bool keep_dates = false;               // not_before is the next fetch date, if in the future
  bool keep_intervals = false;           // max_interval is the fetch interval
  bool skip_completed = false;           // leave out pages that need no further fetch
  absl::Time now;                        // current time
  const absl::TimeZone* zone = nullptr;  // zone of times without a known zone; nullptr = none
};

// The maximum number of consecutive failures that the server counts for a page.
inline constexpr uint32_t kMaxFailures = 255;
// The maximum number of observations that the server keeps for a page.
inline constexpr int kMostObservations = 24;
// The maximum length of a URL that any server accepts.
inline constexpr size_t kMostUrlBytes = 8192;
// Seconds between consecutive failures of a page. Their real times are unknown, but the times that
// are sent must differ.
inline constexpr int64_t kFailureSeconds = 1;

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TRANSFER_IMPORTED_PAGE_H_
