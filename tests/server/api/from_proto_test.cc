#include "server/api/from_proto.h"

#include <limits>
#include <string>
#include <vector>

#include "core/base/url.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/faults.h"
#include "server/api/to_proto.h"

namespace freshet {
namespace {

constexpr Instant kNow = Instant::FromUnixSeconds(1'700'000'000);

TEST(FromProto, InstantsKeepTheirMicrosecond) {
  for (const int64_t us : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{1'700'000'000'123'456},
                           int64_t{-5'000'000}, int64_t{-5'000'001}}) {
    google::protobuf::Timestamp time;
    ToProto(Instant::FromMicros(us), &time);
    EXPECT_GE(time.nanos(), 0);
    EXPECT_EQ(FromProto(time)->micros(), us);
    google::protobuf::Duration span;
    ToProto(Duration::Micros(us), &span);
    EXPECT_EQ(FromProto(span)->micros(), us);
  }
}

TEST(FromProto, RefusesImpossibleTimes) {
  google::protobuf::Timestamp time;
  time.set_nanos(1'000'000'000);
  EXPECT_FALSE(FromProto(time).ok());
  time.set_nanos(0);
  for (const int64_t seconds :
       {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    time.set_seconds(seconds);
    EXPECT_FALSE(FromProto(time).ok());
    google::protobuf::Duration span;
    span.set_seconds(seconds);
    EXPECT_FALSE(FromProto(span).ok());
  }
  google::protobuf::Duration mixed;
  mixed.set_seconds(1);
  mixed.set_nanos(-1);
  EXPECT_FALSE(FromProto(mixed).ok());
}

TEST(FromProto, HostsComeFromHostsAndUrls) {
  for (const char* text : {"Example.TEST", "http://example.test:99/x?y", "example.test:80",
                           "example.test.", "https://example.test.:99/"}) {
    const StatusOr<std::string> host = ConvertHost(text);
    ASSERT_TRUE(host.ok()) << host.status();
    EXPECT_EQ(*host, "example.test");
  }
  EXPECT_EQ(ConvertHost("").status().message(), "host: is empty");
  // The message names the field once, not twice.
  EXPECT_EQ(ConvertHost("a b").status().message(), "host: holds a space or control character");
  EXPECT_EQ(ConvertHost("http://:80/x").status().message(), "host: is missing");
  EXPECT_EQ(ConvertHost("a.test:x").status().message(), "host: port must be 0 to 65535");
  EXPECT_FALSE(ConvertHost("ftp://x.test/").ok());
}

TEST(FromProto, ResultsByLeaseGoToTheSlotOfTheLease) {
  v1::CrawlResult result;
  result.set_lease_id((uint64_t{3} << 44) + 4096 * 5 + 77);
  result.set_outcome(v1::CRAWL_OUTCOME_ERROR);
  result.mutable_retry_after()->set_seconds(30);
  result.set_http_status(503);
  const StatusOr<RoutedEvent> event = ConvertResult(result, 3, kNow);
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->slot, Slot(77));
  const auto& report = std::get<ReportCrawl>(event->event);
  EXPECT_FALSE(report.key.has_value());
  EXPECT_EQ(report.fetched, kNow);
  EXPECT_EQ(report.retry_after, Duration::Seconds(30));
  EXPECT_EQ(report.outcome, CrawlOutcome::kError);

  // A lease id that no run can have issued gets a different code than an expired lease.
  EXPECT_EQ(FaultOf(ConvertResult(result, 2, kNow).status()).code(), v1::ERROR_CODE_UNKNOWN_LEASE);
  result.set_lease_id(12345);
  EXPECT_EQ(ConvertResult(result, 3, kNow).status(), NotFound("lease_id: 12345 was never issued"));
}

// The slot in a lease id identifies the page's shard even if the URL does not, because pages of
// earlier releases keep the text under which they were stored.
TEST(FromProto, ALeaseTellsWhereItsPageIsWhateverItIsCalled) {
  const std::string url = "http://a.test/?q='x'";
  const Slot slot = SlotOfHost("a.test");
  v1::CrawlResult result;
  result.set_lease_id((uint64_t{3} << 44) + 4096 * 5 + slot.value());
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  result.set_url(url);
  StatusOr<RoutedEvent> event = RoutedEvent();
  const auto convert = [&] {
    event = ConvertResult(result, 3, kNow);
    return event.ok();
  };
  const auto report = [&] { return std::get<ReportCrawl>(event->event); };
  const auto field = [&] { return FaultOf(event.status()).field(); };
  ASSERT_TRUE(convert()) << event.status();
  EXPECT_EQ(report().key, (PageKey{"DEFAULT", "http://a.test/?q=%27x%27"}));
  EXPECT_EQ(report().as_sent, (PageKey{"DEFAULT", url}));
  result.set_url(report().key->url);
  ASSERT_TRUE(convert()) << event.status();
  EXPECT_FALSE(report().as_sent.has_value());
  for (const std::string text : {"http://of-another-slot.test/", "http://300.1.1.1/"}) {
    result.set_url(text);
    ASSERT_TRUE(convert()) << event.status();
    EXPECT_EQ(event->slot, slot);
    EXPECT_FALSE(report().key.has_value());
    EXPECT_EQ(report().as_sent, (PageKey{"DEFAULT", text}));
  }
  // Without a lease, only the URL can identify the page.
  result.set_lease_id(0);
  EXPECT_FALSE(convert());
  EXPECT_EQ(field(), "url");
  result.set_url(url);
  ASSERT_TRUE(convert()) << event.status();
  EXPECT_EQ(event->slot, slot);
  EXPECT_EQ(report().as_sent, (PageKey{"DEFAULT", url}));
  result.set_lease_id((uint64_t{3} << 44) + 4096 * 5 + slot.value());
  result.set_url("http://a.test/" + std::string(10'000, 'a'));
  EXPECT_FALSE(convert());
  EXPECT_EQ(field(), "url");
  result.set_url("http://a.test/\xff");
  EXPECT_FALSE(convert());
  EXPECT_EQ(field(), "url");
}

TEST(FromProto, TimesMayBeAheadByTheSkewAndNoMore) {
  v1::CrawlResult result;
  result.set_url("http://a.test/");
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  ToProto(kNow + Duration::Seconds(300), result.mutable_fetch_time());
  EXPECT_TRUE(ConvertResult(result, 3, kNow).ok());
  ToProto(kNow + Duration::Seconds(301), result.mutable_fetch_time());
  EXPECT_EQ(FaultOf(ConvertResult(result, 3, kNow).status()).field(), "fetch_time");
  result.mutable_fetch_time()->set_seconds(0);
  result.mutable_fetch_time()->set_nanos(0);
  EXPECT_EQ(ConvertResult(result, 3, kNow).status(), InvalidArgument("fetch_time: is before 1990"));
}

// In a result under a lease, the server corrects an impossible fetch time and adds a note, instead
// of refusing the result.
TEST(FromProto, TimesUnderALeaseAreTakenAndNoted) {
  v1::CrawlResult result;
  result.set_lease_id((uint64_t{3} << 44) + 4096 * 5 + 77);
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  const auto fetched = [&](int64_t seconds, int32_t nanos) {
    result.mutable_fetch_time()->set_seconds(seconds);
    result.mutable_fetch_time()->set_nanos(nanos);
    const StatusOr<RoutedEvent> event = ConvertResult(result, 3, kNow);
    EXPECT_EQ(event.value().notes.size(), 1u);
    return std::get<ReportCrawl>(event->event).fetched;
  };
  EXPECT_EQ(fetched(kNow.micros() / 1'000'000 + 400, 0), kNow);
  EXPECT_EQ(fetched(0, 0), Instant::FromUnixSeconds(631'152'000));
  EXPECT_EQ(fetched(-62'135'596'800, 0), Instant::FromUnixSeconds(631'152'000));
  EXPECT_EQ(fetched(5, -1), kNow);
  EXPECT_EQ(fetched(INT64_MAX, 0), kNow);
}

TEST(FromProto, ALastModifiedThatCannotBeIsLeftOut) {
  v1::CrawlResult result;
  result.set_url("https://example.test/");
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  constexpr int64_t kFetch = 1'699'990'000;
  result.mutable_fetch_time()->set_seconds(kFetch);
  const auto taken = [&](int64_t seconds) {
    result.mutable_last_modified()->set_seconds(seconds);
    const StatusOr<RoutedEvent> event = ConvertResult(result, 3, kNow);
    EXPECT_EQ(event.value().notes.size(),
              std::get<ReportCrawl>(event->event).last_modified.empty() ? 1u : 0u);
    return std::get<ReportCrawl>(event->event).last_modified;
  };
  EXPECT_EQ(taken(0), "");
  EXPECT_EQ(taken(315'532'800), "") << "1980";
  EXPECT_EQ(taken(631'151'999), "");
  EXPECT_EQ(taken(631'152'000), "631152000000000");
  EXPECT_EQ(taken(kFetch), "1699990000000000");
  EXPECT_EQ(taken(kFetch + 1), "");
  EXPECT_EQ(taken(4'070'908'800), "") << "2099";
}

TEST(FromProto, SignalIdsAreThoseOfTheirSourceAndPage) {
  Sources sources;
  sources.Add({.name = "a", .index = 3});
  sources.Add({.name = "b", .index = 4});
  const auto hash = [&](const char* source, const char* url, const char* id) {
    v1::ChangeSignal signal;
    signal.set_source(source);
    signal.set_url(url);
    signal.set_signal_id(id);
    return std::get<SignalChange>(ConvertSignal(signal, sources, kNow).value().event)
        .signal_id_hash;
  };
  const uint64_t id = hash("a", "http://x.test/", "1");
  EXPECT_EQ(id, hash("a", "http://x.test/", "1"));
  EXPECT_NE(id, hash("b", "http://x.test/", "1"));
  EXPECT_NE(id, hash("a", "http://x.test/2", "1"));
  EXPECT_NE(id, hash("a", "http://x.test/", "2"));
  EXPECT_EQ(hash("a", "http://x.test/", ""), 0u);
}

TEST(FromProto, PollsAreCountedByHostAndSource) {
  Sources sources;
  sources.Add({.name = "a", .index = 0});
  sources.Add({.name = "b", .index = 1});
  std::vector<RoutedEvent> events;
  const auto add = [&](const char* source, const std::string& url) {
    v1::ChangeSignal signal;
    signal.set_source(source);
    signal.set_url(url);
    events.push_back(ConvertSignal(signal, sources, kNow).value());
  };
  for (int i = 0; i < 5; ++i) add("a", "http://x.test/" + std::to_string(i));
  add("a", "http://x.test/0");
  add("b", "http://x.test/0");
  add("a", "http://y.test/?q");
  const auto size = [&](size_t i) { return std::get<SignalChange>(events[i].event).pages_in_poll; };
  const auto poll = [&](size_t i) { return std::get<SignalChange>(events[i].event).poll; };
  SetPolls({.name = "1"}, &events);
  EXPECT_EQ(size(0), 5u);
  EXPECT_EQ(size(5), 5u);
  EXPECT_EQ(size(6), 1u);
  EXPECT_EQ(size(7), 1u);
  EXPECT_NE(poll(0), 0u);
  EXPECT_EQ(poll(5), poll(0));
  EXPECT_EQ(poll(6), 0u) << "came alone";
  EXPECT_EQ(poll(7), 0u);
  SetPolls({.size = uint64_t{1} << 40, .name = "2"}, &events);
  EXPECT_EQ(size(7), std::numeric_limits<uint32_t>::max());
  const uint64_t x_by_a = poll(0);
  EXPECT_EQ(poll(5), x_by_a);
  EXPECT_NE(poll(6), x_by_a) << "another source";
  EXPECT_NE(poll(7), x_by_a) << "another host";
  SetPolls({.size = 2, .name = "3"}, &events);
  EXPECT_NE(poll(0), x_by_a) << "another poll";
}

TEST(FromProto, APollIsOfOneMachineWhateverItsPortsAndDots) {
  std::vector<RoutedEvent> events;
  for (const std::string url : {"http://x.test/a", "http://x.test.:81/b", "https://X.test:82/?c"}) {
    const StatusOr<HostedKey> named = ConvertKey(url, "");
    ASSERT_TRUE(named.ok()) << named.status();
    SignalChange signal;
    signal.key = named->key;
    events.push_back({.slot = SlotOfHost(named->host), .event = std::move(signal), .notes = {}});
  }
  SetPolls({.name = "1"}, &events);
  for (const RoutedEvent& event : events) {
    EXPECT_EQ(event.slot, events[0].slot);
    EXPECT_EQ(std::get<SignalChange>(event.event).pages_in_poll, 3u);
  }
}

}  // namespace
}  // namespace freshet
