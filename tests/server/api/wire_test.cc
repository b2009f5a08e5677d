#include "server/api/wire.h"

#include <malloc.h>

#include <random>

#include "core/base/text.h"
#include "freshet/v1/admin.pb.h"
#include "freshet/v1/ingest.pb.h"
#include "freshet/v1/pages.pb.h"
#include "freshet/v1/scheduler.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/arena.h"
#include "gtest/gtest.h"
#include "server/api/batch.h"
#include "server/base/limits.h"
#include "server/logging.h"
#include "tests/support/gzip.h"

namespace freshet {
namespace {

using testing::HasSubstr;

grpc::ByteBuffer Bytes(const std::string& text, size_t slices = 1) {
  std::vector<grpc::Slice> parts;
  for (size_t i = 0; i < slices; ++i) {
    const size_t first = text.size() * i / slices;
    parts.emplace_back(text.substr(first, text.size() * (i + 1) / slices - first));
  }
  return {parts.data(), parts.size()};
}

Status Parse(const std::string& text, google::protobuf::Message* message, MessageFaults* faults,
             size_t slices = 1) {
  grpc::ByteBuffer bytes = Bytes(text, slices);
  const Status status = ParseMessage(&bytes, message, faults, limits::kMaxMessageBytes);
  EXPECT_EQ(bytes.Length(), 0u);
  return status;
}

std::string Varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

// Returns a field with length-delimited content, such as an inner message.
std::string Delimited(int number, const std::string& content) {
  return Varint(static_cast<uint64_t>(number) << 3 | 2) + Varint(content.size()) + content;
}

std::string Repeated(const std::string& text, size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

size_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class WireTest : public testing::Test {
 protected:
  WireTest() { StartLogging("off"); }
};

TEST_F(WireTest, ReadsAndWrites) {
  v1::SignalChangesRequest request;
  request.set_sequence(3);
  request.add_signals()->set_url("http://ä.test/");
  MessageFaults faults;
  v1::SignalChangesRequest read;
  ASSERT_TRUE(ParseMessage(request.SerializeAsString(), &read, &faults).ok());
  EXPECT_EQ(read.SerializeAsString(), request.SerializeAsString());
  EXPECT_TRUE(faults.texts.empty());
  EXPECT_TRUE(ParseMessage(std::string_view(), &read, &faults).ok());
}

TEST_F(WireTest, TellsNoBytesFromNoMessage) {
  v1::PauseRequest request;
  MessageFaults faults;
  grpc::ByteBuffer none;
  const Status status = ParseMessage(&none, &request, &faults, limits::kMaxMessageBytes);
  EXPECT_EQ(status.message(), "the call has no message");
  EXPECT_TRUE(Parse("", &request, &faults).ok());
}

TEST_F(WireTest, CountsWhatIsCompressedBeforeItIsInflated) {
  const std::string gzip = Gzip(std::string(300'000, 'x'));
  for (size_t cut = 0; cut <= gzip.size(); cut += cut < 6 || cut + 7 > gzip.size() ? 1 : 50) {
    const std::vector<grpc::Slice> slices = {grpc::Slice(gzip.substr(0, cut)), grpc::Slice(),
                                             grpc::Slice(gzip.substr(cut))};
    EXPECT_EQ(SizeOf(grpc::ByteBuffer(slices.data(), slices.size())), 300'000U) << cut;
  }
  const grpc::Slice plain("\x08\x01");
  EXPECT_EQ(SizeOf(grpc::ByteBuffer(&plain, 1)), 2U);
  EXPECT_EQ(SizeOf(grpc::ByteBuffer()), 0U);
}

// A request that contains only some numbers and texts may take at most 64 KiB, whatever fields a
// client adds.
TEST_F(WireTest, TakesLittleWhereNothingIsRepeated) {
  const std::string unknown = "\xc2\x3e\xf0\xa2\x04" + std::string(70'000, '\0');  // field 1000
  for (const std::string& bytes : {unknown, Gzip(unknown)}) {
    const grpc::Slice slice(bytes);
    v1::GetPageRequest get;
    const Status status = ReadRequest(grpc::ByteBuffer(&slice, 1), &get, 16 << 20);
    EXPECT_EQ(status.message(), "the message has 70005 bytes, at most 65536 are allowed");
    v1::RemovePagesRequest remove;
    EXPECT_TRUE(ReadRequest(grpc::ByteBuffer(&slice, 1), &remove, 16 << 20).ok());
  }
}

TEST_F(WireTest, NamesTextsThatAreNotUtf8) {
  v1::SignalChangesRequest request;
  for (int i = 0; i < 5; ++i) request.add_signals()->set_url("http://a.test/");
  request.mutable_signals(1)->set_url("http://\xff.test/");
  request.mutable_signals(3)->set_signal_id("ok\xc0\xaf");
  request.mutable_signals(3)->set_source("\xe2\x82");
  for (const size_t slices : {1, 7}) {
    MessageFaults faults;
    v1::SignalChangesRequest read;
    ASSERT_TRUE(Parse(request.SerializeAsString(), &read, &faults, slices).ok());
    ASSERT_EQ(faults.texts.size(), 3u);
    EXPECT_EQ(faults.texts[0].item, 1);
    EXPECT_EQ(faults.texts[0].field, "url");
    EXPECT_EQ(faults.texts[1].item, 3);
    EXPECT_EQ(faults.texts[1].field, "source");
    EXPECT_EQ(faults.texts[2].field, "signal_id");
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
  MessageFaults faults;
  v1::CrawlRequest read;
  ASSERT_TRUE(Parse(request.SerializeAsString(), &read, &faults).ok());
  ASSERT_EQ(faults.texts.size(), 1u);
  EXPECT_EQ(faults.texts[0].item, 1);
  EXPECT_EQ(faults.texts[0].field, "etag");
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker("\x80");
  faults.texts.clear();
  ASSERT_TRUE(Parse(hello.SerializeAsString(), &read, &faults).ok());
  ASSERT_EQ(faults.texts.size(), 1u);
  EXPECT_EQ(faults.texts[0].item, -1);
}

TEST_F(WireTest, LeavesBytesFieldsAlone) {
  v1::ReportCrawlsRequest request;
  request.add_results()->set_content_digest("\xff\xfe");
  request.mutable_results(0)->set_etag("\xff");
  MessageFaults faults;
  v1::ReportCrawlsRequest read;
  ASSERT_TRUE(Parse(request.SerializeAsString(), &read, &faults).ok());
  EXPECT_EQ(faults.texts.size(), 1u);
  EXPECT_EQ(read.results(0).content_digest(), "\xff\xfe");
}

TEST_F(WireTest, RefusesWhatIsNoMessage) {
  for (const std::string bytes : {"\xff\xff\xff\xff", "\x12\x7f", "\x0b", "\x12"}) {
    MessageFaults faults;
    v1::SignalChangesRequest read;
    const Status status = Parse(bytes, &read, &faults);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "the message is not a valid freshet.v1.SignalChangesRequest");
  }
}

// Messages of the maximum size, made of the parts that would cost the most memory.
TEST_F(WireTest, TakesNoMoreMemoryThanTheMessageWhateverItHolds) {
  constexpr size_t kBytes = limits::kMaxMessageBytes;
  struct Hostile {
    const char* what;
    std::string bytes;
  };
  const std::string sequence = "\x08\x07";
  const std::vector<Hostile> all = {
      {"pages: 8388600 items", sequence + Repeated(std::string("\x12\x00", 2), kBytes / 2 - 8)},
      {"unknown fields; at most", sequence + Repeated("\x78\x01", kBytes / 2 - 2)},
      {"unknown fields; at most", sequence + Repeated(std::string("\x7a\x00", 2), kBytes / 2 - 2)},
      {"unknown fields; at most",
       sequence + Delimited(2, Repeated(std::string("\x7a\x00", 2), kBytes / 2 - 8))},
      {"not_before: occurs twice",
       sequence + Delimited(2, Repeated(std::string("\x32\x00", 2), kBytes / 2 - 8))},
  };
  for (const Hostile& hostile : all) {
    const size_t before = HeapBytes();
    google::protobuf::Arena arena;
    auto& read = *google::protobuf::Arena::CreateMessage<v1::UpsertPagesRequest>(&arena);
    MessageFaults faults;
    const Status status = ParseMessage(hostile.bytes, &read, &faults);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(hostile.what));
    EXPECT_LT(HeapBytes(), before + (1 << 20)) << hostile.what;
    EXPECT_EQ(read.sequence(), 7u);
    EXPECT_EQ(read.pages_size(), 0);
  }
  // One text of the same size is accepted.
  v1::UpsertPagesRequest large;
  large.add_pages()->set_url(std::string(kBytes - 100, 'u'));
  const std::string bytes = large.SerializeAsString();
  const size_t before = HeapBytes();
  v1::UpsertPagesRequest read;
  MessageFaults faults;
  ASSERT_TRUE(ParseMessage(bytes, &read, &faults).ok());
  EXPECT_LT(HeapBytes(), before + 2 * kBytes);
}

TEST_F(WireTest, CountsWhatIsRepeated) {
  const auto count = [](const std::string& bytes) {
    v1::CrawlRequest read;
    MessageFaults faults;
    const Status status = Parse(bytes, &read, &faults);
    return std::pair(std::string(status.message()), faults.items);
  };
  const auto leases = [](size_t n) { return Delimited(4, Delimited(2, Repeated("\x80\x01", n))); };
  EXPECT_EQ(count(leases(1000)).first, "");
  EXPECT_EQ(count(leases(1001)),
            std::pair(std::string("lease_ids: 1001 items, at most 1000 are allowed in a message"),
                      size_t{1001}));
  // The repeated numbers can also come unpacked.
  EXPECT_EQ(count(Delimited(4, Repeated("\x10\x01", 1000))).first, "");
  EXPECT_EQ(count(Delimited(4, Repeated("\x10\x01", 1001))).second, 1001u);
  const auto results = [](size_t n) {
    return Delimited(3, Repeated(std::string("\x12\x00", 2), n));
  };
  EXPECT_EQ(count(results(1000)).first, "");
  EXPECT_EQ(count(results(1001)).second, 1001u);
  EXPECT_EQ(count(results(1) + results(1)).first, "results: occurs twice");
  // If a message has results and leases, the last kind counts, as in protobuf.
  EXPECT_EQ(count(results(1) + leases(1)).first, "");
  EXPECT_EQ(count(Repeated("\x78\x01", limits::kMaxUnknownFieldsPerMessage)).first, "");
  EXPECT_THAT(count(Repeated("\x78\x01", limits::kMaxUnknownFieldsPerMessage + 1)).first,
              HasSubstr("16001 unknown fields; at most 16000"));
}

TEST_F(WireTest, KeepsTheNumbersOfWhatItRefuses) {
  v1::CrawlRequest request;
  request.mutable_results()->set_sequence(uint64_t{1} << 40);
  for (int i = 0; i < 1001; ++i) request.mutable_results()->add_results()->set_lease_id(3);
  v1::CrawlRequest read;
  MessageFaults faults;
  EXPECT_FALSE(Parse(request.SerializeAsString(), &read, &faults).ok());
  EXPECT_EQ(read.results().sequence(), uint64_t{1} << 40);
  EXPECT_EQ(read.results().results_size(), 0);
}

// A field has at most one fault, however often it occurs. Otherwise a lookup would cost the product
// of both counts.
TEST_F(WireTest, BoundsTheFaultsOfTexts) {
  std::string bytes;
  for (int item = 0; item < 1000; ++item) {
    bytes += Delimited(2, Repeated(Delimited(1, "\xff") + Delimited(3, "\xfe\xff"), 200));
  }
  v1::SignalChangesRequest read;
  MessageFaults faults;
  ASSERT_TRUE(Parse(bytes, &read, &faults).ok());
  ASSERT_EQ(faults.texts.size(), 2000u);
  for (int item = 0; item < 1000; ++item) {
    const TextFault* fault = FindTextFault(faults.texts, item);
    ASSERT_NE(fault, nullptr);
    EXPECT_EQ(fault->item, item);
    EXPECT_EQ(fault->field, "url");
  }
  EXPECT_EQ(FindTextFault(faults.texts, 1000), nullptr);
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
    MessageFaults faults;
    v1::SignalChangesRequest read;
    // The message is refused, or all its texts are valid UTF-8.
    if (!Parse(bytes, &read, &faults).ok()) continue;
    repaired += faults.texts.empty() ? 0 : 1;
    for (const v1::ChangeSignal& signal : read.signals()) {
      ASSERT_EQ(ValidUtf8Prefix(signal.url()), signal.url().size());
    }
  }
  EXPECT_GT(repaired, 100);
}

}  // namespace
}  // namespace freshet
