// A page in the form in which an import sends it, whatever its source.
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

// Everything that is sent of one page, in this order. Value type, thread-compatible.
struct ImportedPage {
  uint64_t row = 0;  // first line of the page in its input, from 1
  v1::PageSpec page;
  // Settings that `page` leaves out get the defaults instead of staying unchanged.
  bool whole = false;
  // Past crawls, oldest first, all with a fetch time and none with a lease.
  std::vector<v1::CrawlResult> results;
  // Signals since the last crawl.
  std::vector<v1::PendingSignals> signals;
  bool recheck = false;
  // Fields that are unreadable or impossible, each with its fault. They are left out, and the rest
  // of the page is kept.
  std::vector<std::string> left_out;
  // Some known crawls are not sent, since the API cannot take the signals between them.
  bool history_left_out = false;
  // The page may have been crawled at an unknown time: no last crawl is sent.
  bool undated = false;
};

// Options for turning a record into an ImportedPage. Value type, thread-compatible.
struct ImportOptions {
  std::string crawl_id;                  // crawl id of pages whose record names none
  bool history = true;                   // crawls before the last too
  bool keep_dates = false;               // not_before is the next fetch date, if in the future
  bool keep_intervals = false;           // max_interval is the fetch interval
  bool skip_completed = false;           // leave out pages that need no further fetch
  absl::Time now;                        // current time
  const absl::TimeZone* zone = nullptr;  // zone of times without a known zone; nullptr = none
};

// Most consecutive failures that the server counts for a page.
inline constexpr uint32_t kMaxFailures = 255;
// The maximum number of observations that the server keeps for a page.
inline constexpr int kMostObservations = 24;
// The maximum length of a URL that any server accepts.
inline constexpr size_t kMostUrlBytes = 8192;
// Seconds between consecutive failures of a page: their real times are unknown, but must differ.
inline constexpr int64_t kFailureSeconds = 1;

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TRANSFER_IMPORTED_PAGE_H_
