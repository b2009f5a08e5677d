// Reads Freshet's own output: JSON lines with everything stored about a page, and rows of settings.
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "freshet/v1/pages.pb.h"
#include "tools/cli/item_fields.h"
#include "tools/cli/odd_numbers.h"
#include "tools/cli/parse.h"
#include "tools/cli/transfer/foreign_page.h"
#include "tools/cli/transfer/line_records.h"
#include "tools/cli/transfer/page_rows.h"

namespace freshet::cli {
namespace {

using google::protobuf::Timestamp;
using google::protobuf::util::TimeUtil;

bool Fetched(v1::CrawlOutcome outcome) {
  return outcome == v1::CRAWL_OUTCOME_CHANGED || outcome == v1::CRAWL_OUTCOME_UNCHANGED;
}

// Sets a number if it is valid for the setting. Otherwise notes that it is left out.
template <typename Set>
void TakeNumber(const char* name, double value, std::vector<std::string>* left_out, Set set) {
  if (std::isfinite(value) && value >= 0) return set(value);
  left_out->push_back(fmt::format("{}: {} is not a number of at least 0", name, value));
}

v1::PageSpec SettingsOf(const v1::Page& page, std::vector<std::string>* left_out) {
  v1::PageSpec spec;
  spec.set_url(page.url());
  spec.set_crawl_id(page.crawl_id());
  TakeNumber("importance", page.importance(), left_out,
             [&](double importance) { spec.set_importance(importance); });
  if (page.has_min_interval()) *spec.mutable_min_interval() = page.min_interval();
  if (page.has_max_interval()) *spec.mutable_max_interval() = page.max_interval();
  if (page.has_not_before()) *spec.mutable_not_before() = page.not_before();
  if (page.has_known_change_rate_per_day()) {
    TakeNumber("known_change_rate_per_day", page.known_change_rate_per_day(), left_out,
               [&](double rate) { spec.set_known_change_rate_per_day(rate); });
  }
  spec.set_complete_signals(page.complete_signals());
  return spec;
}

// Returns the sum, limited to the first and the last instant that a message can hold. A file can
// contain any numbers, and protobuf's own sums end the program on overflow.
Timestamp Later(const Timestamp& time, int64_t seconds, int64_t nanos = 0) {
  constexpr int64_t kSecond = 1'000'000'000;
  seconds += time.seconds();
  nanos += time.nanos();
  seconds += nanos / kSecond - (nanos % kSecond < 0 ? 1 : 0);
  nanos = (nanos % kSecond + kSecond) % kSecond;
  Timestamp later;
  later.set_seconds(
      std::clamp<int64_t>(seconds, TimeUtil::kTimestampMinSeconds, TimeUtil::kTimestampMaxSeconds));
  later.set_nanos(later.seconds() == seconds ? static_cast<int32_t>(nanos) : 0);
  return later;
}

// Makes results of the crawls of a page. Owner thread only.
class Crawls {
 public:
  explicit Crawls(const v1::Page& page) : page_(page) {}

  // Adds a successful crawl in the past, and whether the page had changed.
  void Add(const Timestamp& time, bool changed) {
    v1::CrawlResult& result = Append(time);
    result.set_outcome(changed ? v1::CRAWL_OUTCOME_CHANGED : v1::CRAWL_OUTCOME_UNCHANGED);
  }

  // Adds the details of the last successful crawl, and the failures after it.
  void Conclude() {
    if (page_.has_last_crawl_time()) {
      if (results_.empty()) Add(page_.last_crawl_time(), true);
      v1::CrawlResult& last = results_.back();
      // The times of observations are rounded, so the exact time is used here.
      *last.mutable_fetch_time() = page_.last_crawl_time();
      last.set_etag(page_.etag());
      last.set_content_digest(page_.content_digest());
      if (page_.has_last_modified()) *last.mutable_last_modified() = page_.last_modified();
      if (Fetched(page_.last_outcome())) {
        last.set_outcome(page_.last_outcome());
        SetStatus(last);
      }
    }
    AddFailures();
  }

  // Checks the status of the last crawl, if it has one. Notes an invalid status.
  static void CheckStatus(const v1::Page& page, std::vector<std::string>* left_out) {
    if (!page.has_http_status() || IsStatus(page.http_status())) return;
    left_out->push_back(fmt::format("http_status: {} is not 100 to 599", page.http_status()));
  }

  std::vector<v1::CrawlResult> Take() { return std::move(results_); }

 private:
  v1::CrawlResult& Append(const Timestamp& time) {
    v1::CrawlResult& result = results_.emplace_back();
    result.set_url(page_.url());
    result.set_crawl_id(page_.crawl_id());
    *result.mutable_fetch_time() = time;
    return result;
  }

  static bool IsStatus(int status) { return status >= 100 && status <= 599; }
  void SetStatus(v1::CrawlResult& result) {
    const int status = page_.http_status();
    // A result with one of these statuses would make the server block the host again.
    if (IsStatus(status) && status != 429 && status != 503) result.set_http_status(status);
  }

