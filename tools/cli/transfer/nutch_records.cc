// Reads dumps of Nutch's crawldb: plain, CSV and JSON.
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "fmt/format.h"
#include "tools/cli/item_fields.h"
#include "tools/cli/parse.h"
#include "tools/cli/transfer/foreign_page.h"
#include "tools/cli/transfer/line_records.h"

namespace freshet::cli {
namespace {

// A status of Nutch, and the status of ForeignPage that matches it.
struct NutchStatus {
  std::string_view name;
  ForeignPage::Status status;
};

constexpr std::array kStatuses = {
    NutchStatus{"db_unfetched", ForeignPage::Status::kUnfetched},
    NutchStatus{"db_fetched", ForeignPage::Status::kFetched},
    NutchStatus{"db_gone", ForeignPage::Status::kGone},
    // A temporary redirect: the page still exists.
    NutchStatus{"db_redir_temp", ForeignPage::Status::kFetched},
    NutchStatus{"db_redir_perm", ForeignPage::Status::kMoved},
    NutchStatus{"db_notmodified", ForeignPage::Status::kFetched},
    NutchStatus{"db_duplicate", ForeignPage::Status::kFetched},
    NutchStatus{"db_orphan", ForeignPage::Status::kFetched},
};

// The fields of a record by their JSON names.
class NutchFields {
 public:
  explicit NutchFields(const ImportOptions& options) : options_(options) {}

  // Starts the record of a page.
  void Start(std::string_view url) {
    page_ = {};
    page_.url = url;
    page_.crawl_id = options_.crawl_id;
  }
  [[nodiscard]] ImportedPage Make() const { return FromForeign(page_, options_); }

  // Sets a field, or notes why it is left out.
  void Set(std::string_view name, std::string_view value) { NoteFault(Take(name, value)); }
  void SetMetadata(std::string_view key, std::string_view value) {
    NoteFault(TakeMetadata(key, value));
  }
  void NoteFault(const absl::Status& status) { Note(status, &page_.left_out); }

 private:
  // Sets a field. InvalidArgument names the field.
  absl::Status Take(std::string_view name, std::string_view value) {
    if (name == "statusName") return Named(name, SetStatus(value));
    if (name == "fetchTime") {
      return Named(name, SetTime(value, &page_.next_fetch));
    }
    if (name == "modifiedTime") return Named(name, SetTime(value, &page_.last_modified));
    if (name == "retriesSinceFetch") {
      return Named(name, Assign(ParseCount(value), [this](uint64_t x) { page_.failures = x; }));
    }
    if (name == "retryIntervalSeconds") {
      return Named(name, Assign(ParseNonNegative(value), [this](double seconds) {
                     page_.interval = absl::Seconds(seconds);
                   }));
    }
    if (name == "score") {
      return Named(name, Assign(ParseNumber(value), [this](double x) { page_.score = x; }));
    }
    if (name == "signature" && value != "null") page_.signature = value;
    return absl::OkStatus();
  }

  absl::Status TakeMetadata(std::string_view key, std::string_view value) {
    if (key == "nutch.protocol.code") {
      return Named(key, Assign(ParseCount(value), [this](uint64_t code) {
                     page_.http_status = static_cast<int>(std::min<uint64_t>(code, 999));
                   }));
    }
    // Example: "moved(12), lastModified=0: https://example.org/new"
    const size_t target = value.find(": http");
    if (key == "_pst_" && target != std::string_view::npos) {
      page_.moved_to = value.substr(target + 2);
    }
    return absl::OkStatus();
  }

  absl::Status SetStatus(std::string_view name) {
    for (const NutchStatus& known : kStatuses) {
      if (known.name != name) continue;
      page_.status = known.status;
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(fmt::format("'{}' is not a status of a crawldb", name));
  }

  // The Unix epoch stands for an unknown time.
  absl::Status SetTime(std::string_view value, std::optional<absl::Time>* time) const {
    return Assign(ParseJavaDate(value, options_.zone), [time](absl::Time x) {
      if (x > absl::UnixEpoch() + absl::Hours(24)) *time = x;
    });
  }

  const ImportOptions& options_;
  ForeignPage page_;
};

// The fields of the plain dump, and their JSON names.
struct NutchLabel {
  std::string_view label;
  std::string_view name;
};

constexpr std::array kLabels = {
    NutchLabel{"Status: ", "statusName"},
    NutchLabel{"Fetch time: ", "fetchTime"},
    NutchLabel{"Modified time: ", "modifiedTime"},
    NutchLabel{"Retries since fetch: ", "retriesSinceFetch"},
    NutchLabel{"Retry interval: ", "retryIntervalSeconds"},
    NutchLabel{"Score: ", "score"},
    NutchLabel{"Signature: ", "signature"},
};

// Returns the value within "2 (db_fetched)" and "2592000 seconds (30 days)".
std::string_view Meant(std::string_view name, std::string_view value) {
  if (name == "retryIntervalSeconds") return value.substr(0, value.find(' '));
  const size_t open = value.find('(');
  if (name != "statusName" || open == std::string_view::npos) return value;
  return value.substr(open + 1, value.find(')') - open - 1);
}

// Reads the plain dump. A page has several lines; the first one has the URL, a tab and the version.
// Owner thread only.
class NutchText : public RecordReader {
 public:
  NutchText(std::unique_ptr<ByteSource> bytes, const ImportOptions& options)
      : lines_(std::move(bytes), kMaxRecordBytes), fields_(options) {}

