// Prints text for users: aligned tables, and short forms of times and numbers.
#ifndef FRESHET_TOOLS_CLI_TABLE_H_
#define FRESHET_TOOLS_CLI_TABLE_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::cli {

// Prints rows with aligned columns; the last column is never padded, so its text may have any
// length. Holds rows until Flush. The first flush fixes the widths for all later ones, so that the
// parts of long tables line up.
//
// On a terminal of `columns` cells no line is longer: text columns are narrowed, the widest first.
// Their texts are cut with an ellipsis, URLs in the middle. A time keeps the day and, if there is
// room, the minute. Numbers are never cut; if the terminal is too narrow for them, it wraps the
// line. `columns` 0 = nothing is cut. Owner thread only.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string name;
    Align align = Align::kLeft;
  };

  Table(std::ostream& out, std::vector<Column> columns, size_t terminal_columns = 0)
      : out_(out),
        columns_(std::move(columns)),
        terminal_columns_(terminal_columns),
        widths_(columns_.size()) {}

  // Adds a row with a cell for each column.
  void Add(std::vector<std::string> cells);
  // Prints the added rows. The first call prints the header before them.
  void Flush();

 private:
  void Print(const std::vector<std::string>& cells);
  // Narrows columns of text until a line fits.
  void FitWidths();
  // Narrows the widest columns, but not below `floor` cells (the last column: `floor_of_last`),
  // until a line fits into `line` cells. Returns the resulting length of a line.
  size_t Narrow(size_t line, size_t floor, size_t floor_of_last);

  std::ostream& out_;
  std::vector<Column> columns_;
  const size_t terminal_columns_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
  bool started_ = false;
};

// Returns for example 2024-05-17 08:30:01Z, or `-` if not `present`.
[[nodiscard]] std::string ShowTime(const google::protobuf::Timestamp& time, bool present = true);
// Returns for example 3 d 4 h, 5 min 2 s, 1 h or 1.25 s: at most two units.
[[nodiscard]] std::string ShowDuration(const google::protobuf::Duration& duration);
// Returns the number with four significant digits. Whole numbers up to a million are exact.
[[nodiscard]] std::string ShowNumber(double value);
// Returns for example 1,234,567.
[[nodiscard]] std::string ShowCount(uint64_t value);
// Returns for example 1 page or 1,234 pages. `many` is the plural if it is not `one` plus an s.
[[nodiscard]] std::string ShowCounted(uint64_t count, std::string_view one,
                                      std::string_view many = {});
// Returns the limit as text; `any` for 0, which means no limit.
[[nodiscard]] std::string ShowLimit(uint64_t limit);
// Returns for example 93.1%.
[[nodiscard]] std::string ShowShare(double share);
// Returns for example 1.5 GiB.
[[nodiscard]] std::string ShowBytes(uint64_t bytes);
// Returns the name of an enum's value in lower case, without its prefix and with spaces.
[[nodiscard]] std::string ShowEnum(std::string_view name, std::string_view prefix);
// Makes foreign text safe for a terminal (SafeText): it can neither move the cursor nor break a
// table.
[[nodiscard]] std::string ShowText(std::string_view text);
// Shortens the name of an item for a terminal, because a URL can have megabytes.
[[nodiscard]] std::string ShowName(std::string_view text);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TABLE_H_
