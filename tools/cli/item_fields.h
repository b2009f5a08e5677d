// The columns of pages and of crawl results, wherever rows of them are read.
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

// Calls `set` with a parsed value, or returns why there is none.
template <typename T, typename Set>
absl::Status Assign(const absl::StatusOr<T>& value, Set set) {
  if (!value.ok()) return value.status();
  set(*value);
  return absl::OkStatus();
}

// An option's or column's error, with the name in front.
[[nodiscard]] inline absl::Status Named(std::string_view name, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(fmt::format(
      "{}: {}", name, std::string_view(status.message().data(), status.message().size())));
}

// What `freshet upsert` and `freshet report` read.
[[nodiscard]] const RowFormat& PageFormat();
[[nodiscard]] const RowFormat& ResultFormat();

// Sets the field that a column is named after. InvalidArgument says what is wrong with the value;
// columns of other names are left alone.
absl::Status SetPageField(std::string_view column, const std::string& value, v1::PageSpec* page);
absl::Status SetResultField(std::string_view column, const std::string& value,
                            v1::CrawlResult* result);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_ITEM_FIELDS_H_
