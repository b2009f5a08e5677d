// What the stores of other crawlers say of a page, in common, and what Freshet makes of it.
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

// Value type, thread-compatible. Empty and unset: not said.
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
  std::string signature;  // hexadecimal digits, else any text
  std::string etag;
  std::optional<absl::Time> last_modified;
  int http_status = 0;
  std::string moved_to;
  uint64_t failures = 0;              // in a row
  std::vector<std::string> left_out;  // as of ImportedPage
};

// Faults of a page that are listed.
inline constexpr size_t kMostNotes = 10;

// Notes that a field is left out, if it was not taken; of many the first kMostNotes, and that there
// are more.
void Note(const absl::Status& taken, std::vector<std::string>* left_out);

// The page for Freshet. The last fetch, if nothing says when it was, is the next one less the
// interval. Where it stays unknown the page keeps its next date as not_before, so that what was
// fetched elsewhere is not all due at once. A score above 0 is the importance.
[[nodiscard]] ImportedPage FromForeign(const ForeignPage& page, const ImportOptions& options);

// Takes one entry of the metadata that StormCrawler keeps, and sends to crawl frontiers; its
// releases write the key in different cases, which are all the same here. What means nothing here
// is left alone. InvalidArgument names the key whose value is not what it should be.
absl::Status TakeMetadata(std::string_view key, std::string_view value, ForeignPage* page);

// What a status code of HTTP says of a page.
[[nodiscard]] ForeignPage::Status StatusOfHttp(int code);

// ISO 8601, a date as in HTTP (RFC 7231), or seconds since the epoch. What a database prints
// without a zone is in `zone`, or UTC if that is null.
[[nodiscard]] absl::StatusOr<absl::Time> ParseAnyTime(std::string_view text,
                                                      const absl::TimeZone* zone = nullptr);

// A date as Java prints it: Sat Aug 10 09:53:31 UTC 2013. It has a zone by name: UTC, GMT and what
// is a difference to them are understood, any other is that of `zone`, and without one
// InvalidArgument.
[[nodiscard]] absl::StatusOr<absl::Time> ParseJavaDate(std::string_view text,
                                                       const absl::TimeZone* zone);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TRANSFER_FOREIGN_PAGE_H_
