// Tab-separated tables with a header line, as every freshet-sim command reads and prints them.
#ifndef FRESHET_TOOLS_SIM_TSV_H_
#define FRESHET_TOOLS_SIM_TSV_H_

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace freshet {

// A whole number of a cell: decimal digits, an optional minus. InvalidArgument otherwise.
[[nodiscard]] StatusOr<long long> ParseInteger(std::string_view text);

// A finite number. InvalidArgument for NaN, infinities, empty text and anything after the number.
[[nodiscard]] StatusOr<double> ParseNumber(std::string_view text);

// The same, and >= 0.
[[nodiscard]] StatusOr<double> ParseNonNegative(std::string_view text);

// "1,2,3" as numbers >= 0; an empty cell is no number.
[[nodiscard]] StatusOr<std::vector<double>> ParseNonNegativeList(std::string_view text);

// The parts between separators; an empty text has none.
[[nodiscard]] std::vector<std::string_view> Split(std::string_view text, char separator);

// Reads a table row by row. Columns are found by name, in any order; columns that nobody asks for
// are carried along in `line`. Every error names the line and why. Lines that are empty are
// skipped; a carriage return before the line end is dropped.
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
  // Reads the header. InvalidArgument if a column is missing or twice there, or if there is no
  // header at all. Cells are then addressed by their position in `columns`, those of `optional`
  // after them, which may be missing.
  static StatusOr<TsvReader> Open(std::istream& input, std::vector<std::string> columns,
                                  const std::vector<std::string>& optional = {});

  // Whether the header has the column, one of `optional`. The cells of others cannot be asked for.
  [[nodiscard]] bool Has(size_t column) const;

  // Moves to the next row; false at the end. InvalidArgument if it has not as many cells as the
  // header.
  StatusOr<bool> Next();

  // Cells of the current row. Errors carry line, column and reason.
  [[nodiscard]] std::string_view Text(size_t column) const;
  [[nodiscard]] StatusOr<double> Number(size_t column) const;
  [[nodiscard]] StatusOr<double> NonNegative(size_t column) const;
  [[nodiscard]] StatusOr<std::vector<double>> NonNegativeList(size_t column) const;

  // InvalidArgument about the current row: "row 3 (line 4): reason".
  [[nodiscard]] Status RowError(std::string_view reason) const;

  [[nodiscard]] const std::string& header() const { return header_; }
  [[nodiscard]] const std::string& line() const { return line_; }
  // Number of the current row, the first after the header being 1.
  [[nodiscard]] size_t row() const { return row_; }

 private:
  explicit TsvReader(std::istream& input, std::vector<std::string> columns)
      : input_(&input), columns_(std::move(columns)) {}
  bool ReadLine(std::string& line);
  [[nodiscard]] Status CellError(size_t column, const Status& status) const;

  std::istream* input_;
  std::vector<std::string> columns_;
  std::vector<size_t> positions_;  // of columns_, in the header
  size_t width_ = 0;
  size_t row_ = 0;
  size_t line_number_ = 0;
  std::string header_;
  std::string line_;
  std::vector<std::string_view> cells_;  // into line_
};

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_TSV_H_
