// Reads pages of StormCrawler or of crawl frontiers, which share its metadata.
#include <google/protobuf/util/json_util.h>

#include <array>
#include <map>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "tools/cli/item_fields.h"
#include "tools/cli/odd_numbers.h"
#include "tools/cli/transfer/foreign_page.h"
#include "tools/cli/transfer/line_records.h"
#include "urlfrontier/urlfrontier.pb.h"

namespace freshet::cli {
namespace {

using Status = ForeignPage::Status;

// Dates from this year on mean "never".
constexpr int64_t kNeverYear = 2099;

// Makes the status more precise by the HTTP code and other signs of a fetch in the metadata.
void Refine(ForeignPage* page) {
  const Status by_code = StatusOfHttp(page->http_status);
  if (page->status == Status::kUnknown && by_code != Status::kUnknown) page->status = by_code;
  // The HTTP code distinguishes permanent failures and redirects.
  if (page->status == Status::kFailed && by_code == Status::kGone) page->status = Status::kGone;
  if (page->status == Status::kMoved && by_code == Status::kFetched) page->status = by_code;
  const bool looked = page->last_fetch || !page->signature.empty();
  if (page->status == Status::kUnknown && looked) page->status = Status::kFetched;
}

absl::Status SetStormStatus(std::string_view name, ForeignPage* page) {
  static constexpr std::array<std::pair<std::string_view, Status>, 5> kStatuses = {
      {{"DISCOVERED", Status::kUnfetched},
       {"FETCHED", Status::kFetched},
       {"REDIRECTION", Status::kMoved},
       {"FETCH_ERROR", Status::kFailed},
       {"ERROR", Status::kFailed}}};
  for (const auto& [known, status] : kStatuses) {
    if (known == name) {
      page->status = status;
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      fmt::format("status: '{}' is not a status of StormCrawler", name));
}

absl::Status SetNextFetch(std::string_view text, const absl::TimeZone* zone, ForeignPage* page) {
  if (text.empty() || text == "null" || text == "NULL" || text == "\\N") {
    page->completed = page->status != Status::kUnfetched;
    return absl::OkStatus();
  }
  const absl::StatusOr<absl::Time> time = ParseAnyTime(text, zone);
  if (!time.ok()) return Named("nextFetchDate", time.status());
  page->completed = absl::ToCivilYear(*time, absl::UTCTimeZone()).year() >= kNeverYear;
  page->next_fetch = *time;
  return absl::OkStatus();
}

// Returns false if the page is to be left out.
bool Finish(const ImportOptions& options, ForeignPage* page, ImportedPage* imported) {
  Refine(page);
  if (page->completed && options.skip_completed) return false;
  *imported = FromForeign(*page, options);
  return true;
}

// Field names in the index cannot have dots, so the index escapes the dots in keys.
std::string Unescaped(std::string_view key) {
  std::string text(key);
  for (size_t i = text.find("%2E"); i != std::string::npos; i = text.find("%2E", i)) {
    text.replace(i, 3, ".");
  }
  return text;
}

// Reads an entry of metadata, or notes that it is left out.
void NoteMetadata(std::string_view key, std::string_view value, ForeignPage* page) {
  Note(Named("metadata", TakeMetadata(key, value, page)), &page->left_out);
}

// Reads an object whose values are texts or lists of texts.
void TakeMetadataObject(const nlohmann::json& metadata, ForeignPage* page) {
  for (const auto& [key, value] : metadata.items()) {
    const nlohmann::json& first = value.is_array() && !value.empty() ? value.front() : value;
    if (!first.is_string()) continue;
    NoteMetadata(Unescaped(key), first.get<std::string>(), page);
  }
}

// Reads documents of the status index. A line can have all hits of a search; they are returned one
// by one. Owner thread only.
class StormJson : public RecordReader {
 public:
  StormJson(std::unique_ptr<ByteSource> bytes, const ImportOptions& options)
      : options_(options), lines_(std::move(bytes), kMaxRecordBytes) {}

  absl::StatusOr<bool> Next(ImportedPage* page) override {
    while (true) {
      if (next_ == documents_.size()) {
        const absl::StatusOr<bool> more = ReadDocuments();
        if (!more.ok() || !*more) return more;
        continue;
      }
      const absl::StatusOr<bool> taken = TakeDocument(documents_[next_++], page);
      if (!taken.ok()) return OfRow(lines_.line_number(), taken.status());
      if (!*taken) continue;
      page->row = lines_.line_number();
      return true;
    }
  }

 private:
  absl::StatusOr<bool> ReadDocuments() {
    documents_ = nlohmann::json::array();
    next_ = 0;
    const absl::StatusOr<bool> more = lines_.Next(&line_);
    if (!more.ok() || !*more || Trimmed(line_).empty()) return more;
    nlohmann::json object = ParseObject(line_);
    if (!object.is_object()) {
      return OfRow(lines_.line_number(), absl::InvalidArgumentError("not an object of JSON"));
    }
    const auto hits = object.find("hits");
    if (hits == object.end() || !hits->is_object()) {
      documents_.push_back(std::move(object));
    } else if (hits->contains("hits") && (*hits)["hits"].is_array()) {
      documents_ = std::move((*hits)["hits"]);
    }
    return true;
  }

  absl::StatusOr<bool> TakeDocument(const nlohmann::json& document, ImportedPage* page) const {
    const auto source = document.find("_source");
    const nlohmann::json& object = source == document.end() ? document : *source;
    if (!object.is_object()) return absl::InvalidArgumentError("_source: not an object");
    ForeignPage foreign;
    foreign.crawl_id = options_.crawl_id;
    foreign.url = TextOf(object, "url");
    if (foreign.url.empty()) return absl::InvalidArgumentError("url: missing");
    Note(SetStormStatus(TextOf(object, "status"), &foreign), &foreign.left_out);
    Note(SetNextFetch(TextOf(object, "nextFetchDate"), nullptr, &foreign), &foreign.left_out);
    const auto metadata = object.find("metadata");
    if (metadata != object.end() && metadata->is_object()) TakeMetadataObject(*metadata, &foreign);
    return Finish(options_, &foreign, page);
  }

  const ImportOptions& options_;
  LineSource lines_;
  std::string line_;
  nlohmann::json documents_ = nlohmann::json::array();
  size_t next_ = 0;
};

class StormTable : public TableRecords {
 public:
  using TableRecords::TableRecords;

 private:
  absl::StatusOr<bool> TakeCells(ImportedPage* page) override {
    ForeignPage foreign;
    foreign.crawl_id = options_.crawl_id;
    foreign.url = Cell("url");
    if (foreign.url.empty()) return absl::InvalidArgumentError("url: missing");
    Note(SetStormStatus(Cell("status"), &foreign), &foreign.left_out);
    Note(SetNextFetch(Cell("nextfetchdate"), options_.zone, &foreign), &foreign.left_out);
    // Each key=value follows a tab, which a client of the database can have escaped.
    std::string metadata(Cell("metadata"));
    for (size_t i = 0; (i = metadata.find("\\t", i)) != std::string::npos;) {
      metadata.replace(i, 2, "\t");
    }
    for (const std::string_view entry : SplitAt(metadata, "\t", true)) {
      const size_t equals = entry.find('=');
      if (equals == std::string_view::npos) continue;
      NoteMetadata(entry.substr(0, equals), entry.substr(equals + 1), &foreign);
    }
    return Finish(options_, &foreign, page);
  }
};

class FrontierJson : public LineRecords {
 public:
  using LineRecords::LineRecords;

 private:
  absl::StatusOr<bool> Take(std::string_view line, ImportedPage* page) override {
    urlfrontier::URLItem item;
    google::protobuf::util::JsonParseOptions lenient;
    lenient.ignore_unknown_fields = true;  // from later versions of the API
    const auto read = [&](std::string_view text) {
      return google::protobuf::util::JsonStringToMessage(
          google::protobuf::StringPiece(text.data(), text.size()), &item, lenient);
    };
    ForeignPage foreign;
    const auto parsed = read(line);
    if (!parsed.ok() && !read(DropOddNumbers(line, &foreign.left_out)).ok()) {
      return absl::InvalidArgumentError(
          fmt::format("no URLItem: {}", std::string(parsed.message()).substr(0, 120)));
    }
    const bool known = item.has_known();
    const urlfrontier::URLInfo& info = known ? item.known().info() : item.discovered().info();
    foreign.url = info.url();
    foreign.crawl_id = info.crawlid().empty() ? options_.crawl_id : info.crawlid();
    foreign.status = known ? Status::kUnknown : Status::kUnfetched;
    if (foreign.url.empty()) return absl::InvalidArgumentError("url: missing");
    // The map is sorted, so if a key has several spellings, the last one is used: the one in lower
    // case.
    const std::map<std::string, urlfrontier::StringList> metadata(info.metadata().begin(),
                                                                  info.metadata().end());
    for (const auto& [key, values] : metadata) {
      if (!values.values().empty()) NoteMetadata(key, values.values(0), &foreign);
    }
    if (known && item.known().refetchable_from_date() == 0) {
      foreign.completed = true;
    } else if (known) {
      constexpr uint64_t kYear10000 = 253'402'300'800;
      foreign.next_fetch = absl::FromUnixSeconds(
          static_cast<int64_t>(std::min(item.known().refetchable_from_date(), kYear10000 - 1)));
    }
    return Finish(options_, &foreign, page);
  }
};

}  // namespace

std::unique_ptr<RecordReader> ReadFrontierJson(std::unique_ptr<ByteSource> bytes,
                                               const ImportOptions& options) {
  return std::make_unique<FrontierJson>(std::move(bytes), options);
}

std::unique_ptr<RecordReader> ReadStormJson(std::unique_ptr<ByteSource> bytes,
                                            const ImportOptions& options) {
  return std::make_unique<StormJson>(std::move(bytes), options);
}

std::unique_ptr<RecordReader> ReadStormTable(std::unique_ptr<ByteSource> bytes,
                                             const ImportOptions& options) {
  return std::make_unique<StormTable>(std::move(bytes), options);
}

}  // namespace freshet::cli
