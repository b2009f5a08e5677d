// Tests known faults of the linked gRPC and of HTTP/2 servers (docs/security.md has the table).
// Each attack has only a small cost, with TLS or without, and other clients are not affected.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <string>

#include "core/base/sanitized.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/system_clock.h"
#include "server/config.h"
#include "server/ports/grpc_port.h"
#include "tests/hostile/http2.h"
#include "tests/hostile/known_headers.h"
#include "tests/hostile/socket.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificates.h"

namespace freshet {
namespace {

using hostile::HeadersOfCall;
using hostile::Http2Block;
using hostile::Http2Frame;
using hostile::Http2Header;
using hostile::Opening;
using hostile::Socket;

constexpr const char* kMethod = "/grpc.health.v1.Health/Check";
constexpr int kPatienceMillis = 60'000;
constexpr uint64_t kContinuation = 9;
constexpr size_t kMostFrameBytes = 16384;

double ProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

uint64_t MibInUse() {
  uint64_t all = 0;
  uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<uint64_t>(getpagesize()) >> 20;
}

std::string Call(uint64_t stream, const std::string& more = {}) {
  return Http2Block(stream, HeadersOfCall(kMethod) + more) +
         Http2Frame(0, 1, stream, std::string(5, '\0'));
}

// Sends frames and a ping. Reads up to the answer to the ping, or to the end.
std::string AnswerTo(Socket& socket, const std::string& frames) {
  socket.Send(frames + hostile::Http2Ping());
  const std::string pong = Http2Frame(6, 1, 0, std::string(8, 'p'));
  std::string all;
  while (all.find(pong) == std::string::npos) {
    const std::string some = socket.Receive();
    if (some.empty()) break;
    all += some;
  }
  return all;
}

// Holds calls open until their clients end them. Calls of kReads read everything, calls of kWaits
// nothing. All other methods are UNIMPLEMENTED.
constexpr const char* kReads = "/held/Reads";
constexpr const char* kWaits = "/held/Waits";

class HeldCalls final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    const std::string& method = context->method();
    if (method == kReads || method == kWaits) return new Held(method == kReads);
    return CallbackGenericService::CreateReactor(context);
  }

 private:
  class Held final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Held(bool reads) {
      if (reads) StartRead(&message_);
    }

   private:
    void OnReadDone(bool ok) override {
      if (ok) StartRead(&message_);
    }
    void OnCancel() override { Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }

    grpc::ByteBuffer message_;
  };
};

// The gRPC port with TLS or without; measures its memory and processor time.
class WireServer {
 public:
  explicit WireServer(bool tls) : tls_(tls) {
    // OpenSSL writes to connections that the server has ended.
    std::signal(SIGPIPE, SIG_IGN);
    config_.listen = "127.0.0.1:0";
    if (tls) {
      hostile::SpeakTls();
      const KeyPair pair = TestAuthority().Issue({.names = "IP:127.0.0.1"});
      config_.tls_certificate = dir_ / "server.pem";
      config_.tls_key = dir_ / "server.key";
      ReplaceFile(config_.tls_certificate, pair.certificate);
      ReplaceFile(config_.tls_key, pair.key);
    }
    StatusOr<std::unique_ptr<Door>> door = Door::Open(config_, clock_);
    EXPECT_TRUE(door.ok()) << door.status();
    door_ = *std::move(door);
    port_ = std::make_unique<GrpcPort>(config_, 1000, *door_, clock_);
    const StatusOr<int> number = port_->Start(calls_);
    EXPECT_TRUE(number.ok()) << number.status();
    address_ = "127.0.0.1:" + std::to_string(*number);
    // Makes one call first, so that memory that is allocated only once is not measured.
    EXPECT_TRUE(Serves());
    seconds_ = ProcessorSeconds();
    mib_ = MibInUse();
  }

