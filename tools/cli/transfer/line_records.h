// Base classes for readers of line records.
#ifndef FRESHET_TOOLS_CLI_TRANSFER_LINE_RECORDS_H_
#define FRESHET_TOOLS_CLI_TRANSFER_LINE_RECORDS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "tools/cli/cells.h"
#include "tools/cli/odd_numbers.h"
#include "tools/cli/transfer/record_reader.h"

namespace freshet::cli {

// Adds the row number to an error in a line.
[[nodiscard]] inline absl::Status OfRow(uint64_t row, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(fmt::format(
      "row {}: {}", row, std::string_view(status.message().data(), status.message().size())));
}

// Reads an input in which each line is at most one record. Owner thread only.
class LineRecords : public RecordReader {
 public:
  LineRecords(std::unique_ptr<ByteSource> bytes, const ImportOptions& options)
      : options_(options), lines_(std::move(bytes), kMaxRecordBytes) {}

  absl::StatusOr<bool> Next(ImportedPage* page) override {
    while (true) {
      absl::StatusOr<bool> more = lines_.Next(&line_);
      if (!more.ok() || !*more) return more;
      if (Trimmed(line_).empty()) continue;
      *page = {};
      const absl::StatusOr<bool> taken = Take(line_, page);
      if (!taken.ok()) {
        // Any other error affects all later lines too.
        if (!absl::IsInvalidArgument(taken.status())) return taken.status();
        return OfRow(lines_.line_number(), taken.status());
      }
      if (!*taken) continue;
      page->row = lines_.line_number();
      return true;
    }
  }

 protected:
  // Converts a line to a page; false if the page is to be left out. InvalidArgument names the
  // fault.
  virtual absl::StatusOr<bool> Take(std::string_view line, ImportedPage* page) = 0;

  const ImportOptions& options_;

 private:
  LineSource lines_;
  std::string line_;
};

// Reads an input in which each line is a JSON object. Owner thread only.
class JsonRecords : public LineRecords {
 public:
  using LineRecords::LineRecords;

 protected:
  absl::StatusOr<bool> Take(std::string_view line, ImportedPage* page) final {
    const nlohmann::json object = ParseObject(line);
    if (!object.is_object()) return absl::InvalidArgumentError("not an object of JSON");
    return TakeObject(object, page);
  }
  virtual absl::StatusOr<bool> TakeObject(const nlohmann::json& object, ImportedPage* page) = 0;
};

// Reads a table with a header, separated by tabs, commas or semicolons. Unknown columns are
// ignored. Owner thread only.
class TableRecords : public LineRecords {
 public:
  using LineRecords::LineRecords;

 protected:
  absl::StatusOr<bool> Take(std::string_view line, ImportedPage* page) final;
  virtual absl::StatusOr<bool> TakeCells(ImportedPage* page) = 0;

  // Returns the cell of this line in a column. `column` is the column's name in lower case. Empty =
  // there is no such cell.
  [[nodiscard]] std::string_view Cell(std::string_view column) const;

 private:
  char separator_ = 0;
  std::vector<std::string> header_;
  std::vector<std::string> cells_;
};

// Returns a member of an object as text, even a number; empty if missing or null.
[[nodiscard]] std::string TextOf(const nlohmann::json& object, const char* name);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TRANSFER_LINE_RECORDS_H_
