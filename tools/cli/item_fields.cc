#include "tools/cli/item_fields.h"

#include <algorithm>
#include <cstdint>

#include "tools/cli/parse.h"

namespace freshet::cli {

const RowFormat& PageFormat() {
  static const RowFormat kFormat = {
      {"url", "crawl_id", "importance", "min_interval", "max_interval", "not_before",
       "known_change_rate_per_day", "complete_signals", "last_crawl_time"},
      {{"change_rate", "known_change_rate_per_day"}, {"complete", "complete_signals"}},
      {"url", "importance"}};
  return kFormat;
}

absl::Status SetPageField(std::string_view column, const std::string& value, v1::PageSpec* page) {
  if (column == "url") {
    page->set_url(value);
  } else if (column == "crawl_id") {
    page->set_crawl_id(value);
  } else if (column == "importance") {
    return Assign(ParseNonNegative(value), [page](double x) { page->set_importance(x); });
  } else if (column == "min_interval") {
    return Assign(ParseDuration(value), [page](auto& x) { *page->mutable_min_interval() = x; });
  } else if (column == "max_interval") {
    return Assign(ParseDuration(value), [page](auto& x) { *page->mutable_max_interval() = x; });
  } else if (column == "not_before") {
    return Assign(ParseTime(value), [page](auto& x) { *page->mutable_not_before() = x; });
  } else if (column == "known_change_rate_per_day") {
    return Assign(ParseNonNegative(value),
                  [page](double x) { page->set_known_change_rate_per_day(x); });
  } else if (column == "complete_signals") {
    return Assign(ParseBool(value), [page](bool x) { page->set_complete_signals(x); });
  } else if (column == "last_crawl_time") {
    return Assign(ParseTime(value), [page](auto& x) { *page->mutable_last_crawl_time() = x; });
  }
  return absl::OkStatus();
}

const RowFormat& ResultFormat() {
  static const RowFormat kFormat = {
      {"url", "crawl_id", "lease_id", "fetch_time", "outcome", "content_digest", "http_status",
       "retry_after", "last_modified", "etag", "moved_to", "crawl_delay", "server_address"},
      {{"time", "fetch_time"}, {"digest", "content_digest"}, {"lease", "lease_id"}},
      {"url", "outcome", "fetch_time"}};
  return kFormat;
}

namespace {

absl::Status SetResultText(std::string_view column, const std::string& value,
                           v1::CrawlResult* result) {
  if (column == "url") {
    // A number in place of a URL is a lease id.
    const absl::StatusOr<uint64_t> lease = ParseCount(value);
    if (!lease.ok()) result->set_url(value);
    if (lease.ok()) result->set_lease_id(*lease);
  } else if (column == "crawl_id") {
    result->set_crawl_id(value);
  } else if (column == "etag") {
    result->set_etag(value);
  } else if (column == "moved_to") {
    result->set_moved_to(value);
  } else if (column == "server_address") {
    result->set_server_address(value);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SetResultField(std::string_view column, const std::string& value,
                            v1::CrawlResult* result) {
  if (column == "lease_id") {
    return Assign(ParseCount(value), [result](uint64_t x) { result->set_lease_id(x); });
  } else if (column == "fetch_time") {
    return Assign(ParseTime(value), [result](auto& x) { *result->mutable_fetch_time() = x; });
  } else if (column == "outcome") {
    return Assign(ParseOutcome(value), [result](auto x) { result->set_outcome(x); });
  } else if (column == "content_digest") {
    return Assign(ParseBytes(value), [result](auto& x) { result->set_content_digest(x); });
  } else if (column == "http_status") {
    return Assign(ParseCount(value), [result](uint64_t x) {
      result->set_http_status(static_cast<int32_t>(std::min<uint64_t>(x, INT32_MAX)));
    });
  } else if (column == "retry_after") {
    return Assign(ParseDuration(value), [result](auto& x) { *result->mutable_retry_after() = x; });
  } else if (column == "crawl_delay") {
    return Assign(ParseDuration(value), [result](auto& x) { *result->mutable_crawl_delay() = x; });
  } else if (column == "last_modified") {
    return Assign(ParseTime(value), [result](auto& x) { *result->mutable_last_modified() = x; });
  }
  return SetResultText(column, value, result);
}

}  // namespace freshet::cli