  // Returns true if the server answers another client.
  [[nodiscard]] bool Serves() {
    Socket other = Open();
    std::string answer = AnswerTo(other, Call(1));
    while (answer.find("grpc-status") == std::string::npos) {
      const std::string some = other.Receive();
      if (some.empty()) return false;
      answer += some;
    }
    return true;
  }
  // Opens a connection: sends the preface, settings, and by default an acknowledgement of the
  // server's settings.
  [[nodiscard]] Socket Open(const std::string& taken_in = Http2Frame(4, 1, 0, "")) {
    Socket socket(address_, kPatienceMillis, tls_ ? Opening::kAsServersWant : Opening::kPlain);
    EXPECT_TRUE(socket.Send(hostile::kHttp2Preface + Http2Frame(4, 0, 0, "") + taken_in));
    return socket;
  }
  // Allows ten times the usual cost, which is far below the cost without limits.
  void ExpectCheap() const {
    if (kSanitized) return;
    EXPECT_LT(ProcessorSeconds(), seconds_ + 10);
    EXPECT_LT(MibInUse(), mib_ + 100);
  }

 private:
  const bool tls_;
  TempDir dir_;
  SystemClock clock_;
  ServerConfig config_;
  std::unique_ptr<Door> door_;
  HeldCalls calls_;
  std::unique_ptr<GrpcPort> port_;
  std::string address_;
  double seconds_ = 0;
  uint64_t mib_ = 0;
};

// Sends a piece up to `most` times. Returns how often the server took it.
size_t SendUntilCut(Socket& socket, const std::string& piece, size_t most) {
  for (size_t sent = 0; sent < most; ++sent) {
    if (!socket.Send(piece)) return sent;
  }
  return most;
}

std::string Repeated(size_t times, const std::string& piece) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += piece;
  return all;
}

// Returns true if the server no longer answers on this connection after `frames`.
bool IsCut(Socket& socket, const std::string& frames) {
  return AnswerTo(socket, frames).find("pppppppp") == std::string::npos;
}

// The test parameter is true for TLS.
class Frames : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(PlainAndTls, Frames, testing::Bool());

// CVE-2023-33953: gRPC keeps the incomplete part of a text, and parses it again from its start with
// each frame.
TEST_P(Frames, ATextThatSaysOneGibIsCut) {
  WireServer server(GetParam());
  const std::string literal = std::string(1, '\0') + hostile::HpackNumber(1 << 30, 7);
  const std::string piece = Http2Frame(kContinuation, 0, 1, std::string(kMostFrameBytes, 'a'));
  for (int i = 0; i < 3; ++i) {
    Socket socket = server.Open();
    EXPECT_TRUE(socket.Send(Http2Frame(1, 0, 1, literal)));
    EXPECT_LT(SendUntilCut(socket, piece, 2000), 2000U);
  }
  server.ExpectCheap();
  EXPECT_TRUE(server.Serves());
}

// A variant of CVE-2023-33953: endless zeros in front of a number.
TEST_P(Frames, ANumberWithoutAnEndIsCut) {
  WireServer server(GetParam());
  Socket socket = server.Open();
  EXPECT_TRUE(socket.Send(Http2Frame(1, 0, 1, std::string("\0\x7f", 2))));
  const std::string piece = Http2Frame(kContinuation, 0, 1, std::string(kMostFrameBytes, '\x80'));
  EXPECT_LT(SendUntilCut(socket, piece, 2000), 2000U);
  server.ExpectCheap();
  EXPECT_TRUE(server.Serves());
}

// CONTINUATION flood (VU#421644), and the third part of CVE-2023-33953: each frame alone is within
// limits.metadata_bytes.
TEST_P(Frames, HeadersWithoutAnEndAreCut) {
  WireServer server(GetParam());
  for (const std::string& headers :
       {std::string(), Http2Header("a", "1"), Http2Header("x-company", std::string(4000, 'c'))}) {
    Socket socket = server.Open();
    EXPECT_TRUE(socket.Send(Http2Frame(1, 0, 1, HeadersOfCall(kMethod))));
    const std::string piece = Http2Frame(kContinuation, 0, 1, headers);
    EXPECT_LT(SendUntilCut(socket, piece, 1'000'000), 1'000'000U);
  }
  server.ExpectCheap();
  EXPECT_TRUE(server.Serves());
}

// CVE-2023-44487: rapid reset.
TEST_P(Frames, CallsThatAreTakenBackByTheThousandAreCut) {
  WireServer server(GetParam());
  for (const char* method : {kMethod, "/grpc.health.v1.Health/Watch", "/nobodys/Method"}) {
    Socket socket = server.Open();
    uint64_t stream = 1;
    bool taken = true;
    for (; taken && stream < 2'000'000; stream += 2) {
      taken = socket.Send(Http2Block(stream, HeadersOfCall(method)) + hostile::Http2Cancel(stream));
    }
    EXPECT_FALSE(taken) << method;
  }
  server.ExpectCheap();
  EXPECT_TRUE(server.Serves());
}

