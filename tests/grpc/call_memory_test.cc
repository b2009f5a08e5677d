// Tests the memory of a server process, measured from outside, with clients that send nothing, send
// half a message, or read nothing.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/sanitized.h"
#include "fmt/format.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"
#include "gtest/gtest.h"
#include "httplib.h"
#include "tests/crash/daemon.h"
#include "tests/grpc/frontier_client.h"
#include "tests/hostile/http2.h"
#include "tests/support/raw_socket.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using hostile::Http2Call;
using hostile::Http2Frame;

constexpr size_t kMiB = size_t{1} << 20;
constexpr uint64_t kData = 0;

// Resident memory of the process, in bytes.
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

// A connection whose calls send as many bytes as the server allows and read no answers.
// Thread-compatible.
class HalfSpoken {
 public:
  // `from`: the local address to connect from, 127.x.x.x; nullptr = any.
  explicit HalfSpoken(const std::string& address, const char* from = nullptr)
      : socket_(address, from) {
    EXPECT_TRUE(socket_.connected());
    (void)fcntl(socket_.descriptor(), F_SETFL, O_NONBLOCK);
    out_ = RawSocket::Http2Preface();
  }

  // Sets the answer windows of all later calls to 0. Must be called before Begin().
  void GiveNoWindow() { out_ += Http2Frame(kSettings, 0, 0, std::string("\0\x04\0\0\0\0", 6)); }
  void Begin(uint64_t stream, const std::string& method) {
    out_ += Http2Call(stream, method);
    windows_[stream] = initial_;
  }
  // Sends the prefix of a message of `size` bytes.
  void Promise(uint64_t stream, size_t size) {
    std::string prefix(1, '\0');
    for (const int shift : {24, 16, 8, 0}) prefix.push_back(static_cast<char>(size >> shift));
    Data(stream, prefix);
  }
  void Whole(uint64_t stream, const std::string& message) {
    Promise(stream, message.size());
    if (!message.empty()) Data(stream, message);
  }
  // Makes the call send this message again and again, each time that Turn() is called with `fill`.
  void Repeat(uint64_t stream, const std::string& message) {
    std::string& bytes = repeated_[stream].bytes;
    bytes.assign(1, '\0');
    for (const int shift : {24, 16, 8, 0}) {
      bytes.push_back(static_cast<char>(message.size() >> shift));
    }
    bytes += message;
  }
  // Makes the call send this message once. Turn() sends it when it is called with `fill`.
  void Send(uint64_t stream, const std::string& message) {
    Repeat(stream, message);
    repeated_[stream].once = true;
  }
  // Sends and reads once. Returns true if any bytes moved. With `fill`, first adds more of each
  // message if there is room.
  bool Turn(bool fill) {
    bool moved = false;
    if (out_.size() < 65'536 && fill) {
      for (auto& [stream, window] : windows_) {
        const int64_t size = std::min<int64_t>({window, connection_, 16'000});
        if (size <= 0) continue;
        const std::string next = Next(stream, static_cast<size_t>(size));
        if (!next.empty()) Data(stream, next);
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
    if (got == 0 || (got < 0 && errno == ECONNRESET)) {
      ended_ += windows_.size();
      windows_.clear();
      cut_ = true;
    }
    return moved && !cut_;
  }
  [[nodiscard]] uint64_t sent() const { return sent_; }
  // The number of streams that the server has ended, one by one or together with the connection.
  [[nodiscard]] size_t ended() const { return ended_; }
  [[nodiscard]] bool cut() const { return cut_; }

 private:
  static constexpr uint8_t kSettings = 4;

  void Data(uint64_t stream, const std::string& bytes) {
    out_ += Http2Frame(kData, 0, stream, bytes);
    windows_[stream] -= static_cast<int64_t>(bytes.size());
    connection_ -= static_cast<int64_t>(bytes.size());
    sent_ += bytes.size();
  }
  // Returns the next bytes of the repeated message, or of a message that never ends.
  std::string Next(uint64_t stream, size_t size) {
    const auto it = repeated_.find(stream);
    if (it == repeated_.end()) return std::string(size, 'x');
    Repeated& repeated = it->second;
    if (repeated.once) {
      const size_t at =
          std::exchange(repeated.at, std::min(repeated.at + size, repeated.bytes.size()));
      return repeated.bytes.substr(at, repeated.at - at);
    }
    std::string next;
    while (next.size() < size) {
      const size_t more = std::min(size - next.size(), repeated.bytes.size() - repeated.at);
      next += repeated.bytes.substr(repeated.at, more);
      repeated.at = (repeated.at + more) % repeated.bytes.size();
    }
    return next;
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

  struct Repeated {
    std::string bytes;  // the message with its prefix
    size_t at = 0;      // next byte to send
    bool once = false;
  };

  RawSocket socket_;
  std::string out_;
  std::string in_;
  std::map<uint64_t, int64_t> windows_;  // of open streams, by id
  std::map<uint64_t, Repeated> repeated_;
  int64_t initial_ = 65'535;
  int64_t connection_ = 65'535;
  uint64_t sent_ = 0;
  size_t ended_ = 0;
  bool cut_ = false;
};

class CallMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  }
  explicit CallMemoryTest(const std::string& limits =
                              "  streams: 100\n  streams_per_client: 50\n"
                              "  list_write_timeout: 1s\n")
      : daemon_(dir_ / "data", dir_ / "log") {
    std::ofstream(dir_ / "config.yaml") << "durability: none\nfrontier:\n  enabled: true\n"
                                           // These connections answer no pings.
                                           "keepalive:\n  interval: 0\nlimits:\n"
                                        << limits << "  unacknowledged_bytes: 16777216\n";
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
  // Puts URLs of 100 queues, each with 60 kB of metadata.
  void PutLargeUrls(int count) {
    FrontierClient client(daemon_.channel());
    std::vector<uf::URLItem> items;
    for (int i = 0; i < count; ++i) {
      uf::URLItem item = Discovered("http://a.test/" + std::to_string(i), std::to_string(i % 100));
      (*item.mutable_discovered()->mutable_info()->mutable_metadata())["note"].add_values(
          std::string(60'000, 'x'));
      items.push_back(std::move(item));
    }
    (void)client.Put(items);
    // Reads all URLs, so that the store's own memory for them counts in `before_`.
    uf::URLItem item;
    for (int i = 0; i < count; ++i) {
      const grpc::Status found =
          client.Status("http://a.test/" + std::to_string(i), &item, std::to_string(i % 100));
      EXPECT_TRUE(found.ok()) << found.error_message();
    }
    before_ = MemoryOf(daemon_.pid());
  }
  // Sends and reads on all connections until no byte has moved for 3 s, but for at most 60 s.
  static void Play(std::vector<HalfSpoken>& connections, bool fill) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::seconds(60);
    for (Clock::time_point moved = Clock::now();
         Clock::now() < moved + std::chrono::seconds(3) && Clock::now() < end;) {
      for (HalfSpoken& connection : connections) {
        if (connection.Turn(fill)) moved = Clock::now();
      }
    }
  }
  // Opens 40 connections with 1,000 calls each. Each call sends `message`; nullptr = none.
  void Flood(const std::string& method, const std::string* message) {
    FloodAndClose(method, message);
    // The server frees the memory even if no further call comes.
    EXPECT_TRUE(Eventually([this] { return grown() < 60 * kMiB; }, Duration::Seconds(100)))
        << grown() << " bytes are not given back";
  }
  void FloodAndClose(const std::string& method, const std::string* message) {
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
    // The peak memory does not grow with the number of calls. Without a bound it was 530 to 750 MB.
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

// A stream that never ends can send 13,000 empty messages within its window. gRPC keeps each of
// them as a separate piece, which no other limit counts.
TEST_F(CallMemoryTest, OfFurtherMessagesIsBounded) {
  std::vector<HalfSpoken> connections;
  HalfSpoken& connection = connections.emplace_back(daemon_.grpc_address());
  for (uint64_t stream = 1; stream < 80; stream += 2) {
    connection.Begin(stream, "/grpc.health.v1.Health/Watch");
    for (int i = 0; i < 300; ++i) connection.Whole(stream, "");
  }
  Play(connections, /*fill=*/false);
  EXPECT_EQ(connection.ended(), 40U);
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
  // Without a bound this is 24 times 16 MiB.
  EXPECT_LT(grown(), 200 * kMiB) << connections.front().sent() << " bytes were sent";
}

// Previously, unfinished messages used up gRPC's memory quota, and gRPC ended streams and
// connections of other clients.
TEST_F(CallMemoryTest, OfUnfinishedMessagesEndsNothingOfOthers) {
  const auto pages = v1::PagesService::NewStub(daemon_.channel());
  grpc::ClientContext context;
  const auto stream = pages->UpsertPages(&context);
  v1::UpsertPagesRequest request;
  request.add_pages()->set_url("http://honest.test/");
  const auto is_acknowledged = [&] {
    request.set_sequence(request.sequence() + 1);
    v1::UpsertPagesResponse response;
    return stream->Write(request) && stream->Read(&response);
  };
  EXPECT_TRUE(is_acknowledged());
  std::vector<HalfSpoken> connections;
  for (int i = 0; i < 6; ++i) {
    HalfSpoken& connection = connections.emplace_back(daemon_.grpc_address(), "127.0.0.2");
    for (uint64_t call = 1; call < 12; call += 2) {
      connection.Begin(call, "/freshet.v1.PagesService/UpsertPages");
      connection.Promise(call, 16 * kMiB - 100);
    }
  }
  Play(connections, /*fill=*/true);
  EXPECT_TRUE(is_acknowledged());
  size_t cut = 0;
  for (const HalfSpoken& connection : connections) cut += connection.cut() ? 1 : 0;
  EXPECT_GT(cut, 0U);
  EXPECT_LT(grown(), 250 * kMiB);
  // A network that holds no unfinished messages may send without limit.
  request.mutable_pages(0)->set_url("http://honest.test/" + std::string(1000, 'a'));
  for (int i = 0; i < 2000; ++i) *request.add_pages() = request.pages(0);
  EXPECT_TRUE(is_acknowledged());
}

class BlockedClientsTest : public CallMemoryTest {
 protected:
  BlockedClientsTest()
      : CallMemoryTest(
            "  streams: 100\n  streams_per_client: 50\n  streams_per_connection: 1000\n") {}
  // Sends further calls as long as the server accepts them. If a connection has too many calls at a
  // time, gRPC closes it, and a new one is opened.
  void CallOn() {
    for (std::unique_ptr<Caller>& caller : callers_) {
      if (caller == nullptr) caller = std::make_unique<Caller>(daemon_.grpc_address());
      std::string& out = caller->out;
      for (; out.size() < 10'000; caller->stream += 2) out += Http2Call(caller->stream, "/a.B/C");
      const ssize_t sent =
          send(caller->socket.descriptor(), out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) {
        out.erase(0, static_cast<size_t>(sent));
      } else if (errno != EAGAIN) {
        caller = nullptr;
      }
    }
    LetPass(Duration::Millis(1));
  }

 private:
  // A client on a connection that reads no answers.
  struct Caller {
    // Reads the server's settings, which come first.
    explicit Caller(const std::string& address) : socket(address, "127.0.0.2", /*receives=*/2304) {
      EXPECT_TRUE(socket.Send(RawSocket::Http2Preface()));
      char settings[64];
      EXPECT_GT(recv(socket.descriptor(), settings, sizeof(settings), 0), 0);
    }

    RawSocket socket;
    std::string out = Http2Frame(4, 1, 0, "");
    uint64_t stream = 1;
  };
  std::array<std::unique_ptr<Caller>, 100>
      callers_;  // with 1,000 calls each; a network may have 6,000
};

// gRPC keeps each call until its answer is sent. Previously, 300 connections that read nothing, and
// whose calls were refused, held 1.4 GB.
TEST_F(BlockedClientsTest, HoldLittle) {
  size_t most = 0;
  for (int i = 0; i < 200; ++i) {
    CallOn();
    most = std::max(most, grown());
  }
  // Without a limit of calls per network this was 450 to 580 MB.
  EXPECT_LT(most, 350 * kMiB);
  FrontierClient client(daemon_.channel());
  EXPECT_NE(client.Put(Discovered("http://a.test/")), "none");
}

TEST_F(CallMemoryTest, OfUrlsThatNobodyTakesIsBounded) {
  PutLargeUrls(4000);
  std::vector<HalfSpoken> connections;
  connections.emplace_back(daemon_.grpc_address());
  uf::GetParams params = Params(1000, 100);
  for (uint64_t stream = 1; stream < 60; stream += 2) {
    connections.front().Begin(stream, "/urlfrontier.URLFrontier/GetURLs");
    connections.front().Whole(stream, params.SerializeAsString());
  }
  Play(connections, /*fill=*/false);
  // Without a bound this is 30 times 7.7 MB.
  EXPECT_LT(grown(), 80 * kMiB);
  // The streams are ended, so that other clients can get the URLs.
  for (int i = 0; i < 30 && connections.front().ended() < 30; ++i) Play(connections, false);
  EXPECT_EQ(connections.front().ended(), 30U);
}

// --- Many calls of clients that read no answers

class UnreadAnswersTest : public CallMemoryTest {
 protected:
  explicit UnreadAnswersTest(
      const std::string& limits =
          "  streams: 6000\n  streams_per_client: 4000\n  list_write_timeout: 1s\n")
      : CallMemoryTest(limits) {}

  // Returns a metric of the server.
  [[nodiscard]] size_t Metric(const std::string& name) const {
    const httplib::Result metrics =
        httplib::Client("http://" + daemon_.http_address()).Get("/metrics");
    const std::string body = metrics ? metrics->body : "";
    const std::string line = "\n" + name + " ";
    const size_t at = body.find(line);
    if (at == std::string::npos) return SIZE_MAX;
    return static_cast<size_t>(std::strtod(body.c_str() + at + line.size(), nullptr));
  }
  // A message of 240 bytes; its acknowledgement has 205.
  static uf::URLItem SmallPut() {
    uf::URLItem item = Discovered("http://a.test/");
    item.set_id(std::string(200, 'x'));
    return item;
  }
  static void PutAgainAndAgain(HalfSpoken& connection, uint64_t streams, const uf::URLItem& item) {
    for (uint64_t i = 0; i < streams; ++i) {
      connection.Begin(2 * i + 1, "/urlfrontier.URLFrontier/PutURLs");
      connection.Repeat(2 * i + 1, item.SerializeAsString());
    }
  }
  // The number of answer bytes that clients have not read.
  [[nodiscard]] size_t untaken() const { return Metric("freshet_untaken_answer_bytes"); }
};

// Each stream holds one batch, and all streams of a client together hold at most the client's
// share. Without these bounds, each stream held 1.1 MB.
TEST_F(UnreadAnswersTest, OfGetUrlsAreBoundedForAllStreamsTogether) {
  PutLargeUrls(4000);
  std::vector<HalfSpoken> connections;
  const std::string params = Params(1000, 100).SerializeAsString();
  for (int i = 0; i < 4; ++i) {
    HalfSpoken& connection = connections.emplace_back(daemon_.grpc_address());
    for (uint64_t stream = 1; stream < 400; stream += 2) {
      connection.Begin(stream, "/urlfrontier.URLFrontier/GetURLs");
      connection.Whole(stream, params);
    }
  }
  Play(connections, /*fill=*/false);
  // About 100 of the 800 streams may hold 64 KiB each.
  EXPECT_LT(grown(), 100 * kMiB);
}

TEST_F(UnreadAnswersTest, OfListUrlsAreBounded) {
  PutLargeUrls(1000);
  std::vector<HalfSpoken> connections;
  uf::ListUrlParams params;
  params.set_size(1000);
  HalfSpoken& connection = connections.emplace_back(daemon_.grpc_address());
  for (uint64_t stream = 1; stream < 40; stream += 2) {
    connection.Begin(stream, "/urlfrontier.URLFrontier/ListURLs");
    connection.Whole(stream, params.SerializeAsString());
  }
  Play(connections, /*fill=*/false);
  // Without a bound this is 20 times 15 MB.
  EXPECT_LT(grown(), 60 * kMiB);
}

// The clients send messages of 240 bytes, each with an acknowledgement of 205 bytes, on 20
// connections with 100 streams each. Without the bound, each stream held 256 KiB of
// acknowledgements. The load also makes gRPC short of memory.
TEST_F(UnreadAnswersTest, ToUrlsAreBoundedForAllStreamsTogether) {
  const uf::URLItem item = SmallPut();
  std::vector<HalfSpoken> connections;
  for (int i = 0; i < 20; ++i) {
    HalfSpoken& connection = connections.emplace_back(daemon_.grpc_address());
    PutAgainAndAgain(connection, 100, item);
  }
  Play(connections, /*fill=*/true);
  // The bound is three eighths of 16 MiB, plus the answers in flight when it is reached.
  EXPECT_GT(untaken(), 1 * kMiB);
  EXPECT_LT(untaken(), 10 * kMiB);
  // gRPC holds 64 KiB of unread input for each stream. The window sizes that gRPC chooses by
  // default cost 600 to 1,100 MB.
  EXPECT_LT(grown(), 400 * kMiB);
}

// Twenty clients that read no acknowledgements use all the room that they may use. Another client
// still finds room.
TEST_F(UnreadAnswersTest, OfManyClientsLeaveRoomForOthers) {
  const uf::URLItem item = SmallPut();
  std::vector<HalfSpoken> connections;
  for (int client = 2; client < 22; ++client) {
    const std::string from = "127.0.0." + std::to_string(client);
    HalfSpoken& connection = connections.emplace_back(daemon_.grpc_address(), from.c_str());
    PutAgainAndAgain(connection, 200, item);
  }
  Play(connections, /*fill=*/true);
  EXPECT_GT(untaken(), 8 * kMiB);
  FrontierClient client(daemon_.channel());
  EXPECT_NE(client.Put(item), "none");
}

// Health checks have the smallest answers and need no identity. While many places are taken, health
// checks that do not read lose theirs.
TEST_F(UnreadAnswersTest, OfHealthChecksGiveWay) {
  std::vector<HalfSpoken> connections;
  for (int client = 2; client < 6; ++client) {
    const std::string from = "127.0.0." + std::to_string(client);
    HalfSpoken& connection = connections.emplace_back(daemon_.grpc_address(), from.c_str());
    connection.GiveNoWindow();
    for (uint64_t stream = 1; stream < 2000; stream += 2) {
      connection.Begin(stream, "/grpc.health.v1.Health/Check");
      connection.Whole(stream, "");
    }
  }
  Play(connections, /*fill=*/false);
  size_t ended = 0;
  for (const HalfSpoken& connection : connections) ended += connection.ended();
  EXPECT_GE(ended, 2000U) << "of 4000 the first quarter of 6000 places may stay";
}

// The clients have so many addresses that the table of answers has no room for a newcomer. Each
// client may take 10 minutes to read an answer.
class CrowdedAnswersTest : public UnreadAnswersTest {
 protected:
  CrowdedAnswersTest()
      : UnreadAnswersTest(
            "  streams: 4000\n  streams_per_client: 4000\n  list_write_timeout: 10m\n") {}
};

TEST_F(CrowdedAnswersTest, ANewClientFindsRoomWithinSeconds) {
  // The acknowledgement of each message takes about 29 KB.
  v1::ReportCrawlsRequest request;
  request.set_sequence(1);
  for (int i = 0; i < 1000; ++i) request.add_results();
  const std::string message = request.SerializeAsString();
  std::vector<HalfSpoken> connections;
  // Twenty clients fill the shared room until no answer fits; the others fill the room for
  // newcomers.
  for (int client = 0; client < 700; ++client) {
    const std::string from =
        "127.0." + std::to_string(1 + client / 200) + "." + std::to_string(client % 200 + 1);
    HalfSpoken& connection = connections.emplace_back(daemon_.grpc_address(), from.c_str());
    for (uint64_t i = 0; i < (client < 20 ? 30U : 4U); ++i) {
      connection.Begin(2 * i + 1, "/freshet.v1.IngestService/ReportCrawls");
      connection.Whole(2 * i + 1, message);
    }
  }
  Play(connections, /*fill=*/false);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  v1::UpsertPagesRequest page;
  page.add_pages()->set_url("http://bystander.test/");
  v1::UpsertPagesResponse response;
  const auto pages = v1::PagesService::NewStub(daemon_.channel());
  const auto stream = pages->UpsertPages(&context);
  EXPECT_TRUE(stream->Write(page) && stream->Read(&response)) << untaken();
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  Play(connections, /*fill=*/false);
  size_t ended = 0;
  for (const HalfSpoken& connection : connections) ended += connection.ended();
  EXPECT_GT(ended, 0U) << "they made room";
}

TEST_F(CrowdedAnswersTest, WhatNobodyReadsOfACallThatWaitsTakesNoRoom) {
  v1::NextRequest request;
  request.set_worker("w");
  request.set_max_assignments(1);
  request.mutable_max_wait()->set_seconds(60);
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(
      1000, std::string(1 * kMiB, 'x'));
  std::vector<HalfSpoken> connections;
  HalfSpoken& connection = connections.emplace_back(daemon_.grpc_address());
  connection.Begin(1, "/freshet.v1.SchedulerService/Next");
  connection.Send(1, request.SerializeAsString());
  // While the client has sent only a part of the request, the bytes that wait to be read must not
  // count either.
  Play(connections, /*fill=*/true);
  EXPECT_EQ(connection.ended(), 0U);
  EXPECT_GT(connection.sent(), 1 * kMiB);
  EXPECT_EQ(Metric("freshet_unacknowledged_bytes"), 0U);
}

// A small answer that the client does not read must not keep its large request in memory.
TEST_F(CrowdedAnswersTest, RequestsThatAreAnsweredTakeNoRoom) {
  const std::string url = "http://a.test/" + std::string(1400, 'x');
  const auto pages = v1::PagesService::NewStub(daemon_.channel());
  {
    grpc::ClientContext context;
    v1::UpsertPagesRequest page;
    page.add_pages()->set_url(url);
    v1::UpsertPagesResponse response;
    const auto stream = pages->UpsertPages(&context);
    EXPECT_TRUE(stream->Write(page) && stream->Read(&response));
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }
  v1::RecheckPagesRequest request;
  for (int i = 0; i < 1000; ++i) request.add_urls(url);
  const std::string message = request.SerializeAsString();
  std::vector<HalfSpoken> connections;
  for (int client = 2; client < 10; ++client) {
    const std::string from = "127.0.0." + std::to_string(client);
    HalfSpoken& connection = connections.emplace_back(daemon_.grpc_address(), from.c_str());
    connection.GiveNoWindow();
    for (uint64_t i = 0; i < 4; ++i) {
      connection.Begin(2 * i + 1, "/freshet.v1.PagesService/RecheckPages");
      connection.Send(2 * i + 1, message);
    }
  }
  Play(connections, /*fill=*/true);
  EXPECT_EQ(Metric("freshet_unacknowledged_bytes"), 0U);
}

// A worker that asks for 10,000 pages and reads none gets only as many as may wait for it.
TEST_F(UnreadAnswersTest, ToWorkersAreBounded) {
  const auto pages = v1::PagesService::NewStub(daemon_.channel());
  for (int batch = 0; batch < 10; ++batch) {
    v1::UpsertPagesRequest request;
    for (int i = 0; i < 1000; ++i) {
      request.add_pages()->set_url(
          fmt::format("http://h{}.test/{}/{}", i, batch, std::string(2000, 'x')));
    }
    grpc::ClientContext context;
    const auto stream = pages->UpsertPages(&context);
    v1::UpsertPagesResponse response;
    ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
    ASSERT_EQ(response.ack().statuses_size(), 0) << response.ShortDebugString();
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }
  v1::SetCrawlRateRequest rate;
  rate.set_crawl_rate_per_second(5000);
  v1::SetCrawlRateResponse was;
  grpc::ClientContext context;
  ASSERT_TRUE(
      v1::AdminService::NewStub(daemon_.channel())->SetCrawlRate(&context, rate, &was).ok());
  std::vector<HalfSpoken> connections;
  connections.emplace_back(daemon_.grpc_address());
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker("w");
  v1::CrawlRequest credit;
  credit.mutable_credit()->set_assignments(10'000);
  connections.front().Begin(1, "/freshet.v1.SchedulerService/Crawl");
  connections.front().Whole(1, hello.SerializeAsString());
  connections.front().Whole(1, credit.SerializeAsString());
  Play(connections, /*fill=*/false);
  // The connection itself holds 64 KiB of answers, and 256 KiB more may wait.
  EXPECT_GT(untaken(), 200'000U);
  EXPECT_LT(untaken(), 1 * kMiB);
  EXPECT_GT(Metric("freshet_open_leases"), 100U);
  EXPECT_LT(Metric("freshet_open_leases"), 1000U);
}

}  // namespace
}  // namespace freshet
