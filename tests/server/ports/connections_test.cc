#include "server/ports/connections.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spdlog/spdlog.h"
#include "tests/support/raw_socket.h"

namespace freshet {
namespace {

using testing::HasSubstr;

// Keeps what it is handed, as gRPC does. Thread-safe.
class Holder {
 public:
  void Take(int descriptor) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_.insert(descriptor);
    changed_.notify_all();
  }
  bool Await(size_t count, int millis = 60'000) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(millis),
                             [&] { return held_.size() >= count; });
  }
  void CloseOne() {
    const std::lock_guard<std::mutex> lock(mutex_);
    close(*held_.begin());
    held_.erase(held_.begin());
  }
  ~Holder() {
    for (const int each : held_) close(each);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<int> held_;
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

  SystemClock clock_;
  Holder holder_;
  int port_ = 0;
};

TEST_F(ConnectionsTest, TellsOneTooManyWhyAndTakesAnotherOnceThereIsRoom) {
  Connections connections(3, clock_);
  Start(connections);
  std::vector<RawSocket> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(port_);
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
  // Whoever owns them closes one; nobody else is told.
  holder_.CloseOne();
  // Counting again is not for every attempt.
  const Instant end = clock_.Now() + Duration::Seconds(60);
  std::vector<RawSocket> attempts;
  do {
    attempts.emplace_back(port_);
  } while (!holder_.Await(3, 20) && clock_.Now() < end);
  EXPECT_EQ(connections.stats().open, 3u);
  EXPECT_EQ(connections.stats().accepted, 4u);
}

// A number that gRPC has given back may name something else by now.
TEST_F(ConnectionsTest, DoesNotTakeAFileForAConnection) {
  Connections connections(1, clock_);
  Start(connections);
  const RawSocket first(port_);
  ASSERT_TRUE(holder_.Await(1));
  holder_.CloseOne();
  std::vector<int> files;
  for (int i = 0; i < 8; ++i) files.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const RawSocket second(port_);
  EXPECT_TRUE(holder_.Await(1));
  for (const int file : files) close(file);
}

TEST_F(ConnectionsTest, ASecondServerCannotListenThere) {
  Connections first(1, clock_);
  Start(first);
  Connections second(1, clock_);
  const Status status = second.Listen("127.0.0.1:" + std::to_string(port_)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Address already in use"));
  first.Stop();
  EXPECT_TRUE(second.Listen("127.0.0.1:" + std::to_string(port_)).ok());
}

TEST_F(ConnectionsTest, ListensByNameAndAtAnyAddress) {
  for (const std::string address : {"localhost:0", "0.0.0.0:0", "[::]:0", "[::1]:0"}) {
    Connections connections(8, clock_);
    const StatusOr<int> port = connections.Listen(address);
    // Not every machine has IPv6.
    if (!port.ok() && address[0] == '[') continue;
    ASSERT_TRUE(port.ok()) << address << port.status().ToString();
    EXPECT_GT(*port, 0);
    Holder holder;
    connections.Start([&](int descriptor) { holder.Take(descriptor); });
    if (address != "[::1]:0") {
      const RawSocket client(*port);
      EXPECT_TRUE(client.connected()) << address;
      EXPECT_TRUE(holder.Await(1)) << address;
    }
    connections.Stop();
  }
  Connections connections(1, clock_);
  const Status status = connections.Listen("no.such.host.invalid:0").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot listen at no.such.host"));
}

TEST_F(ConnectionsTest, SurvivesAFloodOfTooMany) {
  Connections connections(1, clock_);
  Start(connections);
  const RawSocket first(port_);
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
  Connections connections(10, clock_);
  Start(connections);
  const RawSocket client(port_);
  ASSERT_TRUE(holder_.Await(1));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  RawSocket waiting(port_);
  ASSERT_TRUE(holder_.Await(2));
  // Nothing can be opened from here on, but a client's socket that is there already.
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
  const Instant end = clock_.Now() + Duration::Seconds(60);
  while (connections.stats().failed < 3 && clock_.Now() < end) {
  }
  EXPECT_GE(connections.stats().failed, 3u);
  // A tenth of a second apart each, so that it did not spin.
  EXPECT_LE(connections.stats().failed, 100u);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  // It was not forgotten.
  EXPECT_TRUE(holder_.Await(3));
  close(client_socket);
}

}  // namespace
}  // namespace freshet