// gRPC enforces limits.streams_per_connection only after the client has acknowledged its settings.
TEST_P(Frames, CallsOfAClientThatTakesInNoSettingsAreCut) {
  WireServer server(GetParam());
  Socket socket = server.Open("");
  uint64_t stream = 1;
  bool taken = true;
  for (; taken && stream < 200'000; stream += 2) {
    taken = socket.Send(Http2Block(stream, HeadersOfCall("/grpc.health.v1.Health/Watch")));
  }
  EXPECT_FALSE(taken);
  server.ExpectCheap();
  EXPECT_TRUE(server.Serves());
}

// CVE-2019-9515 and similar: frames without content.
TEST_P(Frames, FramesThatBringNothingAreCut) {
  WireServer server(GetParam());
  const std::string frames[] = {
      Http2Frame(4, 0, 0, ""),                                // SETTINGS
      Http2Frame(4, 0, 0, std::string("\0\x03\0\0\0\1", 6)),  // SETTINGS with a value
      Http2Frame(2, 0, 1, std::string("\0\0\0\0\x10", 5)),    // PRIORITY
      Http2Frame(0x4f, 0, 0, "what nobody knows"),
  };
  for (const std::string& frame : frames) {
    Socket socket = server.Open();
    EXPECT_LT(SendUntilCut(socket, frame, 1'000'000), 1'000'000U);
  }
  Socket socket = server.Open();
  EXPECT_TRUE(socket.Send(Http2Block(1, HeadersOfCall("/grpc.health.v1.Health/Watch"))));
  EXPECT_LT(SendUntilCut(socket, Http2Frame(0, 0, 1, ""), 1'000'000), 1'000'000U);  // DATA
  server.ExpectCheap();
  EXPECT_TRUE(server.Serves());
}

// gRPC keeps each frame of an incomplete message as a separate piece.
TEST_P(Frames, MessagesInPiecesOfAByteAreCut) {
  WireServer server(GetParam());
  Socket socket = server.Open();
  const std::string ten_megabytes("\0\0\x98\x96\x80", 5);
  EXPECT_TRUE(
      socket.Send(Http2Block(1, HeadersOfCall(kReads)) + Http2Frame(0, 0, 1, ten_megabytes)));
  EXPECT_TRUE(IsCut(socket, Repeated(1100, Http2Frame(0, 0, 1, "x"))));
  // Frames of streams that were never opened, or that the server has ended, do not hide small
  // pieces of other streams.
  Socket other = server.Open();
  std::string others;
  for (uint64_t stream = 3; stream < 2200; stream += 2) {
    others += Http2Frame(0, 0, 0x7f000001 + stream, "x");
  }
  for (uint64_t stream = 3; stream < 1000; stream += 2) {
    others += Http2Block(stream, HeadersOfCall(kMethod)) + Http2Frame(0, 0, stream, "x");
  }
  EXPECT_FALSE(IsCut(
      other, Http2Block(1, HeadersOfCall(kReads)) + others + Http2Frame(0, 0, 1, ten_megabytes)));
  EXPECT_TRUE(IsCut(other, Repeated(1100, Http2Frame(0, 0, 1, "x"))));
  server.ExpectCheap();
  EXPECT_TRUE(server.Serves());
}

// gRPC does not count the 40 bytes that it keeps for each unread frame. Without the limit, 64 KiB
// of a stream took 1.7 MB.
TEST_P(Frames, SmallMessagesThatNobodyReadsAreCut) {
  WireServer server(GetParam());
  const std::string message = Http2Frame(0, 0, 1, std::string(5, '\0'));
  Socket unread = server.Open();
  EXPECT_FALSE(IsCut(unread, Http2Block(1, HeadersOfCall(kWaits)) + Repeated(2000, message)));
  EXPECT_TRUE(IsCut(unread, Repeated(100, message)));
  EXPECT_TRUE(server.Serves());
}

