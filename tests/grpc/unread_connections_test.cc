// Tests connections whose clients read nothing from their sockets.
#include <poll.h>

#include <algorithm>
#include <string>
#include <vector>

#include "server/api/patience.h"
#include "tests/grpc/front.h"
#include "tests/hostile/http2.h"
#include "tests/support/raw_socket.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

TEST(UnreadConnections, AreKnownASecondAfterACallWasCut) {
  using std::chrono::seconds;
  const Patience::Clock::time_point now;
  Patience patience(Duration::Seconds(30));
  patience.Begin(0, now);
  EXPECT_FALSE(patience.Stuck(now + seconds(100)));
  patience.Cut(now + seconds(30));
  EXPECT_GT(patience.Until(1), now + seconds(1000)) << "once is enough";
  patience.Cut(now + seconds(40));
  EXPECT_FALSE(patience.Stuck(now + seconds(30)));
  EXPECT_TRUE(patience.Stuck(now + seconds(31)));
}

// A client that opens all windows and reads nothing. Thread-compatible.
class DeafClient {
 public:
  // Makes `calls` calls, each of which sends the message `times` times.
  DeafClient(const std::string& address, const std::string& from, const std::string& method,
             const std::string& message, int calls, int times)
      : socket_(address, from.c_str(), /*receives=*/2304) {
    EXPECT_TRUE(socket_.connected());
    // Sets the windows to their largest size.
    std::string out = hostile::kHttp2Preface +
                      hostile::Http2Frame(4, 0, 0, std::string("\0\4\x7f\xff\xff\xff", 6)) +
                      hostile::Http2Frame(8, 0, 0, std::string("\x7f\xff\0\0", 4));
    const std::string prefix = {'\0', '\0', '\0', '\0', static_cast<char>(message.size())};
    for (int i = 0; i < calls; ++i) {
      const auto stream = static_cast<uint64_t>(2 * i + 1);
      out += hostile::Http2Call(stream, method);
      for (int j = 0; j < times; ++j) out += hostile::Http2Frame(0, 0, stream, prefix + message);
    }
    EXPECT_TRUE(socket_.Send(out));
  }
  // Whether the server has closed the connection.
  [[nodiscard]] bool cut() const {
    pollfd ended{.fd = socket_.descriptor(), .events = POLLRDHUP, .revents = 0};
    return poll(&ended, 1, 0) > 0;
  }

 private:
  RawSocket socket_;
};

// Allows so few bytes of answers that a few clients use them up.
void WithLittleRoom(ServerConfig* config) {
  config->keepalive_interval = Duration();
  config->list_write_timeout = Duration::Millis(500);
  config->max_unacked_bytes = 256 << 10;
}

// Ten clients ask reflection for more than the system's buffers take, each with `calls` calls of
// `times` messages.
void ExpectOneOfManyIsCut(const std::string& address, int calls, int times) {
  std::vector<DeafClient> clients;
  for (int i = 0; i < 10; ++i) {
    clients.emplace_back(address, "127.0.1." + std::to_string(i + 1),
                         "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                         "\042\027freshet.v1.FleetService", calls, times);
  }
  EXPECT_TRUE(Eventually([&] {
    return std::ranges::any_of(clients, [](const DeafClient& client) { return client.cut(); });
  }));
}

// Regression: gRPC ended a cut call only after its answer was sent, which never happened. So the
// call kept its bytes and places for ever.
TEST(UnreadConnections, OfListsAreCut) {
  TestServer server(WithLittleRoom);
  for (int start = 0; start < 8000; start += 1000) {
    v1::UpsertPagesRequest request;
    for (int i = start; i < start + 1000; ++i) {
      request.add_pages()->set_url(TestServer::Url(i) + std::string(500, 'x'));
    }
    EXPECT_EQ(server.Upsert(request).statuses_size(), 0);
  }
  const DeafClient client(server.info.grpc_address, "127.0.1.1",
                          "/freshet.v1.PagesService/ExportPages", "", 1, 1);
  EXPECT_TRUE(Eventually([&] { return client.cut(); }));
}

TEST(UnreadConnections, OfStreamsAreCut) {
  TestServer server(WithLittleRoom);
  ExpectOneOfManyIsCut(server.info.grpc_address, 8, 40);
}

TEST(UnreadConnections, OfForwardedCallsAreCut) {
  TestServer server;
  ServerConfig config = server.config;
  WithLittleRoom(&config);
  Front front(config);
  front.Follow(server.info.grpc_address);
  // Each client makes one call, because answers beyond a client's share would end its calls.
  ExpectOneOfManyIsCut(front.address, 1, 200);
  front.Stop();
}

}  // namespace
}  // namespace freshet
