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
  // Columns of arguments and of lines without a header, in order. The first names the item.
  std::vector<std::string_view> positional;
};

// One item: values by column, empty ones left out.
struct Row {
  // Line number in its input, or position among the arguments; from 1.
  uint64_t number = 0;
  std::vector<std::pair<std::string_view, std::string>> fields;

  // The value of a column; nullptr = none.
  [[nodiscard]] const std::string* Find(std::string_view column) const;
};

// Reads rows one by one, whatever their form. Owner thread only.
class RowSource {
 public:
  RowSource() = default;
  virtual ~RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;

  // Reads the next row; false at the end. InvalidArgument with the row's number: the row is
  // malformed, and the next call continues behind it. Any other error ends the input;
  // FailedPrecondition means a header or an argument that cannot be understood.
  virtual absl::StatusOr<bool> Next(Row* row) = 0;
  // Whether the last row was typed on the command line. Then its faults are bad usage, and its text
  // is the user's own.
  [[nodiscard]] virtual bool WasTyped() const { return false; }
  // Whether Next would block because the sender is slow: time to send what was read.
  [[nodiscard]] virtual bool WouldWait() const { return false; }
};

// Reads rows of an input. The first non-empty line decides the form: a JSON object; a header of
// known column names, separated by tabs, commas or semicolons; else plain lines with fields
// separated by tabs or spaces. Refuses a plain line that looks like CSV: as a URL it would name a
// page that does not exist.
std::unique_ptr<RowSource> ReadRows(std::unique_ptr<ByteSource> bytes, const RowFormat& format);

// Reads rows from a command's arguments. Each argument that names an item (`names_item`) starts a
// row; the others fill its further positional columns. `-` or a file name stands for the rows of
// standard input or of that file. Without arguments reads standard input.
std::unique_ptr<RowSource> RowsOfArguments(std::vector<std::string> arguments,
                                           const RowFormat& format,
                                           bool (*names_item)(std::string_view), int input);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_ROWS_H_