// A stream that is read can continue for ever if its messages have at least three bytes.
TEST_P(Frames, SmallMessagesThatAreReadMayComeForEver) {
  WireServer server(GetParam());
  Socket socket = server.Open();
  std::string answers;
  EXPECT_TRUE(socket.Send(Http2Block(1, HeadersOfCall(kReads))));
  const std::string head("\0\0\4\x08\0\0\0\0\1", 9);  // a WINDOW_UPDATE
  const std::string message("\0\0\0\0\3abc", 8);
  constexpr size_t kAtATime = 600;
  size_t window = 16 << 10;
  for (size_t sent = 0; sent < 20'000; sent += kAtATime) {
    for (size_t at = 0; window < message.size() * kAtATime;) {
      if ((at = answers.find(head)) != std::string::npos && answers.size() >= at + 13) {
        for (size_t i = 0, more = 0; i < 4; ++i) {
          more = more << 8 | static_cast<uint8_t>(answers[at + 9 + i]);
          if (i == 3) window += more;
        }
        answers.erase(0, at + 13);
        continue;
      }
      const std::string some = socket.Receive();
      ASSERT_FALSE(some.empty());
      answers += some;
    }
    window -= message.size() * kAtATime;
    ASSERT_TRUE(socket.Send(Repeated(kAtATime, Http2Frame(0, 0, 1, message)))) << sent;
  }
  EXPECT_FALSE(IsCut(socket, ""));
}

// CVE-2019-9512: gRPC itself ends connections that send only pings.
TEST_P(Frames, PingsWithoutAnythingElseAreCut) {
  WireServer server(GetParam());
  Socket socket = server.Open();
  EXPECT_LT(SendUntilCut(socket, hostile::Http2Ping(), 1'000'000), 1'000'000U);
  server.ExpectCheap();
  EXPECT_TRUE(server.Serves());
}

// CVE-2025-8671, MadeYouReset: frames that make a server cancel a call. They end the connection or
// do nothing.
TEST_P(Frames, FramesThatHaveAServerTakeCallsBackCostLittle) {
  WireServer server(GetParam());
  const std::string nothing_more(4, '\0');
  const std::string too_much("\x7f\xff\xff\xff", 4);
  for (const std::string& increment : {nothing_more, too_much}) {
    Socket socket = server.Open();
    uint64_t stream = 1;
    for (bool taken = true; taken && stream < 20'000; stream += 2) {
      taken =
          socket.Send(Http2Block(stream, HeadersOfCall(kMethod)) +
                      Http2Frame(8, 0, stream, increment) + Http2Frame(8, 0, stream, increment));
    }
  }
  server.ExpectCheap();
  EXPECT_TRUE(server.Serves());
}

// CVE-2023-32731, CVE-2023-32732 and CVE-2024-7246: an error in one call can end its connection,
// but does not change another call.
TEST_P(Frames, WhatIsWrongWithOneCallMakesNoOtherDifferent) {
  WireServer server(GetParam());
  const auto indexed = [](const std::string& name, const std::string& value) {
    std::string header = Http2Header(name, value);
    header[0] = '\x40';  // a header to keep in the HPACK table
    return header;
  };
  const std::string remembered = indexed("x-request-id", "remembered");
  const std::string newest("\xbe");  // the newest entry of the HPACK table
  for (const std::string& wrong :
       {indexed("te", "@@@"), indexed("grpc-timeout", "bogus"), indexed("x-bin", "@@@"),
        Http2Header("x-company", std::string(12'000, 'c'))}) {
    Socket socket = server.Open();
    (void)AnswerTo(socket, Call(1, wrong + remembered));
    // The call is answered, or the connection has ended.
    const std::string answer = AnswerTo(socket, Call(3, newest)) + AnswerTo(socket, "");
    for (const char* different : {"Missing", "Bad", "Failed"}) {
      EXPECT_THAT(answer, testing::Not(testing::HasSubstr(different)));
    }
  }
  EXPECT_TRUE(server.Serves());
}

// An honest client may cancel all its open calls at once. This test cancels 900; a connection may
// have 1000 open calls.
TEST_P(Frames, HonestCallsMayEndTogether) {
  WireServer server(GetParam());
  Socket socket = server.Open();
  std::string frames;
  for (uint64_t stream = 1; stream < 1800; stream += 2) {
    frames += Http2Block(stream, HeadersOfCall("/grpc.health.v1.Health/Watch"));
  }
  for (uint64_t stream = 1; stream < 1800; stream += 2) frames += hostile::Http2Cancel(stream);
  EXPECT_THAT(AnswerTo(socket, frames), testing::HasSubstr("pppppppp"));
}

}  // namespace
}  // namespace freshet
