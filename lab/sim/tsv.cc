#include "lab/sim/tsv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr size_t kMissingColumn = std::numeric_limits<size_t>::max();

template <typename T>
StatusOr<T> ParseWhole(std::string_view text, std::string_view kind) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) {
    return InvalidArgument("'{}' is out of range", text);
  }
  if (text.empty() || error != std::errc() || rest != end) {
    return InvalidArgument("'{}' is not a {}", text, kind);
  }
  return value;
}

}  // namespace

StatusOr<long long> ParseInteger(std::string_view text) {
  return ParseWhole<long long>(text, "whole number");
}

StatusOr<double> ParseNumber(std::string_view text) {
  ASSIGN_OR_RETURN(const double value, ParseWhole<double>(text, "number"));
  if (!std::isfinite(value)) return InvalidArgument("'{}' is not a finite number", text);
  return value;
}

StatusOr<double> ParseNonNegative(std::string_view text) {
  ASSIGN_OR_RETURN(const double value, ParseNumber(text));
  if (value < 0) return InvalidArgument("'{}' is negative", text);
  return value;
}

StatusOr<std::vector<double>> ParseNonNegativeList(std::string_view text) {
  std::vector<double> values;
  for (const std::string_view part : Split(text, ',')) {
    ASSIGN_OR_RETURN(const double value, ParseNonNegative(part));
    values.push_back(value);
  }
  return values;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

StatusOr<TsvReader> TsvReader::Open(std::istream& input, std::vector<std::string> columns,
                                    const std::vector<std::string>& optional) {
  const size_t required = columns.size();
  columns.insert(columns.end(), optional.begin(), optional.end());
  TsvReader reader(input, std::move(columns));
  if (!reader.ReadLine(reader.header_)) return InvalidArgument("the input has no header line");
  const std::vector<std::string_view> names = Split(reader.header_, '\t');
  reader.width_ = names.size();
  for (const std::string& column : reader.columns_) {
    const auto found = std::find(names.begin(), names.end(), column);
    if (found == names.end()) {
      if (reader.positions_.size() < required) {
        return InvalidArgument("header: column '{}' is missing", column);
      }
      reader.positions_.push_back(kMissingColumn);
      continue;
    }
    if (std::find(found + 1, names.end(), column) != names.end()) {
      return InvalidArgument("header: column '{}' is there twice", column);
    }
    reader.positions_.push_back(static_cast<size_t>(found - names.begin()));
  }
  return reader;
}

StatusOr<bool> TsvReader::Next() {
  if (!ReadLine(line_)) return false;
  ++row_;
  cells_ = Split(line_, '\t');
  if (cells_.size() != width_) {
    return RowError(fmt::format("{} cells where the header has {}", cells_.size(), width_));
  }
  return true;
}

bool TsvReader::Has(size_t column) const {
  CHECK(column < positions_.size());
  return positions_[column] != kMissingColumn;
}

std::string_view TsvReader::Text(size_t column) const {
  CHECK(Has(column) && cells_.size() == width_);
  return cells_[positions_[column]];
}

StatusOr<double> TsvReader::Number(size_t column) const {
  StatusOr<double> value = ParseNumber(Text(column));
  return value.ok() ? value : CellError(column, value.status());
}

StatusOr<double> TsvReader::NonNegative(size_t column) const {
  StatusOr<double> value = ParseNonNegative(Text(column));
  return value.ok() ? value : CellError(column, value.status());
}

StatusOr<std::vector<double>> TsvReader::NonNegativeList(size_t column) const {
  StatusOr<std::vector<double>> values = ParseNonNegativeList(Text(column));
  if (!values.ok()) return CellError(column, values.status());
  return values;
}

Status TsvReader::RowError(std::string_view reason) const {
  return InvalidArgument("row {} (line {}): {}", row_, line_number_, reason);
}

bool TsvReader::ReadLine(std::string& line) {
  while (std::getline(*input_, line)) {
    ++line_number_;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) return true;
  }
  return false;
}

Status TsvReader::CellError(size_t column, const Status& status) const {
  return RowError(fmt::format("{}: {}", columns_[column],
                              std::string_view(status.message().data(), status.message().size())));
}

}  // namespace freshet