  // The times of the failures are unknown, but their order is known.
  void AddFailures() {
    const Timestamp& since =
        page_.has_last_crawl_time() ? page_.last_crawl_time() : page_.first_seen_time();
    const v1::CrawlOutcome outcome = page_.last_outcome();
    const bool failed = outcome == v1::CRAWL_OUTCOME_ERROR;
    uint32_t count = std::min(page_.consecutive_errors(), kMaxFailures);
    if (failed) count = std::max<uint32_t>(count, 1);
    uint32_t place = 0;
    const auto append = [&] { return &Append(Later(since, ++place * kFailureSeconds)); };
    // A failure does not change the target of a moved page. The result that set the target is sent
    // before the failures.
    if (failed && !page_.moved_to().empty()) {
      v1::CrawlResult* moved = append();
      moved->set_outcome(v1::CRAWL_OUTCOME_MOVED);
      moved->set_moved_to(page_.moved_to());
    }
    for (uint32_t i = 1; i <= count; ++i) {
      v1::CrawlResult& result = *append();
      result.set_outcome(v1::CRAWL_OUTCOME_ERROR);
      if (failed && i == count) SetStatus(result);
    }
    if (failed || Fetched(outcome) || outcome == v1::CRAWL_OUTCOME_UNSPECIFIED) return;
    v1::CrawlResult& result = *append();
    result.set_outcome(outcome);
    result.set_moved_to(page_.moved_to());
    SetStatus(result);
  }

  const v1::Page& page_;
  std::vector<v1::CrawlResult> results_;
};

// Whether the record has signals between its crawls, so that only the last crawl is sent. The API
// cannot take these signals, and without them their sources would look worse than they are.
bool HasSignals(const v1::PageRecord& record) {
  const auto& all = record.observations();
  return std::any_of(all.begin(), all.end(),
                     [](const v1::Observation& x) { return !x.signals().empty(); });
}

class FreshetJson : public LineRecords {
 public:
  using LineRecords::LineRecords;

 private:
  absl::StatusOr<bool> Take(std::string_view line, ImportedPage* page) override {
    const absl::Status read = Read(line, &page->left_out);
    if (!read.ok()) return read;
    if (record_.page().url().empty()) return absl::InvalidArgumentError("page.url: missing");
    // A page with a longer URL cannot be sent, because each of its crawls is sent with the URL.
    if (record_.page().url().size() > kMostUrlBytes) {
      return absl::InvalidArgumentError(
          fmt::format("page.url: is longer than {} bytes", kMostUrlBytes));
    }
    page->page = SettingsOf(record_.page(), &page->left_out);
    Crawls::CheckStatus(record_.page(), &page->left_out);
    page->whole = true;
    page->recheck = record_.page().recheck_pending();
    page->signals.assign(record_.page().pending_signals().begin(),
                         record_.page().pending_signals().end());
    if (IsToldOnly(record_.page())) {
      *page->page.mutable_last_crawl_time() = record_.page().last_crawl_time();
      return true;
    }
    if (const uint32_t errors = record_.page().consecutive_errors(); errors > kMaxFailures) {
      page->left_out.push_back(
          fmt::format("consecutive_errors: {} of {}", errors - kMaxFailures, errors));
    }
    Crawls crawls(record_.page());
    const bool any = !record_.observations().empty();
    page->history_left_out = any && options_.history && HasSignals(record_);
    if (any && options_.history && !page->history_left_out) {
      const int all = record_.observations_size();
      const int begin = std::max(0, all - kMostObservations);
      if (begin > 0) page->left_out.push_back(fmt::format("observations: {} of {}", begin, all));
      const v1::Observation& first = record_.observations(begin);
      // The crawl that the first observation was compared with.
      if (first.has_elapsed()) {
        crawls.Add(Later(first.fetch_time(), -first.elapsed().seconds(), -first.elapsed().nanos()),
                   true);
      }
      for (int i = begin; i < all; ++i) {
        crawls.Add(record_.observations(i).fetch_time(), record_.observations(i).changed());
      }
    }
    crawls.Conclude();
    page->results = crawls.Take();
    return true;
  }

  // Whether the only known crawl is the one whose time the page's owner gave (last_crawl_time).
  static bool IsToldOnly(const v1::Page& page) {
    return page.has_last_crawl_time() && page.crawls() == 0 &&
           page.last_outcome() == v1::CRAWL_OUTCOME_UNSPECIFIED;
  }

