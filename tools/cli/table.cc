#include "tools/cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/time/time.h"
#include "core/base/safe_text.h"
#include "tools/cli/display.h"

namespace freshet::cli {
namespace {

constexpr std::string_view kBetween = "  ";
// Text columns are first narrowed to kNarrow cells (the last column to kNarrowLast). If that is not
// enough, they are narrowed to kNarrowest. A date fits into the first width. The last column names
// the subject of the row, so it keeps most of a URL's host.
constexpr size_t kNarrow = 10;
constexpr size_t kNarrowLast = 32;
constexpr size_t kNarrowest = 8;
// The maximum length of an item's name in a line about the item.
constexpr size_t kNameShown = 200;

// Lengths of 2024-05-17 08:30:01Z, 2024-05-17 08:30 and 2024-05-17.
constexpr size_t kTime = 20;
constexpr size_t kMinute = 16;
constexpr size_t kDay = 10;

bool IsTime(const std::string& cell) {
  return cell.size() == kTime && cell[4] == '-' && cell[kDay] == ' ' && cell[13] == ':' &&
         cell.back() == 'Z';
}

// Returns a duration in two units, or only in the first if the second is zero.
std::string TwoUnits(int64_t first, std::string_view unit, int64_t second,
                     std::string_view lesser) {
  const std::string text = fmt::format("{} {}", first, unit);
  return second == 0 ? text : fmt::format("{} {} {}", text, second, lesser);
}

// Cuts a cell. Keeps the parts in which URLs and redirects differ, and never cuts inside the day of
// a date.
std::string Cut(const std::string& cell, size_t width) {
  if (IsTime(cell) && width >= kDay && width < kTime) {
    return cell.substr(0, width < kMinute ? kDay : kMinute);
  }
  const bool url = cell.find("://") != std::string::npos;
  return url ? CutMiddle(cell, width) : CutEnd(cell, width);
}

}  // namespace

void Table::Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

size_t Table::Narrow(size_t line, size_t floor, size_t floor_of_last) {
  while (line > terminal_columns_) {
    size_t widest = widths_.size();
    for (size_t i = 0; i < widths_.size(); ++i) {
      const size_t least = i + 1 == widths_.size() ? floor_of_last : floor;
      if (columns_[i].align == Align::kRight || widths_[i] <= least) continue;
      if (widest == widths_.size() || widths_[i] >= widths_[widest]) widest = i;
    }
    if (widest == widths_.size()) break;
    --widths_[widest];
    --line;
  }
  return line;
}

void Table::FitWidths() {
  if (terminal_columns_ == 0) return;
  size_t line = kBetween.size() * (widths_.size() - 1);
  for (const size_t width : widths_) line += width;
  line = Narrow(line, kNarrow, kNarrowLast);
  line = Narrow(line, kNarrowest, kNarrowest);
  // The last column gets the remaining width, because later rows might need it.
  if (columns_.back().align == Align::kLeft && line < terminal_columns_) {
    widths_.back() += terminal_columns_ - line;
  }
}

void Table::Flush() {
  if (!started_) {
    std::vector<std::string> names;
    for (const Column& column : columns_) names.push_back(column.name);
    rows_.insert(rows_.begin(), std::move(names));
    for (const std::vector<std::string>& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) {
        widths_[i] = std::max(widths_[i], DisplayWidth(row[i]));
      }
    }
    FitWidths();
    started_ = true;
  }
  for (const std::vector<std::string>& row : rows_) Print(row);
  rows_.clear();
}

void Table::Print(const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool right = columns_[i].align == Align::kRight;
    const std::string cell = terminal_columns_ == 0 || right ? cells[i] : Cut(cells[i], widths_[i]);
    const size_t width = DisplayWidth(cell);
    const bool last = i + 1 == cells.size();
    // The last column can have any length.
    const size_t missing = (right || !last) && widths_[i] > width ? widths_[i] - width : 0;
    if (right) line.append(missing, ' ');
    line += cell;
    if (!right) line.append(missing, ' ');
    if (!last) line += kBetween;
  }
  out_ << line << '\n';
}

std::string ShowTime(const google::protobuf::Timestamp& time, bool present) {
  if (!present) return "-";
  return absl::FormatTime("%Y-%m-%d %H:%M:%SZ", absl::FromUnixSeconds(time.seconds()),
                          absl::UTCTimeZone());
}

std::string ShowDuration(const google::protobuf::Duration& duration) {
  const int64_t seconds = duration.seconds();
  const double exact = static_cast<double>(seconds) + duration.nanos() * 1e-9;
  if (seconds < 0) return "-" + ShowNumber(-exact) + " s";
  if (exact > 0 && exact < 1) return ShowNumber(exact * 1e3) + " ms";
  if (seconds < 60) return ShowNumber(exact) + " s";
  if (seconds < 3600) return TwoUnits(seconds / 60, "min", seconds % 60, "s");
  if (seconds < 86400) return TwoUnits(seconds / 3600, "h", seconds % 3600 / 60, "min");
  return TwoUnits(seconds / 86400, "d", seconds % 86400 / 3600, "h");
}

std::string ShowNumber(double value) {
  if (std::floor(value) == value && std::fabs(value) < 1e6) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string ShowCount(uint64_t value) {
  std::string digits = std::to_string(value);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string ShowCounted(uint64_t count, std::string_view one, std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", ShowCount(count), one)
                      : fmt::format("{} {}", ShowCount(count), many);
}

std::string ShowLimit(uint64_t limit) { return limit == 0 ? "any" : ShowCount(limit); }

std::string ShowShare(double share) { return fmt::format("{:.1f}%", share * 100); }

std::string ShowBytes(uint64_t bytes) {
  static constexpr std::array<std::string_view, 6> kUnits = {"B",   "KiB", "MiB",
                                                             "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string ShowEnum(std::string_view name, std::string_view prefix) {
  if (name.substr(0, prefix.size()) == prefix) name.remove_prefix(prefix.size());
  std::string text = absl::AsciiStrToLower(absl::string_view(name.data(), name.size()));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string ShowText(std::string_view text) { return SafeText(text); }

std::string ShowName(std::string_view text) {
  // Reads only as much of a long text as can be shown.
  const bool fits = text.size() <= 2 * kNameShown;
  return CutMiddle(ShowText(fits ? text : text.substr(0, 2 * kNameShown)), kNameShown);
}

}  // namespace freshet::cli
