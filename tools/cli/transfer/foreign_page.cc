#include "tools/cli/transfer/foreign_page.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "fmt/format.h"
#include "tools/cli/cells.h"
#include "tools/cli/item_fields.h"
#include "tools/cli/parse.h"

namespace freshet::cli {
namespace {

using Status = ForeignPage::Status;

absl::string_view AbslView(std::string_view text) { return {text.data(), text.size()}; }

google::protobuf::Timestamp ToProto(absl::Time time) {
  const int64_t micros = absl::ToUnixMicros(time);
  int64_t seconds = micros / 1'000'000;
  if (micros % 1'000'000 < 0) --seconds;
  google::protobuf::Timestamp result;
  result.set_seconds(seconds);
  result.set_nanos(static_cast<int32_t>(micros - seconds * 1'000'000) * 1000);
  return result;
}

google::protobuf::Duration ToProto(absl::Duration duration) {
  const int64_t micros = absl::ToInt64Microseconds(duration);
  google::protobuf::Duration result;
  result.set_seconds(micros / 1'000'000);
  result.set_nanos(static_cast<int32_t>(micros % 1'000'000) * 1000);
  return result;
}

// Digests are compared byte by byte, so they match only if they come from the same function, in the
// same format.
std::string DigestOf(const std::string& signature) {
  const bool hex = signature.size() % 2 == 0 &&
                   signature.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  return hex ? absl::HexStringToBytes(signature) : signature;
}

std::optional<absl::Time> LastFetch(const ForeignPage& page, absl::Time now) {
  if (page.last_fetch && *page.last_fetch <= now) return page.last_fetch;
  if (page.status != Status::kFetched && page.status != Status::kMoved &&
      page.status != Status::kGone) {
    return std::nullopt;
  }
  if (!page.next_fetch || !page.interval || *page.interval <= absl::ZeroDuration()) {
    return std::nullopt;
  }
  const absl::Time last = *page.next_fetch - *page.interval;
  if (last > now) return std::nullopt;
  return last;
}

v1::CrawlResult ResultOf(const ForeignPage& page, v1::CrawlOutcome outcome) {
  v1::CrawlResult result;
  result.set_url(page.url);
  result.set_crawl_id(page.crawl_id);
  result.set_outcome(outcome);
  // A result with one of these statuses would make the server block the host again.
  const bool throttled = page.http_status == 429 || page.http_status == 503;
  if (page.http_status >= 100 && page.http_status <= 599 && !throttled) {
    result.set_http_status(page.http_status);
  }
  return result;
}

void AddFetched(const ForeignPage& page, absl::Time last, ImportedPage* imported) {
  v1::CrawlResult result = ResultOf(page, v1::CRAWL_OUTCOME_CHANGED);  // the best guess
  *result.mutable_fetch_time() = ToProto(last);
  result.set_content_digest(DigestOf(page.signature));
  result.set_etag(page.etag);
  if (page.last_modified) *result.mutable_last_modified() = ToProto(*page.last_modified);
  imported->results.push_back(std::move(result));
}

void AddFailures(const ForeignPage& page, std::optional<absl::Time> last, absl::Time now,
                 ImportedPage* imported) {
  const uint64_t failures = std::clamp<uint64_t>(page.failures, 1, kMaxFailures);
  const absl::Duration step = absl::Seconds(kFailureSeconds);
  const absl::Time first = last.value_or(now) - step * static_cast<int64_t>(failures);
  for (uint64_t i = 0; i < failures; ++i) {
    v1::CrawlResult result = ResultOf(page, v1::CRAWL_OUTCOME_ERROR);
    *result.mutable_fetch_time() = ToProto(first + step * static_cast<int64_t>(i));
    imported->results.push_back(std::move(result));
  }
}

void AddResults(const ForeignPage& page, std::optional<absl::Time> last, absl::Time now,
                ImportedPage* imported) {
  switch (page.status) {
    case Status::kFetched:
      if (last) AddFetched(page, *last, imported);
      break;
    case Status::kGone:
    case Status::kMoved: {
      const bool gone = page.status == Status::kGone;
      v1::CrawlResult result =
          ResultOf(page, gone ? v1::CRAWL_OUTCOME_GONE : v1::CRAWL_OUTCOME_MOVED);
      if (!gone) result.set_moved_to(page.moved_to);
      *result.mutable_fetch_time() = ToProto(last.value_or(now));
      imported->results.push_back(std::move(result));
      break;
    }
    case Status::kFailed:
      AddFailures(page, last, now, imported);
      break;
    case Status::kUnknown:
    case Status::kUnfetched:
      if (page.failures > 0) AddFailures(page, last, now, imported);
      break;
  }
}

}  // namespace

void Note(const absl::Status& taken, std::vector<std::string>* left_out) {
  if (taken.ok() || left_out->size() > kMostNotes) return;
  if (left_out->size() == kMostNotes) {
    left_out->emplace_back("further faults of the page are not listed");
  } else {
    left_out->emplace_back(taken.message().data(), taken.message().size());
  }
}

ImportedPage FromForeign(const ForeignPage& page, const ImportOptions& options) {
  ImportedPage imported;
  imported.left_out = page.left_out;
  imported.page.set_url(page.url);
  imported.page.set_crawl_id(page.crawl_id);
  if (page.score && std::isfinite(*page.score) && *page.score > 0) {
    imported.page.set_importance(*page.score);
  }
  const std::optional<absl::Time> last = LastFetch(page, options.now);
  AddResults(page, last, options.now, &imported);
  if (page.status == Status::kUnknown && last) {
    *imported.page.mutable_last_crawl_time() = ToProto(*last);
  }
  const bool unknown_last =
      !last && (page.status == Status::kFetched || page.status == Status::kUnknown);
  imported.undated = unknown_last;
  if (page.next_fetch && !page.completed && *page.next_fetch > options.now &&
      (options.keep_dates || unknown_last)) {
    *imported.page.mutable_not_before() = ToProto(*page.next_fetch);
  }
  if (options.keep_intervals && page.interval && *page.interval > absl::ZeroDuration()) {
    *imported.page.mutable_max_interval() = ToProto(*page.interval);
  }
  return imported;
}

ForeignPage::Status StatusOfHttp(int code) {
  if (code == 404 || code == 410) return Status::kGone;
  if (code == 301 || code == 308) return Status::kMoved;
  if (code >= 200 && code < 400) return Status::kFetched;  // 304 and temporary redirects among them
  return code >= 400 && code < 600 ? Status::kFailed : Status::kUnknown;
}

absl::Status TakeMetadata(std::string_view key, std::string_view value, ForeignPage* page) {
  constexpr std::string_view kOfProtocol = "protocol.";
  if (absl::StartsWithIgnoreCase(AbslView(key), AbslView(kOfProtocol))) {
    key.remove_prefix(kOfProtocol.size());
  }
  const auto is = [key](std::string_view name) {
    return absl::EqualsIgnoreCase(AbslView(key), AbslView(name));
  };
  const auto take_time = [&](std::optional<absl::Time>* time) {
    return Named(key, Assign(ParseAnyTime(value), [time](absl::Time x) { *time = x; }));
  };
  if (is("lastProcessedDate")) return take_time(&page->last_fetch);
  if (is("last-modified")) return take_time(&page->last_modified);
  if (is("signature")) page->signature = value;
  if (is("etag")) page->etag = value;
  if (is("_redirTo")) page->moved_to = value;
  if (is("fetchInterval")) {
    return Named(key, Assign(ParseNonNegative(value),
                             [page](double minutes) { page->interval = absl::Minutes(minutes); }));
  }
  if (is("fetch.statusCode")) {
    return Named(key, Assign(ParseCount(value), [page](uint64_t code) {
                   page->http_status = static_cast<int>(std::min<uint64_t>(code, 999));
                 }));
  }
  if (is("fetch.error.count")) {
    return Named(key, Assign(ParseCount(value), [page](uint64_t x) { page->failures = x; }));
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::Time> ParseAnyTime(std::string_view text, const absl::TimeZone* zone) {
  absl::Time time;
  std::string error;
  if (absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", AbslView(text), &time, &error)) return time;
  if (zone != nullptr &&
      absl::ParseTime("%Y-%m-%d %H:%M:%E*S", AbslView(text), *zone, &time, &error)) {
    return time;
  }
  const absl::StatusOr<google::protobuf::Timestamp> parsed = ParseTime(text);
  if (!parsed.ok()) return parsed.status();
  return absl::FromUnixSeconds(parsed->seconds()) + absl::Nanoseconds(parsed->nanos());
}

absl::StatusOr<absl::Time> ParseJavaDate(std::string_view text, const absl::TimeZone* zone) {
  const std::vector<std::string_view> parts = SplitAt(text, " ", true);
  const auto bad = [text](std::string_view why) {
    return absl::InvalidArgumentError(fmt::format("'{}' {}", text.substr(0, 60), why));
  };
  if (parts.size() != 6) return bad("is not a date as Java prints it");
  const std::string_view name = parts[4];
  const bool utc = name == "UTC" || name == "GMT" || name == "Z";
  const bool offset = !utc && name.starts_with("GMT");
  if (!utc && !offset && zone == nullptr) {
    return bad("is of a zone with an ambiguous name: --time-zone says which, such as Europe/Paris");
  }
  const std::string civil = fmt::format("{} {} {} {}{}", parts[1], parts[2], parts[3], parts[5],
                                        offset ? name.substr(3) : "");
  absl::Time time;
  std::string error;
  const char* form = offset ? "%b %d %H:%M:%S %Y%Ez" : "%b %d %H:%M:%S %Y";
  const absl::TimeZone in = utc || offset ? absl::UTCTimeZone() : *zone;
  if (!absl::ParseTime(form, civil, in, &time, &error))
    return bad("is not a date as Java prints it");
  return time;
}

}  // namespace freshet::cli
