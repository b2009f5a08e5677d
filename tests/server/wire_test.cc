#include "server/wire.h"

#include <random>

#include "freshet/v1/ingest.pb.h"
#include "freshet/v1/scheduler.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/logging.h"

namespace freshet {
namespace {

grpc::ByteBuffer Bytes(const std::string& text, size_t slices = 1) {
  std::vector<grpc::Slice> parts;
  for (size_t i = 0; i < slices; ++i) {
    const size_t first = text.size() * i / slices;
    parts.emplace_back(text.substr(first, text.size() * (i + 1) / slices - first));
  }
  return {parts.data(), parts.size()};
}

class WireTest : public testing::Test {
 protected:
  WireTest() { StartLogging("off"); }
};

TEST_F(WireTest, ReadsAndWrites) {
  v1::SignalChangesRequest request;
  request.set_sequence(3);
  request.add_signals()->set_url("http://ä.test/");
  std::vector<TextFault> faults;
  v1::SignalChangesRequest read;
  ASSERT_TRUE(ParseMessage(SerialiseMessage(request), &read, &faults).ok());
  EXPECT_EQ(read.SerializeAsString(), request.SerializeAsString());
  EXPECT_TRUE(faults.empty());
  EXPECT_TRUE(ParseMessage(SerialiseMessage(v1::SignalChangesRequest()), &read, &faults).ok());
}

TEST_F(WireTest, NamesTextsThatAreNotUtf8) {
  v1::SignalChangesRequest request;
  for (int i = 0; i < 5; ++i) request.add_signals()->set_url("http://a.test/");
  request.mutable_signals(1)->set_url("http://\xff.test/");
  request.mutable_signals(3)->set_signal_id("ok\xc0\xaf");
  request.mutable_signals(3)->set_source("\xe2\x82");
  for (const size_t slices : {1, 7}) {
    std::vector<TextFault> faults;
    v1::SignalChangesRequest read;
    ASSERT_TRUE(ParseMessage(Bytes(request.SerializeAsString(), slices), &read, &faults).ok());
    ASSERT_EQ(faults.size(), 3u);
    EXPECT_EQ(faults[0].item, 1);
    EXPECT_EQ(faults[0].field, "url");
    EXPECT_EQ(faults[1].item, 3);
    EXPECT_EQ(faults[1].field, "source");
    EXPECT_EQ(faults[2].field, "signal_id");
    EXPECT_EQ(read.signals_size(), 5);
    EXPECT_EQ(read.signals(0).url(), "http://a.test/");
    EXPECT_EQ(read.signals(1).url(), "http://?.test/");
    EXPECT_EQ(read.signals(3).signal_id(), "ok??");
  }
}

TEST_F(WireTest, FindsItemsInsideOfAOneof) {
  v1::CrawlRequest request;
  request.mutable_results()->add_results();
  request.mutable_results()->add_results()->set_etag("\xf5");
  std::vector<TextFault> faults;
  v1::CrawlRequest read;
  ASSERT_TRUE(ParseMessage(Bytes(request.SerializeAsString()), &read, &faults).ok());
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].item, 1);
  EXPECT_EQ(faults[0].field, "etag");
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker("\x80");
  faults.clear();
  ASSERT_TRUE(ParseMessage(Bytes(hello.SerializeAsString()), &read, &faults).ok());
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].item, -1);
}

TEST_F(WireTest, LeavesBytesFieldsAlone) {
  v1::ReportCrawlsRequest request;
  request.add_results()->set_content_digest("\xff\xfe");
  request.mutable_results(0)->set_etag("\xff");
  std::vector<TextFault> faults;
  v1::ReportCrawlsRequest read;
  ASSERT_TRUE(ParseMessage(Bytes(request.SerializeAsString()), &read, &faults).ok());
  EXPECT_EQ(faults.size(), 1u);
  EXPECT_EQ(read.results(0).content_digest(), "\xff\xfe");
}

TEST_F(WireTest, RefusesWhatIsNoMessage) {
  for (const std::string bytes : {"\xff\xff\xff\xff", "\x12\x7f", "\x0b", "\x12"}) {
    std::vector<TextFault> faults;
    v1::SignalChangesRequest read;
    const Status status = ParseMessage(Bytes(bytes), &read, &faults);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "the bytes are no freshet.v1.SignalChangesRequest");
  }
}

TEST_F(WireTest, SurvivesAnyBytes) {
  std::mt19937_64 random(1);
  v1::SignalChangesRequest request;
  for (int i = 0; i < 4; ++i) request.add_signals()->set_url("http://a.test/\xf0\x9f\x8c\x8a");
  const std::string whole = request.SerializeAsString();
  int repaired = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole.substr(0, random() % (whole.size() + 1));
    for (uint64_t n = random() % 4; n > 0 && !bytes.empty(); --n) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    std::vector<TextFault> faults;
    v1::SignalChangesRequest read;
    // Either it is refused, or every text is now fit to be used.
    if (!ParseMessage(Bytes(bytes), &read, &faults).ok()) continue;
    repaired += faults.empty() ? 0 : 1;
    for (const v1::ChangeSignal& signal : read.signals()) {
      ASSERT_EQ(ValidUtf8Prefix(signal.url()), signal.url().size());
    }
  }
  EXPECT_GT(repaired, 100);
}

TEST_F(WireTest, KnowsUtf8) {
  const auto valid = [](const std::string& text) { return ValidUtf8Prefix(text) == text.size(); };
  for (const std::string text : {"", "a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                 "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(valid(text));
  }
  // Overlong, surrogates, beyond the last code point, cut off, alone.
  for (const std::string text : {"\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                                 "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc2",
                                 "\xe2\x82", "\xf0\x9f\x8c", "\x80", "\xbf"}) {
    EXPECT_FALSE(valid(text));
  }
  EXPECT_EQ(ValidUtf8Prefix("ab\xff"), 2u);
}

}  // namespace
}  // namespace freshet
