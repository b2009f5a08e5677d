#include "lab/common/history.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

namespace freshet {
namespace {

constexpr size_t kMaxRowBytes = size_t{16} << 20;
constexpr int64_t kLastSecond = 253402300799;  // end of the year 9999

// Removes the front of `rest` up to the separator, and returns it. Without a separator, this is all
// of `rest`.
std::string_view TakeField(std::string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return field;
}

StatusOr<int64_t> ParseTime(std::string_view text, std::string_view field) {
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0 ||
      seconds > kLastSecond) {
    return InvalidArgument("{} '{}' is not a Unix time", field, text.substr(0, 40));
  }
  return seconds;
}

StatusOr<double> ParseImportance(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      value < 0) {
    return InvalidArgument("importance '{}' is not a number >= 0", text.substr(0, 40));
  }
  return value;
}

StatusOr<Touch> ParseTouch(std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view kind = text.substr(std::min(colon + 1, text.size()));
  if (kind != "c" && kind != "m") {
    return InvalidArgument(
        "change '{}' is not TIME:c (the content changed) or TIME:m (a minor change)",
        text.substr(0, 40));
  }
  ASSIGN_OR_RETURN(const int64_t seconds, ParseTime(text.substr(0, colon), "touch"));
  return Touch{.unix_seconds = seconds, .change = kind == "c"};
}

// Reads a file line by line with zlib, which also reads plain text. Owner thread only.
class LineFile {
 public:
  static StatusOr<LineFile> Open(const std::string& path) {
    errno = 0;
    gzFile file = gzopen(path.c_str(), "rb");
    if (file == nullptr) return NotFound("{}: {}", path, std::strerror(errno));
    gzbuffer(file, 1U << 17);
    return LineFile(path, file);
  }

  // Reads the next line, without its end. Returns false after the last line.
  StatusOr<bool> Next(std::string& line) {
    line.clear();
    std::array<char, size_t{1} << 14> chunk{};
    while (gzgets(file_.get(), chunk.data(), static_cast<int>(chunk.size())) != nullptr) {
      line += chunk.data();
      if (!line.empty() && line.back() == '\n') break;
      if (line.size() > kMaxRowBytes) return InvalidArgument("longer than 16 MiB");
    }
    int error = Z_OK;
    const char* message = gzerror(file_.get(), &error);
    // Only zlib's error code distinguishes a truncated file from a complete one.
    if (error != Z_OK && error != Z_STREAM_END) {
      const char* reason = error == Z_ERRNO ? std::strerror(errno) : message;
      return MakeStatus(absl::StatusCode::kDataLoss, "{}: {}", path_, reason);
    }
    if (line.empty()) return false;
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    return true;
  }

 private:
  struct Closer {
    void operator()(gzFile file) const { gzclose(file); }
  };
  LineFile(std::string path, gzFile file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::unique_ptr<gzFile_s, Closer> file_;
};

Status RowError(const std::string& path, size_t row, const Status& status) {
  if (status.code() != absl::StatusCode::kInvalidArgument) return status;
  return InvalidArgument("{}: row {}: {}", path, row, std::string(status.message()));
}

}  // namespace

StatusOr<HistoryPage> ParseHistoryRow(std::string_view row) {
  if (std::count(row.begin(), row.end(), '\t') != 3) {
    return InvalidArgument("a row must have four fields, separated by tabs");
  }
  HistoryPage page;
  page.url = TakeField(row, '\t');
  if (page.url.empty()) return InvalidArgument("url is empty");
  ASSIGN_OR_RETURN(page.importance, ParseImportance(TakeField(row, '\t')));
  ASSIGN_OR_RETURN(page.first_seen_seconds, ParseTime(TakeField(row, '\t'), "first_seen"));
  while (!row.empty()) {
    ASSIGN_OR_RETURN(const Touch touch, ParseTouch(TakeField(row, ',')));
    page.touches.push_back(touch);
  }
  std::sort(page.touches.begin(), page.touches.end(), [](const Touch& a, const Touch& b) {
    return std::pair(a.unix_seconds, !a.change) < std::pair(b.unix_seconds, !b.change);
  });
  return page;
}

StatusOr<std::vector<HistoryPage>> ReadHistory(const std::string& path) {
  ASSIGN_OR_RETURN(LineFile file, LineFile::Open(path));
  std::vector<HistoryPage> pages;
  std::unordered_map<std::string, size_t> row_of_url;
  std::string line;
  for (size_t row = 1;; ++row) {
    const StatusOr<bool> more = file.Next(line);
    if (!more.ok()) return RowError(path, row, more.status());
    if (!*more) break;
    if (line.empty()) continue;
    StatusOr<HistoryPage> page = ParseHistoryRow(line);
    if (!page.ok()) return RowError(path, row, page.status());
    const auto [earlier, is_new] = row_of_url.emplace(page->url, row);
    if (!is_new) {
      return InvalidArgument("{}: row {}: url '{}' is already in row {}", path, row,
                             page->url.substr(0, 200), earlier->second);
    }
    pages.push_back(*std::move(page));
  }
  if (pages.empty()) return InvalidArgument("{}: holds no page", path);
  return pages;
}

}  // namespace freshet
