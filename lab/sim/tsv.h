// Reads tables of tab-separated values with a header line. Every freshet-sim command reads and
// prints this format.
#ifndef FRESHET_LAB_SIM_TSV_H_
#define FRESHET_LAB_SIM_TSV_H_

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace freshet {

// Parses an integer: decimal digits, with an optional minus. InvalidArgument: the text is something
// else.
[[nodiscard]] StatusOr<long long> ParseInteger(std::string_view text);

// Parses a finite number. InvalidArgument for NaN, infinities, empty text and text after the
// number.
[[nodiscard]] StatusOr<double> ParseNumber(std::string_view text);

// Parses a finite number >= 0.
[[nodiscard]] StatusOr<double> ParseNonNegative(std::string_view text);

// Parses "1,2,3" as numbers >= 0; an empty cell has no numbers.
[[nodiscard]] StatusOr<std::vector<double>> ParseNonNegativeList(std::string_view text);

// Returns the parts between separators; an empty text has none.
[[nodiscard]] std::vector<std::string_view> Split(std::string_view text, char separator);

// Reads a table row by row. Finds columns by name, in any order; other columns stay in `line`.
// Every error names the line and the reason. Skips empty lines; drops a carriage return before the
// line end.
//
//   ASSIGN_OR_RETURN(TsvReader table, TsvReader::Open(input, {"id", "rate"}));
//   while (true) {
//     ASSIGN_OR_RETURN(const bool more, table.Next());
//     if (!more) break;
//     ASSIGN_OR_RETURN(const double rate, table.NonNegative(1));
//   }
//
// Thread-compatible. The stream outlives the reader.
class TsvReader {
 public:
  // Reads the header. InvalidArgument: a column is missing or occurs twice, or there is no header.
  // Cells are then addressed by their position in `columns`, then in `optional`, whose columns may
  // be missing.
  static StatusOr<TsvReader> Open(std::istream& input, std::vector<std::string> columns,
                                  const std::vector<std::string>& optional = {});

  // Whether the header has the column, which must be one of `optional`. The cells of a missing
  // column must not be read.
  [[nodiscard]] bool Has(size_t column) const;

  // Moves to the next row. Returns false at the end. InvalidArgument: the row does not have as many
  // cells as the header.
  StatusOr<bool> Next();

  // The next four functions return a cell of the current row. Errors name the line, the column and
  // the reason.
  [[nodiscard]] std::string_view Text(size_t column) const;
  [[nodiscard]] StatusOr<double> Number(size_t column) const;
  [[nodiscard]] StatusOr<double> NonNegative(size_t column) const;
  [[nodiscard]] StatusOr<std::vector<double>> NonNegativeList(size_t column) const;

  // Makes an InvalidArgument about the current row: "row 3 (line 4): reason".
  [[nodiscard]] Status RowError(std::string_view reason) const;

  [[nodiscard]] const std::string& header() const { return header_; }
  [[nodiscard]] const std::string& line() const { return line_; }
  // Returns the number of the current row, from 1 after the header.
  [[nodiscard]] size_t row() const { return row_; }

 private:
  explicit TsvReader(std::istream& input, std::vector<std::string> columns)
      : input_(&input), columns_(std::move(columns)) {}
  bool ReadLine(std::string& line);
  [[nodiscard]] Status CellError(size_t column, const Status& status) const;

  std::istream* input_;
  std::vector<std::string> columns_;
  std::vector<size_t> positions_;  // positions of columns_ in the header
  size_t width_ = 0;
  size_t row_ = 0;
  size_t line_number_ = 0;
  std::string header_;
  std::string line_;
  std::vector<std::string_view> cells_;  // views into line_
};

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_TSV_H_
