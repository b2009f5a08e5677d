// Items that a person or program hands to a command: arguments, plain lines, TSV, CSV or JSON
// lines.
#ifndef FRESHET_TOOLS_CLI_ROWS_H_
#define FRESHET_TOOLS_CLI_ROWS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/cli/lines.h"

namespace freshet::cli {

// What the rows of one command may hold. The strings are literals.
struct RowFormat {
  // Names of all columns: fields of the API's item message.
  std::vector<std::string_view> columns;
  // Other names that people use for columns.
  std::vector<std::pair<std::string_view, std::string_view>> aliases;
  // Columns of arguments and of lines without a header, in order. The first names the item.
  std::vector<std::string_view> positional;
};

// One item: values by column, empty ones left out.
struct Row {
  // Line number in its input, or position among the arguments; from 1.
  uint64_t number = 0;
  std::vector<std::pair<std::string_view, std::string>> fields;

  // The value of a column, or null.
  [[nodiscard]] const std::string* Find(std::string_view column) const;
};

// Reads rows one by one in whatever form they come. Owner thread only.
class RowSource {
 public:
  RowSource() = default;
  virtual ~RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;

  // The next row; false at the end. InvalidArgument with the row's number for a malformed one: the
  // next call goes on behind it. Any other error is the end: FailedPrecondition for a header or an
  // argument that cannot be understood.
  virtual absl::StatusOr<bool> Next(Row* row) = 0;
  // Whether the last row was of the command line itself: what is wrong of that is bad usage, and
  // nothing that others may have written.
  [[nodiscard]] virtual bool WasTyped() const { return false; }
  // True if Next would block because the sender is slow: time to send what there is.
  [[nodiscard]] virtual bool WouldWait() const { return false; }
};

// Rows of an input. The form is told from the first line that is not empty: an object of JSON, a
// header of known column names that are separated by tabs, commas or semicolons, else plain lines
// whose fields are separated by tabs or spaces. A plain line that looks like CSV is refused: taken
// as a URL it would name a page that does not exist.
std::unique_ptr<RowSource> ReadRows(std::unique_ptr<ByteSource> bytes, const RowFormat& format);

// Rows of a command's arguments: each argument that names an item (`names_item`) starts a row, the
// others fill its further positional columns. An argument that is `-` or names a file stands for
// the rows of standard input or of that file. Without arguments, the rows of standard input.
std::unique_ptr<RowSource> RowsOfArguments(std::vector<std::string> arguments,
                                           const RowFormat& format,
                                           bool (*names_item)(std::string_view), int input);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_ROWS_H_
