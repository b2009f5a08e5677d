// Tests events of URLs of the crawl-frontier API that servers of a fleet send each other.
#include "server/api/url_events.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "core/base/limits.h"
#include "core/base/url.h"
#include "core/schedule/leases.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/limits.h"

namespace freshet {
namespace {

using ::testing::Pointee;

const Instant kToday = Instant::FromUnixSeconds(1'700'000'000);
const PageKey kUrlPage = {.crawl_id = "shop", .url = "https://a.test/x"};

RoutedEvent Told(const Event& event) {
  v1::UrlEvent message;
  ToProto(event, &message);
  StatusOr<RoutedEvent> taken = FromProto(message, kToday);
  EXPECT_TRUE(taken.ok()) << taken.status();
  return taken.ok() ? *std::move(taken) : RoutedEvent();
}

TEST(UrlEventsTest, ArriveAsTheyWere) {
  const RoutedEvent upserted = Told(UpsertPage{.key = kUrlPage, .host = "a.test"});
  EXPECT_EQ(upserted.slot, SlotOfHost("a.test"));
  EXPECT_EQ(std::get<UpsertPage>(upserted.event).key, kUrlPage);
  EXPECT_EQ(std::get<UpsertPage>(upserted.event).host, "a.test");
  const RoutedEvent removed = Told(RemovePage{.key = kUrlPage, .as_sent = std::nullopt});
  EXPECT_EQ(removed.slot, SlotOfHost("a.test"));
  EXPECT_EQ(std::get<RemovePage>(removed.event).key, kUrlPage);
  const LeaseId lease(77);
  const RoutedEvent returned = Told(ReturnLease{lease});
  EXPECT_EQ(returned.slot, SlotOfLease(lease));
  EXPECT_EQ(std::get<ReturnLease>(returned.event).lease, lease);
}

TEST(UrlEventsTest, AFetchIsToldByItsStatusAndDigest) {
  const std::string bytes("\0\xff", 2);
  for (const int status : {0, 200, 304, 404, 503}) {
    const ReportCrawl before = ReportOfFetch(kUrlPage, status, bytes, kToday, nullptr);
    const RoutedEvent told = Told(before);
    EXPECT_EQ(told.slot, SlotOfHost("a.test"));
    const auto& report = std::get<ReportCrawl>(told.event);
    EXPECT_EQ(report.key, kUrlPage);
    EXPECT_EQ(report.http_status, status);
    EXPECT_EQ(report.outcome, before.outcome) << status;
    EXPECT_EQ(report.digest, before.digest) << status;
    EXPECT_EQ(report.looked, before.looked) << status;
    EXPECT_EQ(report.fetched, kToday);
    EXPECT_EQ(report.reporter, nullptr);
  }
  const auto fleet = std::make_shared<const std::string>("fleet");
  const RoutedEvent told = Told(ReportOfFetch(kUrlPage, 200, bytes, kToday, fleet));
  EXPECT_THAT(std::get<ReportCrawl>(told.event).reporter, Pointee(*fleet));
  EXPECT_EQ(ReportOfFetch(kUrlPage, 410, "", kToday, nullptr).outcome, CrawlOutcome::kGone);
  EXPECT_EQ(ReportOfFetch(kUrlPage, 99, "", kToday, nullptr).http_status, 0);
  EXPECT_EQ(ReportOfFetch(kUrlPage, 200, std::string(1000, 'x'), kToday, nullptr).digest.size(),
            limits::kMaxValidatorBytes);
}

TEST(UrlEventsTest, AHostIsBlockedForNoLongerThanAnyMayBe) {
  BlockHost block = {.host = "a.test", .crawl_id = "shop", .asked = true};
  block.until = kToday + Duration::Seconds(60);
  const RoutedEvent told = Told(block);
  EXPECT_EQ(told.slot, SlotOfHost("a.test"));
  EXPECT_EQ(std::get<BlockHost>(told.event).until, block.until);
  EXPECT_EQ(std::get<BlockHost>(told.event).crawl_id, "shop");
  EXPECT_TRUE(std::get<BlockHost>(told.event).asked);
  block.until = kToday + Duration::Seconds(2 * limits::kMaxBlockSeconds);
  EXPECT_EQ(std::get<BlockHost>(Told(block).event).until,
            kToday + Duration::Seconds(limits::kMaxBlockSeconds));
}

TEST(UrlEventsTest, RefusesWhatIsNone) {
  v1::UrlEvent message;
  EXPECT_FALSE(FromProto(message, kToday).ok());
  message.mutable_upserted()->set_url("ftp://a.test/");
  EXPECT_FALSE(FromProto(message, kToday).ok());
  message.mutable_removed()->set_url("");
  EXPECT_FALSE(FromProto(message, kToday).ok());
  message.mutable_fetched()->mutable_page()->set_url("https://a.test/");
  message.mutable_fetched()->mutable_page()->set_crawl_id(std::string(1000, 'c'));
  EXPECT_FALSE(FromProto(message, kToday).ok());
  message.set_returned_lease_id(0);
  EXPECT_FALSE(FromProto(message, kToday).ok());
  // Releases that blocked hosts without a crawl id sent messages of this form.
  message.mutable_blocked()->set_host("a.test");
  EXPECT_FALSE(FromProto(message, kToday).ok());
  message.mutable_blocked()->set_crawl_id("shop");
  EXPECT_TRUE(FromProto(message, kToday).ok());
  message.mutable_blocked()->set_host("no host at all");
  EXPECT_FALSE(FromProto(message, kToday).ok());
  message.mutable_blocked()->set_host("a.test");
  message.mutable_blocked()->mutable_until()->set_nanos(-1);
  EXPECT_FALSE(FromProto(message, kToday).ok());
}

}  // namespace
}  // namespace freshet
