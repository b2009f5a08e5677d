#include "server/ports/connections.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "core/base/sanitized.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/client_network.h"
#include "server/base/grpc_threads.h"
#include "spdlog/spdlog.h"
#include "sync/mutex.h"
#include "tests/support/raw_socket.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using testing::HasSubstr;

// Keeps the connections that the port passes to it, as gRPC does. Thread-safe.
class Holder {
 public:
  void Take(int descriptor) {
    const MutexLock lock(mutex_);
    held_.insert(descriptor);
    changed_.NotifyAll();
  }
  bool Await(size_t count, int millis = 60'000) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(millis);
    const MutexLock lock(mutex_);
    while (held_.size() < count && std::chrono::steady_clock::now() < end) {
      changed_.WaitUntil(mutex_, end);
    }
    return held_.size() >= count;
  }
  // Reads `bytes` bytes from the first connection, or fewer if no more come.
  std::string Read(size_t bytes) {
    const MutexLock lock(mutex_);
    std::string read;
    while (read.size() < bytes) {
      pollfd ready{.fd = *held_.begin(), .events = POLLIN, .revents = 0};
      char byte = 0;
      if (poll(&ready, 1, 60'000) != 1 || recv(ready.fd, &byte, 1, 0) != 1) break;
      read.push_back(byte);
    }
    return read;
  }
  // Sends a byte on each connection, as gRPC does in a handshake.
  void AnswerAll() {
    const MutexLock lock(mutex_);
    for (const int each : held_) (void)send(each, "x", 1, MSG_NOSIGNAL);
  }
  [[nodiscard]] size_t CountFrom(const std::string& network) {
    const MutexLock lock(mutex_);
    return static_cast<size_t>(std::count_if(held_.begin(), held_.end(), [&](int each) {
      return NetworkText(NetworkOfSocket(each)) == network;
    }));
  }
  void CloseOne() {
    const MutexLock lock(mutex_);
    close(*held_.begin());
    held_.erase(held_.begin());
  }
  ~Holder() {
    for (const int each : held_) close(each);
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::set<int> held_ FRESHET_GUARDED_BY(mutex_);
};

class ConnectionsTest : public testing::Test {
 protected:
  ConnectionsTest() { spdlog::set_level(spdlog::level::off); }
  void Start(Connections& connections, const std::string& address = "127.0.0.1:0") {
    const StatusOr<int> port = connections.Listen(address);
    ASSERT_TRUE(port.ok()) << port.status().ToString();
    port_ = *port;
    connections.Start([this](int descriptor) { holder_.Take(descriptor); });
  }

  // Returns a client that has sent the HTTP/2 preface.
  [[nodiscard]] RawSocket Client() const {
    RawSocket client(port_);
    EXPECT_TRUE(client.Send(RawSocket::Http2Preface()));
    return client;
  }

  // Waits, because a connection is closed before it is counted.
  [[nodiscard]] bool CountsSilent(const Connections& connections, uint64_t count) {
    (void)Eventually([&] { return connections.stats().silent >= count; });
    return connections.stats().silent == count;
  }

  SystemClock clock_;
  Holder holder_;
  int port_ = 0;
};

TEST_F(ConnectionsTest, TellsOneTooManyWhyAndTakesAnotherOnceThereIsRoom) {
  Connections connections(3, 3, clock_);
  Start(connections);
  std::vector<RawSocket> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(Client());
  ASSERT_TRUE(holder_.Await(3));
  EXPECT_EQ(connections.stats().open, 3u);
  const RawSocket refused(port_);
  EXPECT_TRUE(refused.Send(RawSocket::Http2Preface()));
  bool closed = false;
  const std::string frames = refused.Read(&closed);
  EXPECT_TRUE(closed);
  EXPECT_THAT(frames, HasSubstr("3 connections are open, the most that this server takes: close "
                                "some, or try again later"));
  EXPECT_EQ(connections.stats().refused, 1u);
  // One of the holder's connections closes. The port gets no notice of this.
  holder_.CloseOne();
  // The port finds the closed connection only when it counts its connections. It does not count at
  // every attempt to connect, so the test makes several attempts.
  const Instant end = clock_.Now() + Duration::Seconds(60);
  std::vector<RawSocket> attempts;
  do {
    attempts.push_back(Client());
  } while (!holder_.Await(3, 20) && clock_.Now() < end);
  EXPECT_EQ(connections.stats().open, 3u);
  EXPECT_EQ(connections.stats().accepted, 4u);
}

TEST_F(ConnectionsTest, SilentOnesMakeRoomTheOldestFirst) {
  Connections connections(3, 3, clock_);
  Start(connections);
  std::vector<RawSocket> silent;
  for (int i = 0; i < 3; ++i) silent.emplace_back(port_);
  WaitUntil([&] { return connections.stats().open >= 3; });
  const RawSocket honest = Client();
  EXPECT_TRUE(holder_.Await(1));
  bool closed = false;
  EXPECT_THAT(silent[0].Read(&closed), HasSubstr("3 connections are open"));
  EXPECT_TRUE(closed);
  EXPECT_EQ(connections.stats().refused, 1u);
  // The other silent clients can still begin.
  for (int i = 1; i < 3; ++i) EXPECT_TRUE(silent[i].Send(RawSocket::Http2Preface()));
  EXPECT_TRUE(holder_.Await(3));
  EXPECT_EQ(connections.stats().open, 3u);
  EXPECT_EQ(connections.stats().accepted, 3u);
}

// One client cannot keep out another. The port tells clients apart by address.
TEST_F(ConnectionsTest, RefusesOneTooManyOfAClient) {
  Connections connections(10, 2, clock_);
  Start(connections);
  std::vector<RawSocket> clients;
  const auto come = [&](const char* from) {
    clients.emplace_back(port_, from);
    ASSERT_TRUE(clients.back().connected());
    EXPECT_TRUE(clients.back().Send(RawSocket::Http2Preface()));
  };
  come("127.0.0.2");
  come("127.0.0.2");
  ASSERT_TRUE(holder_.Await(2));
  come("127.0.0.2");
  bool closed = false;
  EXPECT_THAT(
      clients.back().Read(&closed),
      HasSubstr("2 connections from 127.0.0.2 are open, the most that one client may have"));
  EXPECT_TRUE(closed);
  EXPECT_EQ(connections.stats().refused_by_client, 1U);
  come("127.0.0.3");
  EXPECT_TRUE(holder_.Await(3));
  // A client may connect again once one of its connections is closed.
  holder_.CloseOne();
  const Instant end = clock_.Now() + Duration::Seconds(60);
  do {
    come("127.0.0.2");
  } while (!holder_.Await(3, 20) && clock_.Now() < end);
  EXPECT_EQ(connections.stats().open, 3U);
}

// After two clients have opened as many connections as they may, there are places for others.
TEST_F(ConnectionsTest, LeavesPlacesForNewClients) {
  Connections connections(64, 32, clock_);
  Start(connections);
  std::vector<RawSocket> clients;
  const auto come = [&](const std::string& from) {
    clients.emplace_back(port_, from.c_str());
    ASSERT_TRUE(clients.back().connected());
    EXPECT_TRUE(clients.back().Send(RawSocket::Http2Preface()));
  };
  for (int i = 0; i < 32; ++i) {
    come("127.0.0.2");
    come("127.0.0.3");
  }
  // Any client may take places in the first three quarters (core/base/shares.h). The next eighth is
  // reserved for clients with fewer than kFewPlaces places, and both of these clients have more.
  ASSERT_TRUE(holder_.Await(48));
  bool closed = false;
  EXPECT_THAT(clients.back().Read(&closed),
              HasSubstr("24 connections from 127.0.0.3 are open, the most that one client may"));
  for (int i = 0; i < 8; ++i) come("127.0.0.4");
  EXPECT_TRUE(holder_.Await(56));
  for (int i = 5; i < 9; ++i) come("127.0.0." + std::to_string(i));
  EXPECT_TRUE(holder_.Await(60));
}

// If a connection speaks HTTP/2, the port passes it on. None of its bytes are lost, in whatever
// pieces they arrived.
TEST_F(ConnectionsTest, HandsOverWhoSpeaksHttp2AndClosesOthers) {
  Connections connections(20, 10, clock_);
  Start(connections);
  const std::string preface = RawSocket::Http2Preface();
  for (const std::string said : {"GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/1", "\x16\x03\x01"}) {
    const RawSocket other(port_);
    EXPECT_TRUE(other.Send(said));
    bool closed = false;
    EXPECT_EQ(other.Read(&closed), "") << said;
    EXPECT_TRUE(closed) << said;
  }
  EXPECT_TRUE(CountsSilent(connections, 3));
  const RawSocket piecemeal(port_);
  for (const char byte : preface) EXPECT_TRUE(piecemeal.Send(std::string(1, byte)));
  ASSERT_TRUE(holder_.Await(1));
  EXPECT_EQ(holder_.Read(preface.size()), preface);
  // Bytes after the preface arrive, too.
  EXPECT_TRUE(piecemeal.Send("x"));
  EXPECT_EQ(holder_.Read(1), "x");
}

// A clock that a test moves. Thread-safe.
class SetClock final : public Clock {
 public:
  Instant Now() override { return Instant::FromMicros(1'700'000'000'000'000 + ahead_us_); }
  void Advance(Duration by) { ahead_us_ += by.micros(); }

 private:
  std::atomic<int64_t> ahead_us_{0};
};

TEST_F(ConnectionsTest, ClosesWhoSaysNothingInTime) {
  SetClock clock;
  Connections connections(20, 10, clock);
  Start(connections);
  const RawSocket silent(port_);
  const RawSocket beginning(port_);
  EXPECT_TRUE(beginning.Send("PRI"));
  WaitUntil([&] { return connections.stats().open >= 2; });
  clock.Advance(Duration::Seconds(19));
  const RawSocket first = Client();
  EXPECT_TRUE(holder_.Await(1));
  EXPECT_EQ(connections.stats().open, 3u);
  clock.Advance(Duration::Seconds(1));
  const RawSocket second = Client();
  EXPECT_TRUE(holder_.Await(2));
  for (const RawSocket* one : {&silent, &beginning}) {
    bool closed = false;
    EXPECT_EQ(one->Read(&closed), "");
    EXPECT_TRUE(closed);
  }
  EXPECT_TRUE(CountsSilent(connections, 2));
  EXPECT_EQ(connections.stats().open, 2u);
}

// gRPC does handshakes on the threads that serve all clients, so the port hands over only a few at
// a time.
TEST_F(ConnectionsTest, HandsOverFewHandshakesAtATimeByTurnsOfNetworks) {
  SetClock clock;
  Connections connections(200, 100, clock, Speech::kTls);
  Start(connections);
  const std::string hello("\x16\x03\x01\0\x04\x01\0\0\0", 9);
  const size_t at_once = GrpcThreadsForLongWork();
  const auto connect = [&](const char* from) {
    const size_t open = connections.stats().open;
    RawSocket client(port_, from);
    EXPECT_TRUE(client.Send(hello));
    WaitUntil([&] { return connections.stats().open != open; });
    return client;
  };
  std::vector<RawSocket> greedy;
  for (size_t i = 0; i < at_once + 5; ++i) greedy.push_back(connect("127.0.0.2"));
  ASSERT_TRUE(holder_.Await(at_once));
  const RawSocket honest = connect("127.0.0.1");
  // The last greedy connection closes before it is handed over.
  greedy.back().Close();
  EXPECT_EQ(holder_.CountFrom("127.0.0.2"), at_once);
  for (size_t i = 1; i <= 2; ++i) {
    holder_.AnswerAll();
    ASSERT_TRUE(holder_.Await(at_once + i));
  }
  EXPECT_EQ(holder_.CountFrom("127.0.0.1"), 1U);
  WaitUntil([&] {
    holder_.AnswerAll();
    return connections.stats().open <= at_once + 5;
  });
  EXPECT_TRUE(holder_.Await(at_once + 5));
  // A handshake that is not answered frees its place after a while.
  clock.Advance(Duration::Seconds(2));
  const RawSocket next = connect("127.0.0.1");
  EXPECT_TRUE(holder_.Await(at_once + 6));
  connections.Stop();
  EXPECT_EQ(holder_.CountFrom("127.0.0.1"), 2U);
}

// Previously, a connection that had sent only two bytes counted as a handshake in progress for up
// to a second, and connections from several networks could do this in turn.
TEST_F(ConnectionsTest, HandsOverNoHandshakeThatHasNotComeWhole) {
  SetClock clock;
  Connections connections(200, 100, clock, Speech::kTls);
  Start(connections);
  const std::string hello =
      std::string("\x16\x03\x01\x01\0\x01\0\0\xfc", 9) + std::string(252, 'h');
  std::vector<RawSocket> slow;
  for (const char* from : {"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"}) {
    for (const size_t bytes : {2, 5, 260}) {
      slow.emplace_back(port_, from);
      EXPECT_TRUE(slow.back().Send(hello.substr(0, bytes)));
    }
  }
  WaitUntil([&] { return connections.stats().open >= slow.size(); });
  const RawSocket honest(port_);
  EXPECT_TRUE(honest.Send(hello));
  ASSERT_TRUE(holder_.Await(1));
  EXPECT_EQ(holder_.CountFrom("127.0.0.1"), 1U);
  EXPECT_TRUE(slow.back().Send(hello.substr(260)));
  holder_.AnswerAll();
  EXPECT_TRUE(holder_.Await(2));
  // These heads are wrong: the first record is too long and the second is empty. The third message
  // is not a ClientHello, and the fourth is too long.
  for (const char* head : {"\x16\x03\x01\x40\x01\x01\0\0\0", "\x16\x03\x01\0\0\x01\0\0\0",
                           "\x16\x03\x01\0\4\x02\0\0\0", "\x16\x03\x01\0\4\x01\x01\0\0"}) {
    const RawSocket wrong(port_);
    EXPECT_TRUE(wrong.Send(std::string(head, 9)));
    bool closed = false;
    EXPECT_EQ(wrong.Read(&closed), "");
    EXPECT_TRUE(closed);
  }
}

// A ClientHello can come in several records. Previously, a connection counted as a handshake in
// progress as soon as the head of a record had arrived.
TEST_F(ConnectionsTest, HandsOverNoHandshakeWhoseRecordsHaveNotAllCome) {
  SetClock clock;
  Connections connections(200, 100, clock, Speech::kTls);
  Start(connections);
  const std::string head("\x16\x03\x01\0\x04\x01\0\0\x08", 9);
  const std::string half("\x16\x03\x01\0\x04half", 9);
  std::vector<RawSocket> slow;
  for (const char* from : {"127.0.0.2", "127.0.0.3", "127.0.0.4"}) {
    for (const std::string& said : {head, head + half, head + half + half.substr(0, 8)}) {
      slow.emplace_back(port_, from);
      EXPECT_TRUE(slow.back().Send(said));
    }
  }
  WaitUntil([&] { return connections.stats().open >= slow.size(); });
  const RawSocket honest(port_);
  EXPECT_TRUE(honest.Send(head + half));
  EXPECT_TRUE(honest.Send(half));
  ASSERT_TRUE(holder_.Await(1));
  EXPECT_EQ(holder_.CountFrom("127.0.0.1"), 1U);
  holder_.AnswerAll();
  EXPECT_TRUE(slow.back().Send(half.substr(8)));
  EXPECT_TRUE(holder_.Await(2));
  // Sends many records with almost no content.
  const RawSocket wrong(port_);
  std::string bytes;
  for (const char byte : std::string("\1\0\0\xc8......", 10)) {
    bytes += std::string("\x16\x03\x01\0\1", 5) + byte;
  }
  EXPECT_TRUE(wrong.Send(bytes));
  bool closed = false;
  EXPECT_EQ(wrong.Read(&closed), "");
  EXPECT_TRUE(closed);
}

// Previously, bytes after urgent data woke the port's thread again and again.
TEST_F(ConnectionsTest, UrgentBytesAreBytesLikeOthers) {
  Connections connections(10, 10, clock_);
  Start(connections);
  const RawSocket urgent(port_);
  const std::string preface(kHttp2Preface);
  EXPECT_TRUE(urgent.Send(preface.substr(0, 10)));
  EXPECT_EQ(send(urgent.descriptor(), "!", 1, MSG_OOB), 1);
  EXPECT_TRUE(urgent.Send(preface.substr(10)));
  bool closed = false;
  EXPECT_EQ(urgent.Read(&closed), "");
  EXPECT_TRUE(closed);
}

// After gRPC closes a descriptor, its number can be reused for a file.
TEST_F(ConnectionsTest, DoesNotTakeAFileForAConnection) {
  Connections connections(1, 1, clock_);
  Start(connections);
  const RawSocket first = Client();
  ASSERT_TRUE(holder_.Await(1));
  holder_.CloseOne();
  std::vector<int> files;
  for (int i = 0; i < 8; ++i) files.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const RawSocket second = Client();
  EXPECT_TRUE(holder_.Await(1));
  for (const int file : files) close(file);
}

TEST_F(ConnectionsTest, CutsThoseOfThePeersThatAreNamed) {
  Connections connections(10, 10, clock_);
  Start(connections);
  const RawSocket one = Client();
  const RawSocket other = Client();
  ASSERT_TRUE(holder_.Await(2));
  sockaddr_in own{};
  socklen_t size = sizeof(own);
  ASSERT_EQ(getsockname(one.descriptor(), reinterpret_cast<sockaddr*>(&own), &size), 0);
  connections.Cut({PeerNamed("ipv4:127.0.0.1:" + std::to_string(ntohs(own.sin_port)))});
  bool closed = false;
  EXPECT_EQ(one.Read(&closed), "");
  EXPECT_TRUE(closed);
  pollfd ended{.fd = other.descriptor(), .events = POLLRDHUP, .revents = 0};
  EXPECT_EQ(poll(&ended, 1, 0), 0);
}

TEST_F(ConnectionsTest, ASecondServerCannotListenThere) {
  Connections first(1, 1, clock_);
  Start(first);
  Connections second(1, 1, clock_);
  const Status status = second.Listen("127.0.0.1:" + std::to_string(port_)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Address already in use"));
  first.Stop();
  EXPECT_TRUE(second.Listen("127.0.0.1:" + std::to_string(port_)).ok());
}

TEST_F(ConnectionsTest, ListensByNameAndAtAnyAddress) {
  for (const std::string address : {"localhost:0", "0.0.0.0:0", "[::]:0", "[::1]:0"}) {
    Connections connections(16, 8, clock_);
    const StatusOr<int> port = connections.Listen(address);
    // Not every machine has IPv6.
    if (!port.ok() && address[0] == '[') continue;
    ASSERT_TRUE(port.ok()) << address << port.status().ToString();
    EXPECT_GT(*port, 0);
    Holder holder;
    connections.Start([&](int descriptor) { holder.Take(descriptor); });
    if (address != "[::1]:0") {
      const RawSocket client(*port);
      EXPECT_TRUE(client.Send(RawSocket::Http2Preface())) << address;
      EXPECT_TRUE(holder.Await(1)) << address;
    }
    connections.Stop();
  }
  Connections connections(1, 1, clock_);
  const Status status = connections.Listen("no.such.host.invalid:0").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot listen at no.such.host"));
}

TEST_F(ConnectionsTest, SurvivesAFloodOfTooMany) {
  Connections connections(1, 1, clock_);
  Start(connections);
  const RawSocket first = Client();
  ASSERT_TRUE(holder_.Await(1));
  for (int i = 0; i < 500; ++i) {
    const RawSocket flood(port_);
    if (i % 3 == 0) (void)flood.Send("GET / HTTP/1.1\r\n\r\n");
  }
  const RawSocket last(port_);
  bool closed = false;
  EXPECT_THAT(last.Read(&closed), HasSubstr("1 connections are open"));
  EXPECT_TRUE(closed);
  EXPECT_EQ(connections.stats().open, 1u);
}

TEST_F(ConnectionsTest, RestsWhenTheSystemHasNoDescriptorLeft) {
  if (kSanitized) GTEST_SKIP() << "UBSan looks at objects through a pipe, and there is none";
  Connections connections(20, 10, clock_);
  Start(connections);
  const RawSocket client = Client();
  ASSERT_TRUE(holder_.Await(1));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const RawSocket waiting = Client();
  ASSERT_TRUE(holder_.Await(2));
  // From here on, no descriptor can be opened. The client's socket exists already.
  const int client_socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int next = dup(client_socket);
  close(next);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port_));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client_socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_TRUE(Eventually([&] { return connections.stats().failed >= 3; }));
  // The port tries again every tenth of a second, so it does not spin.
  EXPECT_LE(connections.stats().failed, 100u);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  // The waiting connection is finally accepted.
  const std::string preface = RawSocket::Http2Preface();
  EXPECT_EQ(send(client_socket, preface.data(), preface.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(preface.size()));
  EXPECT_TRUE(holder_.Await(3));
  close(client_socket);
}

}  // namespace
}  // namespace freshet
