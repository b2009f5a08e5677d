#include "tools/cli/transfer/page_rows.h"

#include <google/protobuf/util/time_util.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace freshet::cli {
namespace {

using google::protobuf::util::TimeUtil;

std::string TimeCell(const google::protobuf::Timestamp& time, bool present) {
  return present ? TimeUtil::ToString(time) : "";
}

std::string SpanCell(const google::protobuf::Duration& span, bool present) {
  return present ? TimeUtil::ToString(span) : "";
}

std::string OutcomeCell(v1::CrawlOutcome outcome) {
  if (outcome == v1::CRAWL_OUTCOME_UNSPECIFIED) return "";
  constexpr size_t kPrefix = sizeof("CRAWL_OUTCOME_") - 1;
  return absl::AsciiStrToLower(v1::CrawlOutcome_Name(outcome).substr(kPrefix));
}

}  // namespace

const RowFormat& PageRowFormat() {
  static const RowFormat kFormat = {
      {"url", "crawl_id", "importance", "min_interval", "max_interval", "not_before",
       "known_change_rate_per_day", "complete_signals", "last_crawl_time", "outcome", "http_status",
       "etag", "last_modified", "content_digest", "moved_to", "consecutive_errors"},
      {{"change_rate", "known_change_rate_per_day"},
       {"complete", "complete_signals"},
       {"last_outcome", "outcome"},
       {"fetch_time", "last_crawl_time"},
       {"digest", "content_digest"}},
      {"url", "importance"}};
  return kFormat;
}

std::string PageRowHeader() { return fmt::format("{}", fmt::join(PageRowFormat().columns, "\t")); }

std::string PageRow(const v1::Page& page) {
  const auto number = [](double value) { return fmt::format("{}", value); };
  const std::string cells[] = {
      page.url(),
      page.crawl_id(),
      number(page.importance()),
      SpanCell(page.min_interval(), page.has_min_interval()),
      SpanCell(page.max_interval(), page.has_max_interval()),
      TimeCell(page.not_before(), page.has_not_before()),
      page.has_known_change_rate_per_day() ? number(page.known_change_rate_per_day()) : "",
      page.complete_signals() ? "true" : "",
      TimeCell(page.last_crawl_time(), page.has_last_crawl_time()),
      OutcomeCell(page.last_outcome()),
      page.has_http_status() ? fmt::format("{}", page.http_status()) : "",
      page.etag(),
      TimeCell(page.last_modified(), page.has_last_modified()),
      absl::Base64Escape(page.content_digest()),
      page.moved_to(),
      page.consecutive_errors() > 0 ? fmt::format("{}", page.consecutive_errors()) : ""};
  return fmt::format("{}", fmt::join(cells, "\t"));
}

}  // namespace freshet::cli
