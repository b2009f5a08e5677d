// A page in another crawler's store, and its conversion for Freshet.
#ifndef FRESHET_TOOLS_CLI_TRANSFER_FOREIGN_PAGE_H_
#define FRESHET_TOOLS_CLI_TRANSFER_FOREIGN_PAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/cli/transfer/imported_page.h"

namespace freshet::cli {

// Empty or unset = unknown. Value type, thread-compatible.
struct ForeignPage {
  enum class Status { kUnknown, kUnfetched, kFetched, kGone, kMoved, kFailed };

  std::string url;
  std::string crawl_id;
  Status status = Status::kUnknown;
  bool completed = false;  // never to be fetched again
  std::optional<absl::Time> last_fetch;
  std::optional<absl::Time> next_fetch;
  std::optional<absl::Duration> interval;
  std::optional<double> score;
  std::string signature;  // hexadecimal digits, or any other text
  std::string etag;
  std::optional<absl::Time> last_modified;
  int http_status = 0;
  std::string moved_to;
  uint64_t failures = 0;              // consecutive ones
  std::vector<std::string> left_out;  // same as in ImportedPage
};

// The maximum number of a page's faults that are listed.
inline constexpr size_t kMostNotes = 10;

// If `taken` is an error, notes that the field is left out. After the first kMostNotes notes, notes
// only that there are more.
void Note(const absl::Status& taken, std::vector<std::string>* left_out);

// Converts the page for Freshet. If the time of the last fetch is missing, it is computed as the
// next fetch minus the interval. If it is still unknown, the time of the next fetch becomes
// not_before, so that pages that were fetched elsewhere are not all due at once. A score above 0
// becomes the importance.
[[nodiscard]] ImportedPage FromForeign(const ForeignPage& page, const ImportOptions& options);

// Reads one entry of the metadata that StormCrawler stores and sends to crawl frontiers. The case
// of keys is ignored, because it differs between releases. Unknown keys are ignored, too.
// InvalidArgument: the value is invalid; the message names the key.
absl::Status TakeMetadata(std::string_view key, std::string_view value, ForeignPage* page);

// Returns the status of a page after an answer with this HTTP code.
[[nodiscard]] ForeignPage::Status StatusOfHttp(int code);

// Parses ISO 8601, an HTTP date (RFC 7231), or seconds since the epoch. Times without a zone, as
// databases write them, are in `zone`; nullptr = UTC.
[[nodiscard]] absl::StatusOr<absl::Time> ParseAnyTime(std::string_view text,
                                                      const absl::TimeZone* zone = nullptr);

// Parses a date as Java prints it: Sat Aug 10 09:53:31 UTC 2013. Understands the zones UTC, GMT and
// Z, and GMT with an offset (GMT+02:00). Any other name means `zone`; without `zone` it is
// InvalidArgument.
[[nodiscard]] absl::StatusOr<absl::Time> ParseJavaDate(std::string_view text,
                                                       const absl::TimeZone* zone);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TRANSFER_FOREIGN_PAGE_H_
