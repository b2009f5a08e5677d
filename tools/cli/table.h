// Text that people read: aligned tables and short forms of times and numbers.
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

// Prints rows with aligned columns; the last column is never padded, so text of any length goes
// there. Rows are held back until Flush, which fixes the widths of the first flush for all later
// ones: long tables come out in parts that line up.
//
// On a terminal of `columns` cells no line is longer: text columns are narrowed, the widest first,
// and what does not fit them is cut with an ellipsis, URLs in the middle; of a time, the day and
// where there is room the minute are left. Numbers are never cut; a
// terminal that has no room for them wraps. 0 columns: nothing is cut. Owner thread only.
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
  // Prints what was added; the header first, once.
  void Flush();

 private:
  void Print(const std::vector<std::string>& cells);
  // Narrows columns of text until a line fits.
  void FitWidths();
  // Takes from the widest above its floor, until the line of so many cells fits; its cells then.
  size_t Narrow(size_t line, size_t floor, size_t floor_of_last);

  std::ostream& out_;
  std::vector<Column> columns_;
  const size_t terminal_columns_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
  bool started_ = false;
};

// 2024-05-17 08:30:01Z; `-` if unset, which callers say by `present`.
[[nodiscard]] std::string ShowTime(const google::protobuf::Timestamp& time, bool present = true);
// 3 d 4 h, 5 min 2 s, 1 h, 1.25 s: two units at most.
[[nodiscard]] std::string ShowDuration(const google::protobuf::Duration& duration);
// Four significant digits; whole numbers up to a million in full.
[[nodiscard]] std::string ShowNumber(double value);
// 1,234,567.
[[nodiscard]] std::string ShowCount(uint64_t value);
// 1 page, 1,234 pages; `many` where that is not `one` and an s.
[[nodiscard]] std::string ShowCounted(uint64_t count, std::string_view one,
                                      std::string_view many = {});
// The count, or `any` for 0, which stands for no limit.
[[nodiscard]] std::string ShowLimit(uint64_t limit);
// 93.1%.
[[nodiscard]] std::string ShowShare(double share);
// 1.5 GiB.
[[nodiscard]] std::string ShowBytes(uint64_t bytes);
// The name of an enum's value without its prefix, in lower case with spaces.
[[nodiscard]] std::string ShowEnum(std::string_view name, std::string_view prefix);
// Text of others for a terminal (SafeText): it can neither move the cursor nor break a table.
[[nodiscard]] std::string ShowText(std::string_view text);
// The same of what an item is called, cut to what a person can look at: a URL may have megabytes.
[[nodiscard]] std::string ShowName(std::string_view text);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TABLE_H_
