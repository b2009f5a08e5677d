// Reads a command's items: arguments, plain lines, TSV, CSV or JSON lines.
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

// The columns that rows of a command may have. All strings are literals.
struct RowFormat {
  // Names of all columns: fields of the API's item message.
  std::vector<std::string_view> columns;
  // Other names that people use for columns.
  std::vector<std::pair<std::string_view, std::string_view>> aliases;
  // The columns of arguments, and of lines without a header, in order. The first column names the
  // item.
  std::vector<std::string_view> positional;
};

// One item: the values by column. Empty values are left out.
struct Row {
  // The line number in the input, or the position among the arguments; from 1.
  uint64_t number = 0;
  std::vector<std::pair<std::string_view, std::string>> fields;

  // The value of a column; nullptr = none.
  [[nodiscard]] const std::string* Find(std::string_view column) const;
};

// Reads rows one by one, in any format. Owner thread only.
class RowSource {
 public:
  RowSource() = default;
  virtual ~RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;

  // Reads the next row. Returns false at the end. InvalidArgument, with the row's number: the row
  // is malformed, and the next call continues after it. Any other error ends the input.
  // FailedPrecondition: a header or an argument cannot be understood.
  virtual absl::StatusOr<bool> Next(Row* row) = 0;
  // Whether the last row was typed on the command line. An error in it is then bad usage, and its
  // text comes from the user.
  [[nodiscard]] virtual bool WasTyped() const { return false; }
  // Whether Next would block because the sender is slow. The caller should then send what it has
  // read.
  [[nodiscard]] virtual bool WouldWait() const { return false; }
};

// Reads rows of an input. The first non-empty line decides the form: a JSON object; a header of
// known column names, separated by tabs, commas or semicolons; else plain lines with fields
// separated by tabs or spaces. A plain line that looks like CSV is refused, because as a URL it
// would name a page that does not exist.
std::unique_ptr<RowSource> ReadRows(std::unique_ptr<ByteSource> bytes, const RowFormat& format);

// Reads rows from a command's arguments. Each argument that names an item (`names_item`) starts a
// row; the arguments after it fill the other positional columns of the row. `-` or a file name
// stands for the rows of standard input or of that file. Without arguments, the function reads
// standard input.
std::unique_ptr<RowSource> RowsOfArguments(std::vector<std::string> arguments,
                                           const RowFormat& format,
                                           bool (*names_item)(std::string_view), int input);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_ROWS_H_
