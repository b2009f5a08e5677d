// What clients make a server hold that say nothing, say half of it, or take nothing: memory of its
// process, seen from outside.
#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/crash/daemon.h"
#include "tests/grpc/frontier_client.h"
#include "tests/hostile/http2.h"
#include "tests/support/raw_socket.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using hostile::Http2Call;
using hostile::Http2Frame;

constexpr size_t kMiB = size_t{1} << 20;
constexpr uint64_t kData = 0;

// What the process holds now, in bytes.
size_t MemoryOf(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  size_t kilobytes = 0;
  while (status >> word) {
    if (word == "VmRSS:" && status >> kilobytes) return kilobytes << 10;
  }
  ADD_FAILURE() << "no VmRSS";
  return 0;
}

// A connection whose calls send bytes of messages as far as the server lets them, and take nothing.
// Thread-compatible.
class HalfSpoken {
 public:
  explicit HalfSpoken(const std::string& address) : socket_(address) {
    EXPECT_TRUE(socket_.connected());
    (void)fcntl(socket_.descriptor(), F_SETFL, O_NONBLOCK);
    out_ = RawSocket::Http2Preface();
  }

  void Begin(uint64_t stream, const std::string& method) {
    out_ += Http2Call(stream, method);
    windows_[stream] = initial_;
  }
  // The first bytes of a message of so many.
  void Promise(uint64_t stream, size_t size) {
    std::string prefix(1, '\0');
    for (const int shift : {24, 16, 8, 0}) prefix.push_back(static_cast<char>(size >> shift));
    Data(stream, prefix);
  }
  void Whole(uint64_t stream, const std::string& message) {
    Promise(stream, message.size());
    if (!message.empty()) Data(stream, message);
  }
  // Sends and reads once; whether anything moved. `fill`: more of each message, where there is
  // room.
  bool Turn(bool fill) {
    bool moved = false;
    if (out_.size() < 65'536 && fill) {
      for (auto& [stream, window] : windows_) {
        const int64_t size = std::min<int64_t>({window, connection_, 16'000});
        if (size > 0) Data(stream, std::string(static_cast<size_t>(size), 'x'));
      }
    }
    const ssize_t sent = send(socket_.descriptor(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      out_.erase(0, static_cast<size_t>(sent));
      moved = true;
    }
    char buffer[65'536];
    const ssize_t got = recv(socket_.descriptor(), buffer, sizeof(buffer), 0);
    if (got > 0) {
      in_.append(buffer, static_cast<size_t>(got));
      moved = true;
      Understand();
    }
    return moved;
  }
  [[nodiscard]] uint64_t sent() const { return sent_; }
  // Streams that the server has ended.
  [[nodiscard]] size_t ended() const { return ended_; }

 private:
  void Data(uint64_t stream, const std::string& bytes) {
    out_ += Http2Frame(kData, 0, stream, bytes);
    windows_[stream] -= static_cast<int64_t>(bytes.size());
    connection_ -= static_cast<int64_t>(bytes.size());
    sent_ += bytes.size();
  }
  static uint32_t Number(const std::string& bytes, size_t at) {
    uint32_t number = 0;
    for (size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
    return number;
  }
  void Understand() {
    size_t at = 0;
    while (in_.size() - at >= 9) {
      const size_t size = Number(in_, at) >> 8;
      if (in_.size() - at < 9 + size) break;
      const auto type = static_cast<uint8_t>(in_[at + 3]);
      const auto flags = static_cast<uint8_t>(in_[at + 4]);
      const uint32_t stream = Number(in_, at + 5) & 0x7fffffff;
      Take(type, flags, stream, in_.substr(at + 9, size));
      at += 9 + size;
    }
    in_.erase(0, at);
  }
  void Take(uint8_t type, uint8_t flags, uint32_t stream, const std::string& payload) {
    constexpr uint8_t kHeaders = 1;
    constexpr uint8_t kRstStream = 3;
    constexpr uint8_t kSettings = 4;
    constexpr uint8_t kWindowUpdate = 8;
    if (type == kWindowUpdate) {
      const auto more = static_cast<int64_t>(Number(payload, 0) & 0x7fffffff);
      if (stream == 0) connection_ += more;
      if (const auto it = windows_.find(stream); it != windows_.end()) it->second += more;
    } else if (type == kSettings && (flags & 1) == 0) {
      for (size_t i = 0; i + 6 <= payload.size(); i += 6) {
        if (payload[i] != 0 || payload[i + 1] != 4) continue;
        const auto initial = static_cast<int64_t>(Number(payload, i + 2));
        for (auto& [id, window] : windows_) window += initial - initial_;
        initial_ = initial;
      }
      out_ += Http2Frame(kSettings, 1, 0, "");
    } else if (type == kRstStream || (type == kHeaders && (flags & 1) != 0)) {
      ended_ += windows_.erase(stream);
    }
  }

  RawSocket socket_;
  std::string out_;
  std::string in_;
  std::map<uint64_t, int64_t> windows_;  // of streams that are open
  int64_t initial_ = 65'535;
  int64_t connection_ = 65'535;
  uint64_t sent_ = 0;
  size_t ended_ = 0;
};

class CallMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  }
  CallMemoryTest() : daemon_(dir_ / "data", dir_ / "log") {
    std::ofstream(dir_ / "config.yaml") << "durability: none\nfrontier:\n  enabled: true\nlimits:\n"
                                           "  streams: 100\n  streams_per_client: 50\n"
                                           "  list_write_timeout: 1s\n"
                                           "  unacknowledged_bytes: 16777216\n";
    daemon_.Spawn({"--config", dir_ / "config.yaml"});
    EXPECT_EQ(daemon_.AwaitReady(), "");
    before_ = MemoryOf(daemon_.pid());
  }
  ~CallMemoryTest() override {
    daemon_.RequestStop();
    EXPECT_EQ(daemon_.AwaitEnd(), "");
  }
  [[nodiscard]] size_t grown() const {
    return std::max(MemoryOf(daemon_.pid()), before_) - before_;
  }
  // Until nothing has moved for a while.
  static void Play(std::vector<HalfSpoken>& connections, bool fill) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::seconds(60);
    for (Clock::time_point moved = Clock::now();
         Clock::now() < moved + std::chrono::seconds(1) && Clock::now() < end;) {
      for (HalfSpoken& connection : connections) {
        if (connection.Turn(fill)) moved = Clock::now();
      }
    }
  }
  // 40 connections of 1,000 calls, each with a message unless that is null.
  void Flood(const std::string& method, const std::string* message) {
    std::vector<HalfSpoken> connections;
    size_t ended = 0;
    for (int i = 0; i < 40; ++i) {
      HalfSpoken& connection = connections.emplace_back(daemon_.grpc_address());
      for (uint64_t stream = 1; stream < 2000; stream += 2) {
        connection.Begin(stream, method);
        if (message != nullptr) connection.Whole(stream, *message);
      }
    }
    Play(connections, /*fill=*/false);
    for (const HalfSpoken& connection : connections) ended += connection.ended();
    EXPECT_GE(ended, 38'000U) << "of 40000 at most 100 streams are open, or 1000 calls";
    // What so many calls at once take in passing does not grow with them. Without a bound 530 to
    // 750 MB.
    EXPECT_LT(grown(), 400 * kMiB);
  }

  const TempDir dir_;
  crash::Daemon daemon_;
  size_t before_ = 0;
};

TEST_F(CallMemoryTest, OfWatchesOfHealthIsBounded) {
  const std::string nothing;
  Flood("/grpc.health.v1.Health/Watch", &nothing);
}

TEST_F(CallMemoryTest, OfCallsThatSayNothingIsBounded) {
  Flood("/grpc.health.v1.Health/Check", nullptr);
}

TEST_F(CallMemoryTest, OfMessagesThatAreNeverWholeIsBounded) {
  std::vector<HalfSpoken> connections;
  connections.emplace_back(daemon_.grpc_address());
  for (uint64_t stream = 1; stream < 48; stream += 2) {
    connections.front().Begin(stream, "/freshet.v1.PagesService/UpsertPages");
    connections.front().Promise(stream, 16 * kMiB - 100);
  }
  Play(connections, /*fill=*/true);
  // Without a bound all of 24 times 16 MiB.
  EXPECT_LT(grown(), 200 * kMiB) << connections.front().sent() << " bytes were sent";
}

TEST_F(CallMemoryTest, OfUrlsThatNobodyTakesIsBounded) {
  FrontierClient client(daemon_.channel());
  std::vector<uf::URLItem> items;
  for (int i = 0; i < 4000; ++i) {
    uf::URLItem item = Discovered("http://a.test/" + std::to_string(i), std::to_string(i % 100));
    (*item.mutable_discovered()->mutable_info()->mutable_metadata())["note"].add_values(
        std::string(60'000, 'x'));
    items.push_back(std::move(item));
  }
  (void)client.Put(items);
  before_ = MemoryOf(daemon_.pid());
  std::vector<HalfSpoken> connections;
  connections.emplace_back(daemon_.grpc_address());
  uf::GetParams params = Params(1000, 100);
  for (uint64_t stream = 1; stream < 60; stream += 2) {
    connections.front().Begin(stream, "/urlfrontier.URLFrontier/GetURLs");
    connections.front().Whole(stream, params.SerializeAsString());
  }
  Play(connections, /*fill=*/false);
  // Without a bound 30 times 7.7 MB.
  EXPECT_LT(grown(), 80 * kMiB);
  // And they are cut off, so that others get what they were given.
  for (int i = 0; i < 30 && connections.front().ended() < 30; ++i) Play(connections, false);
  EXPECT_EQ(connections.front().ended(), 30U);
}

}  // namespace
}  // namespace freshet