  absl::StatusOr<bool> Next(ImportedPage* page) override {
    while (next_url_.empty()) {
      const absl::StatusOr<bool> more = lines_.Next(&line_);
      if (!more.ok() || !*more) return more;
      if (StartsRecord() || Trimmed(line_).empty()) continue;
      return OfRow(lines_.line_number(), absl::InvalidArgumentError("belongs to no page"));
    }
    fields_.Start(std::exchange(next_url_, {}));
    const uint64_t row = next_row_;
    while (true) {
      const absl::StatusOr<bool> more = lines_.Next(&line_);
      if (!more.ok() && !absl::IsInvalidArgument(more.status())) return more;
      if (more.ok() && (!*more || StartsRecord())) break;
      if (more.ok()) {
        TakeLine();
      } else {
        fields_.NoteFault(more.status());
      }
    }
    *page = fields_.Make();
    page->row = row;
    return true;
  }

 private:
  // Starts the page whose first line is line_. Returns false if line_ is not the first line of a
  // page.
  bool StartsRecord() {
    const size_t tab = line_.find("\tVersion: ");
    if (tab == std::string::npos || line_.find("://") > tab) return false;
    next_url_ = line_.substr(0, tab);
    next_row_ = lines_.line_number();
    return true;
  }

  void TakeLine() {
    const std::string_view line = line_;
    for (const NutchLabel& known : kLabels) {
      if (!line.starts_with(known.label)) continue;
      const std::string_view value = Trimmed(line.substr(known.label.size()));
      return fields_.Set(known.name, Meant(known.name, value));
    }
    // Metadata is indented, with one key and value in each line.
    const size_t equals = line.find('=');
    if (!line.starts_with(' ') && !line.starts_with('\t')) return;
    if (equals == std::string_view::npos) return;
    fields_.SetMetadata(Trimmed(line.substr(0, equals)), line.substr(equals + 1));
  }

  LineSource lines_;
  NutchFields fields_;
  std::string next_url_;
  uint64_t next_row_ = 0;
  std::string line_;
};

class NutchTable : public TableRecords {
 public:
  NutchTable(std::unique_ptr<ByteSource> bytes, const ImportOptions& options)
      : TableRecords(std::move(bytes), options), fields_(options) {}

 private:
  absl::StatusOr<bool> TakeCells(ImportedPage* page) override {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kColumns = {
        {{"status name", "statusName"},
         {"fetch time", "fetchTime"},
         {"modified time", "modifiedTime"},
         {"retries since fetch", "retriesSinceFetch"},
         {"retry interval seconds", "retryIntervalSeconds"},
         {"score", "score"},
         {"signature", "signature"}}};
    if (Cell("url").empty()) return absl::InvalidArgumentError("url: missing");
    fields_.Start(Cell("url"));
    for (const auto& [column, name] : kColumns) {
      if (!Cell(column).empty()) fields_.Set(name, Cell(column));
    }
    // Form: key:value|||key:value|||
    for (std::string_view rest = Cell("metadata"); !rest.empty();) {
      const size_t end = std::min(rest.find("|||"), rest.size());
      const std::string_view entry = rest.substr(0, end);
      const size_t colon = std::min(entry.find(':'), entry.size());
      fields_.SetMetadata(entry.substr(0, colon), entry.substr(std::min(colon + 1, entry.size())));
      rest.remove_prefix(std::min(end + 3, rest.size()));
    }
    *page = fields_.Make();
    return true;
  }

  NutchFields fields_;
};

class NutchJson : public JsonRecords {
 public:
  NutchJson(std::unique_ptr<ByteSource> bytes, const ImportOptions& options)
      : JsonRecords(std::move(bytes), options), fields_(options) {}

 private:
  absl::StatusOr<bool> TakeObject(const nlohmann::json& object, ImportedPage* page) override {
    const std::string url = TextOf(object, "url");
    if (url.empty()) return absl::InvalidArgumentError("url: missing");
    fields_.Start(url);
    for (const NutchLabel& known : kLabels) {
      const std::string value = TextOf(object, std::string(known.name).c_str());
      if (!value.empty()) fields_.Set(known.name, value);
    }
    const auto metadata = object.find("metadata");
    if (metadata != object.end() && metadata->is_object()) {
      for (const auto& [key, value] : metadata->items()) {
        if (value.is_string()) fields_.SetMetadata(key, value.get<std::string>());
      }
    }
    *page = fields_.Make();
    return true;
  }

  NutchFields fields_;
};

}  // namespace

std::unique_ptr<RecordReader> ReadNutchText(std::unique_ptr<ByteSource> bytes,
                                            const ImportOptions& options) {
  return std::make_unique<NutchText>(std::move(bytes), options);
}

std::unique_ptr<RecordReader> ReadNutchCsv(std::unique_ptr<ByteSource> bytes,
                                           const ImportOptions& options) {
  return std::make_unique<NutchTable>(std::move(bytes), options);
}

std::unique_ptr<RecordReader> ReadNutchJson(std::unique_ptr<ByteSource> bytes,
                                            const ImportOptions& options) {
  return std::make_unique<NutchJson>(std::move(bytes), options);
}

}  // namespace freshet::cli
