// Tests how much memory hostile messages cost a server, measured from outside its process.
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/base/sanitized.h"
#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/crash/daemon.h"
#include "tests/grpc/raw_stream.h"
#include "tests/support/gzip.h"
#include "urlfrontier/urlfrontier.pb.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMessage = limits::kMaxMessageBytes;

// Peak memory of the process so far, in bytes.
size_t PeakOf(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  size_t kilobytes = 0;
  while (status >> word) {
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes << 10;
  }
  ADD_FAILURE() << "no VmHWM";
  return 0;
}

// Returns a message that is slightly smaller than the limit: `start`, then copies of `part`.
std::string Filled(const std::string& start, const std::string& part) {
  std::string bytes = start;
  bytes.reserve(kMessage);
  while (bytes.size() + part.size() <= kMessage - 64) bytes += part;
  return bytes;
}

class MemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  }
  MemoryTest() : daemon_(dir_ / "data", dir_ / "log") {
    daemon_.Spawn({"--durability", "none"});
    EXPECT_EQ(daemon_.AwaitReady(), "");
  }
  ~MemoryTest() override {
    daemon_.RequestStop();
    EXPECT_EQ(daemon_.AwaitEnd(), "");
  }
  // Sends the message `times` times on each of `streams` streams at once.
  void Send(const std::string& bytes, int streams, int times) {
    std::vector<std::thread> threads;
    for (int i = 0; i < streams; ++i) {
      threads.emplace_back([&] {
        RawStream stream(daemon_.channel(), "/freshet.v1.PagesService/UpsertPages");
        for (int n = 0; n < times; ++n) {
          const auto answer = stream.Exchange<v1::UpsertPagesResponse>(bytes);
          EXPECT_TRUE(answer.ack().has_error()) << answer.ShortDebugString();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  const TempDir dir_;
  crash::Daemon daemon_;
};

TEST_F(MemoryTest, OfWhatIsRefusedIsThatOfItsBytes) {
  const size_t before = PeakOf(daemon_.pid());
  const std::string nothing("\x12\x00", 2);
  Send(Filled("\x08\x01", nothing), 1, 4);
  Send(Filled("\x08\x01", "\x78\x01"), 1, 4);
  Send(Filled("\x08\x01", std::string("\x7a\x00", 2)), 1, 4);
  const size_t one = PeakOf(daemon_.pid()) - before;
  // Handling a message takes twice its size at any time. In addition, the allocator keeps memory
  // for each thread.
  EXPECT_LT(one, 10 * kMessage);
  // Several messages at once, each of the largest size.
  Send(Filled("\x08\x01", nothing), 4, 2);
  EXPECT_LT(PeakOf(daemon_.pid()) - before, 4 * 8 * kMessage);
}

TEST_F(MemoryTest, OfWhatIsInflatedIsThatOfTheLargestMessage) {
  const size_t before = PeakOf(daemon_.pid());
  const std::string bomb = Gzip(std::string(64 << 20, '\0'));
  Send(bomb, 1, 4);
  EXPECT_LT(PeakOf(daemon_.pid()) - before, 6 * kMessage);
}

// Returns a compressed message of 16 KB with `fields`, followed by 16 MB of a field that the server
// does not know.
std::string Bomb(const std::string& fields) {
  return Gzip(fields + "\xc2\x3e\xe8\xff\xff\x07" + std::string(16'777'192, '\0'));
}

TEST_F(MemoryTest, OfCallsWithoutItemsIsThatOfSmallRequests) {
  const size_t before = PeakOf(daemon_.pid());
  const std::string bomb = Bomb("");
  for (const char* method :
       {"/urlfrontier.URLFrontier/ListNodes", "/urlfrontier.URLFrontier/CountURLs",
        "/grpc.health.v1.Health/Check"}) {
    for (int i = 0; i < 3; ++i) {
      const grpc::Status status = CallRaw(daemon_.channel(), method, bomb);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << method;
      EXPECT_THAT(status.error_message(), HasSubstr(" are allowed")) << method;
    }
  }
  EXPECT_LT(PeakOf(daemon_.pid()) - before, kMessage);
}

// While a call waits, its unread part takes no memory, so the server does not refuse other calls
// because of it.
TEST_F(MemoryTest, OfCallsThatWaitIsBounded) {
  const size_t before = PeakOf(daemon_.pid());
  const std::string bomb = Bomb("\x12\x02\x08\x05");  // max_wait: 5 s
  std::atomic<int> waited{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 40; ++i) {
    threads.emplace_back([&] {
      const grpc::Status status =
          CallRaw(daemon_.channel(), "/freshet.v1.SchedulerService/Next", bomb);
      if (status.ok()) ++waited;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(waited, 8) << "limits.unacknowledged_bytes are eight such messages";
  EXPECT_LT(PeakOf(daemon_.pid()) - before, 16 * kMessage);
}

// Each of 64 streams sends batches of 150 URLs with 64 KB of metadata each. Such a batch has 9.6
// MB, and is small after compression. Messages that wait for their commit count with their inflated
// size. Messages that do not fit wait compressed.
TEST_F(MemoryTest, OfWhatStreamsInflateIsBounded) {
  const size_t before = PeakOf(daemon_.pid());
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([this, i] {
      urlfrontier::DiscoveredBatch batch;
      batch.set_id(std::to_string(i));
      for (int n = 0; n < 150; ++n) {
        urlfrontier::URLInfo& url = *batch.add_items();
        url.set_url("https://bomb.test/" + std::to_string(i) + "/" + std::to_string(n));
        (*url.mutable_metadata())["m"].add_values(std::string(64'000, 'm'));
      }
      const std::string bytes = Gzip(batch.SerializeAsString());
      RawStream stream(daemon_.channel(), "/urlfrontier.URLFrontier/PutDiscovered");
      for (int times = 0; times < 3; ++times) {
        EXPECT_EQ(stream.Exchange<urlfrontier::BatchAck>(bytes).statuses_size(), 150);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // The server may hold 128 MiB of messages, and parsing takes several times as much for a moment.
  // Without a bound, the memory would grow with the size of all messages that are sent at once.
  EXPECT_LT(PeakOf(daemon_.pid()) - before, 56 * kMessage);
}

TEST_F(MemoryTest, OfAcknowledgementsThatNobodyReadsIsBounded) {
  v1::SignalChangesRequest request;
  const std::string long_url = "http://unknown.test/" + std::string(7900, 'a');
  for (int i = 0; i < limits::kMaxItemsPerMessage; ++i) {
    v1::ChangeSignal* signal = request.add_signals();
    signal->set_url(long_url + std::to_string(i));
    signal->set_source("sitemap");
  }
  const size_t before = PeakOf(daemon_.pid());
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      const auto stub = v1::IngestService::NewStub(daemon_.channel());
      grpc::ClientContext call;
      call.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(4));
      const auto stream = stub->SignalChanges(&call);
      // Writes until the server reads no more and the deadline ends the wait.
      int sent = 0;
      while (sent < 70 && stream->Write(request)) ++sent;
      EXPECT_LT(sent, 70) << "what is not acknowledged in the end should not be read either";
      call.TryCancel();
      (void)stream->Finish();
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Only some messages of each stream are in flight. The answers to all messages would take 1,200
  // MB.
  EXPECT_LT(PeakOf(daemon_.pid()) - before, 32 * kMessage);
}

}  // namespace
}  // namespace freshet