  // Reads the record. Leaves out only odd numbers, and unknown names and values, which can come
  // from a later release.
  absl::Status Read(std::string_view line, std::vector<std::string>* left_out) {
    const std::string fault = WhyUnread(line, false);
    if (fault.empty()) return absl::OkStatus();
    if (WhyUnread(line, true).empty()) {
      left_out->push_back(fault);
      return absl::OkStatus();
    }
    // Protobuf accepts the text "NaN" for a floating-point field. The code that uses the fields
    // skips NaN.
    if (WhyUnread(QuoteOddNumbers(line), true).empty()) return absl::OkStatus();
    std::vector<std::string> dropped;
    if (WhyUnread(DropOddNumbers(line, &dropped), true).empty()) {
      left_out->insert(left_out->end(), dropped.begin(), dropped.end());
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(fmt::format("no PageRecord: {}", fault));
  }

  // Reads the record. Returns why it cannot be read; empty = it was read.
  std::string WhyUnread(std::string_view line, bool lenient) {
    google::protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = lenient;
    record_.Clear();
    const auto parsed = google::protobuf::util::JsonStringToMessage(
        google::protobuf::StringPiece(line.data(), line.size()), &record_, options);
    return parsed.ok() ? "" : std::string(parsed.message()).substr(0, 120);
  }

  v1::PageRecord record_;
};

// Reads rows of settings, with the result of the last crawl. Owner thread only.
class FreshetRows : public RecordReader {
 public:
  FreshetRows(std::unique_ptr<ByteSource> bytes, const ImportOptions& options)
      : options_(options), rows_(ReadRows(std::move(bytes), PageRowFormat())) {}

  absl::StatusOr<bool> Next(ImportedPage* page) override {
    Row row;
    absl::StatusOr<bool> more = rows_->Next(&row);
    if (!more.ok() || !*more) return more;
    *page = {};
    page->row = row.number;
    const absl::Status status = Fill(row, page);
    if (!status.ok()) return OfRow(row.number, status);
    return true;
  }

 private:
  absl::Status Fill(const Row& row, ImportedPage* page) const {
    if (row.Find("url") == nullptr) return absl::InvalidArgumentError("url: missing");
    page->page.set_crawl_id(options_.crawl_id);
    v1::CrawlResult result;
    uint64_t errors = 0;
    for (const auto& [column, value] : row.fields) {
      absl::Status status = SetPageField(column, value, &page->page);
      if (status.ok() && column != "url" && column != "crawl_id") {
        status = SetResultField(column, value, &result);
      }
      if (status.ok() && column == "consecutive_errors") {
        status = Assign(ParseCount(value), [&](uint64_t x) { errors = x; });
      }
      Note(Named(column, status), &page->left_out);
    }
    return AddCrawl(std::move(result), errors, page);
  }

  // Adds the last crawl, unless the row has only its time.
  absl::Status AddCrawl(v1::CrawlResult result, uint64_t errors, ImportedPage* page) const {
    v1::PageSpec& spec = page->page;
    const bool told = result.ByteSizeLong() > 0;
    if (!told && errors == 0) return absl::OkStatus();
    if (!spec.has_last_crawl_time() &&
        (Fetched(result.outcome()) || !result.etag().empty() || !result.content_digest().empty())) {
      return absl::InvalidArgumentError(
          "last_crawl_time: missing, and there is a crawl to tell of");
    }
    if (errors > kMaxFailures) {
      return absl::InvalidArgumentError(
          fmt::format("consecutive_errors: more than {}", kMaxFailures));
    }
    // Converts the row back into the page of the API from which it was written.
    v1::Page known;
    known.set_url(spec.url());
    known.set_crawl_id(spec.crawl_id());
    known.set_last_outcome(result.outcome());
    if (spec.has_last_crawl_time()) *known.mutable_last_crawl_time() = spec.last_crawl_time();
    if (result.has_http_status()) known.set_http_status(result.http_status());
    if (result.has_last_modified()) *known.mutable_last_modified() = result.last_modified();
    known.set_etag(result.etag());
    known.set_content_digest(result.content_digest());
    known.set_moved_to(result.moved_to());
    known.set_consecutive_errors(static_cast<uint32_t>(errors));
    // If the row does not tell when the failures occurred, they are placed after this time.
    known.mutable_first_seen_time()->set_seconds(absl::ToUnixSeconds(options_.now) - 300);
    if (result.outcome() == v1::CRAWL_OUTCOME_UNSPECIFIED) {
      known.set_last_outcome(v1::CRAWL_OUTCOME_CHANGED);
    }
    Crawls crawls(known);
    crawls.Conclude();
    page->results = crawls.Take();
    spec.clear_last_crawl_time();
    return absl::OkStatus();
  }

  const ImportOptions& options_;
  std::unique_ptr<RowSource> rows_;
};

}  // namespace

std::unique_ptr<RecordReader> ReadFreshetJson(std::unique_ptr<ByteSource> bytes,
                                              const ImportOptions& options) {
  return std::make_unique<FreshetJson>(std::move(bytes), options);
}

std::unique_ptr<RecordReader> ReadFreshetRows(std::unique_ptr<ByteSource> bytes,
                                              const ImportOptions& options) {
  return std::make_unique<FreshetRows>(std::move(bytes), options);
}

}  // namespace freshet::cli
