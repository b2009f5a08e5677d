// The columns of pages and of crawl results.
#ifndef FRESHET_TOOLS_CLI_ITEM_FIELDS_H_
#define FRESHET_TOOLS_CLI_ITEM_FIELDS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fmt/format.h"
#include "freshet/v1/types.pb.h"
#include "tools/cli/rows.h"

namespace freshet::cli {

// Calls `set` with a parsed value, or returns the parser's error.
template <typename T, typename Set>
absl::Status Assign(const absl::StatusOr<T>& value, Set set) {
  if (!value.ok()) return value.status();
  set(*value);
  return absl::OkStatus();
}

// Adds the name of the option or column to the beginning of the error.
[[nodiscard]] inline absl::Status Named(std::string_view name, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(fmt::format(
      "{}: {}", name, std::string_view(status.message().data(), status.message().size())));
}

// The columns of rows for `freshet upsert` and `freshet report`.
[[nodiscard]] const RowFormat& PageFormat();
[[nodiscard]] const RowFormat& ResultFormat();

// Sets the field that has the name of the column; ignores columns of other names. InvalidArgument:
// the value is invalid; the message says why.
absl::Status SetPageField(std::string_view column, const std::string& value, v1::PageSpec* page);
absl::Status SetResultField(std::string_view column, const std::string& value,
                            v1::CrawlResult* result);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_ITEM_FIELDS_H_
