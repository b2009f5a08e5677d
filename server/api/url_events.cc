#include "server/api/url_events.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "server/api/from_proto.h"
#include "server/api/to_proto.h"
#include "server/base/limits.h"

namespace freshet {
namespace {

void SetPage(const PageKey& key, v1::UrlPage* out) {
  out->set_crawl_id(key.crawl_id);
  out->set_url(key.url);
}

// Writes each kind of event.
struct Writer {
  v1::UrlEvent* out;

  void operator()(const UpsertPage& upsert) const { SetPage(upsert.key, out->mutable_upserted()); }
  void operator()(const RemovePage& remove) const { SetPage(remove.key, out->mutable_removed()); }
  void operator()(const ReportCrawl& report) const {
    v1::UrlFetch* const fetch = out->mutable_fetched();
    SetPage(*report.key, fetch->mutable_page());
    fetch->set_http_status(report.http_status);
    fetch->set_content_digest(report.digest);
    if (report.reporter != nullptr) fetch->set_reporter(*report.reporter);
  }
  void operator()(const ReturnLease& returned) const {
    out->set_returned_lease_id(returned.lease.value());
  }
  void operator()(const BlockHost& block) const {
    v1::UrlHostBlock* const blocked = out->mutable_blocked();
    blocked->set_host(block.host);
    blocked->set_crawl_id(block.crawl_id);
    blocked->set_asked(block.asked);
    ToProto(block.until, blocked->mutable_until());
  }
  template <typename Other>
  void operator()(const Other& /*event*/) const {
    CHECK(false, "nothing of the crawl-frontier API");
  }
};

StatusOr<RoutedEvent> FetchFromProto(const v1::UrlFetch& fetch, Instant now) {
  ASSIGN_OR_RETURN(HostedKey page, ConvertKey(fetch.page().url(), fetch.page().crawl_id()));
  const auto status = static_cast<int>(std::min<uint32_t>(fetch.http_status(), 1000));
  Reporter reporter =
      fetch.reporter().empty() ? nullptr : std::make_shared<const std::string>(fetch.reporter());
  return RoutedEvent{.slot = SlotOfHost(page.host),
                     .event = ReportOfFetch(std::move(page.key), status, fetch.content_digest(),
                                            now, std::move(reporter)),
                     .notes = {}};
}

StatusOr<RoutedEvent> UpsertFromProto(const v1::UrlPage& upserted) {
  ASSIGN_OR_RETURN(HostedKey page, ConvertKey(upserted.url(), upserted.crawl_id()));
  const Slot slot = SlotOfHost(page.host);
  return RoutedEvent{.slot = slot,
                     .event = UpsertPage{.key = std::move(page.key), .host = std::move(page.host)},
                     .notes = {}};
}

StatusOr<RoutedEvent> BlockFromProto(const v1::UrlHostBlock& blocked, Instant now) {
  BlockHost event = {.host = {}, .crawl_id = blocked.crawl_id(), .asked = blocked.asked()};
  if (event.crawl_id.empty()) return InvalidArgument("crawl_id: is empty");
  ASSIGN_OR_RETURN(event.host, ConvertHost(blocked.host()));
  ASSIGN_OR_RETURN(const Instant until, FromProto(blocked.until()));
  event.until = std::min(until, now + Duration::Seconds(limits::kMaxBlockSeconds));
  const Slot slot = SlotOfHost(event.host);
  return RoutedEvent{.slot = slot, .event = std::move(event), .notes = {}};
}

}  // namespace

ReportCrawl ReportOfFetch(PageKey key, int status, std::string digest, Instant now,
                          Reporter reporter) {
  ReportCrawl report;
  report.reporter = std::move(reporter);
  report.key = std::move(key);
  report.fetched = now;
  if (status < 100 || status > 999) status = 0;
  report.http_status = static_cast<uint16_t>(status);
  report.outcome = CrawlOutcome::kUnchanged;
  if (status == 404 || status == 410) {
    report.outcome = CrawlOutcome::kGone;
  } else if (status >= 400) {
    report.outcome = CrawlOutcome::kError;
  } else if (status != 304) {
    report.digest = std::move(digest);
    report.digest.resize(std::min(report.digest.size(), limits::kMaxValidatorBytes));
    report.looked = false;
  }
  return report;
}

void ToProto(const Event& event, v1::UrlEvent* out) { std::visit(Writer{out}, event); }

StatusOr<RoutedEvent> FromProto(const v1::UrlEvent& event, Instant now) {
  switch (event.event_case()) {
    case v1::UrlEvent::kUpserted:
      return UpsertFromProto(event.upserted());
    case v1::UrlEvent::kRemoved:
      return ConvertRemove(event.removed().url(), event.removed().crawl_id());
    case v1::UrlEvent::kFetched:
      return FetchFromProto(event.fetched(), now);
    case v1::UrlEvent::kReturnedLeaseId:
      return ConvertReturn(event.returned_lease_id());
    case v1::UrlEvent::kBlocked:
      return BlockFromProto(event.blocked(), now);
    default:
      return InvalidArgument(
          "events: an event is empty, or of a kind that this release does not know");
  }
}

}  // namespace freshet
