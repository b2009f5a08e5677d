#include "tools/cli/transfer/record_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "tools/cli/transfer/line_records.h"

namespace freshet::cli {
namespace {

using OpenReader = std::unique_ptr<RecordReader> (*)(std::unique_ptr<ByteSource>,
                                                     const ImportOptions&);

// Returns the first non-empty line. If `text` ends within this line, returns the part before the
// end.
std::string_view FirstLine(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start);
  return text.substr(0, text.find('\n'));
}

bool Has(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

ImportFormat TellFormat(std::string_view line) {
  if (line.starts_with('{')) {
    // The quotes here are not part of a JSON string, because there they would have backslashes.
    if (Has(line, R"("_source":)") || Has(line, R"("hits":)") || Has(line, R"("nextFetchDate":)")) {
      return ImportFormat::kStorm;
    }
    if (Has(line, R"("statusName":)") && Has(line, R"("fetchTime":)")) return ImportFormat::kNutch;
    if (Has(line, R"("known":)") || Has(line, R"("discovered":)")) return ImportFormat::kFrontier;
    return ImportFormat::kFreshet;
  }
  const std::string lower = absl::AsciiStrToLower(absl::string_view(line.data(), line.size()));
  if (Has(line, "\tVersion: ") || (lower.starts_with("url") && Has(lower, "status code"))) {
    return ImportFormat::kNutch;
  }
  return Has(lower, "nextfetchdate") && Has(lower, "url") ? ImportFormat::kStorm
                                                          : ImportFormat::kFreshet;
}

OpenReader ReaderOf(ImportFormat format, std::string_view line) {
  const bool json = line.starts_with('{');
  switch (format) {
    case ImportFormat::kFrontier:
      return ReadFrontierJson;
    case ImportFormat::kNutch:
      return json ? ReadNutchJson : Has(line, "\tVersion: ") ? ReadNutchText : ReadNutchCsv;
    case ImportFormat::kStorm:
      return json ? ReadStormJson : ReadStormTable;
    case ImportFormat::kFreshet:
    case ImportFormat::kAuto:
      break;
  }
  return json && Has(line, R"("page":)") ? ReadFreshetJson : ReadFreshetRows;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecordReader>> OpenRecords(std::unique_ptr<ByteSource> bytes,
                                                          ImportFormat format,
                                                          const ImportOptions& options) {
  const absl::StatusOr<std::string_view> start = bytes->Peek();
  if (!start.ok()) return start.status();
  const std::string_view line = FirstLine(*start);
  if (line.starts_with('[')) {
    return absl::InvalidArgumentError("an array of JSON: give an object a line");
  }
  const OpenReader read = ReaderOf(format == ImportFormat::kAuto ? TellFormat(line) : format, line);
  return read(std::move(bytes), options);
}

absl::StatusOr<bool> TableRecords::Take(std::string_view line, ImportedPage* page) {
  if (header_.empty()) {
    const size_t found = line.find_first_of("\t,;");
    separator_ = found == std::string_view::npos ? '\t' : line[found];
  }
  if (separator_ == '\t') {
    const std::vector<std::string_view> cells = SplitAt(line, "\t", false);
    cells_.assign(cells.begin(), cells.end());
  } else {
    std::optional<std::vector<std::string>> cells = SplitCsv(line, separator_);
    if (!cells) return absl::InvalidArgumentError("a quote is not closed in its line");
    cells_ = *std::move(cells);
  }
  if (header_.empty()) {
    for (const std::string& cell : cells_) {
      const std::string_view name = Trimmed(cell);
      header_.push_back(absl::AsciiStrToLower(absl::string_view(name.data(), name.size())));
    }
    if (std::find(header_.begin(), header_.end(), "url") == header_.end()) {
      return absl::FailedPreconditionError("the first line names no column 'url'");
    }
    return false;
  }
  return TakeCells(page);
}

std::string_view TableRecords::Cell(std::string_view column) const {
  const auto it = std::find(header_.begin(), header_.end(), column);
  const auto i = static_cast<size_t>(it - header_.begin());
  return it == header_.end() || i >= cells_.size() ? std::string_view() : Trimmed(cells_[i]);
}

std::string TextOf(const nlohmann::json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end() || it->is_null() || it->is_structured()) return {};
  return it->is_string() ? it->get<std::string>() : it->dump();
}

}  // namespace freshet::cli
