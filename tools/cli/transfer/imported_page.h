// A page as an import brings it in, whatever it was read from.
#ifndef FRESHET_TOOLS_CLI_TRANSFER_IMPORTED_PAGE_H_
#define FRESHET_TOOLS_CLI_TRANSFER_IMPORTED_PAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "freshet/v1/pages.pb.h"
#include "freshet/v1/types.pb.h"

namespace freshet::cli {

// What is sent of one page, in this order. Value type, thread-compatible.
struct ImportedPage {
  uint64_t row = 0;  // line of its input that it begins on, from 1
  v1::PageSpec page;
  // Settings that `page` leaves out are the defaults, rather than left as they are.
  bool whole = false;
  // Crawls of the past, oldest first, all with a fetch time and none with a lease.
  std::vector<v1::CrawlResult> results;
  // Signals that no crawl has answered yet.
  std::vector<v1::PendingSignals> signals;
  bool recheck = false;
  // Fields that cannot be read or cannot be true: what is wrong of each, its name in front. They
  // are left out, and the rest of the page is taken.
  std::vector<std::string> left_out;
  // Crawls that are known of and not sent, since the API does not take the signals between them.
  bool history_left_out = false;
  // It may have been crawled, and nothing says when: no last crawl is sent.
  bool undated = false;
};

// How what is read becomes what is sent. Value type, thread-compatible.
struct ImportOptions {
  std::string crawl_id;         // of pages whose record names none
  bool history = true;          // crawls before the last as well
  bool keep_dates = false;      // not_before is the next fetch date, where that is still to come
  bool keep_intervals = false;  // max_interval is the fetch interval
  bool skip_completed = false;  // pages that are never to be fetched again are left out
  absl::Time now;               // of this machine
  const absl::TimeZone* zone = nullptr;  // of times without a zone, or one by a name alone; or null
};

// What a page can fail in a row, as far as the server counts.
inline constexpr uint32_t kMaxFailures = 255;
// Seconds between the failures of a page in a row: their times are not known, but tell them apart.
inline constexpr int64_t kFailureSeconds = 1;

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TRANSFER_IMPORTED_PAGE_H_
