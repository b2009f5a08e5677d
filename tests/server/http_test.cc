#include "server/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "httplib.h"

namespace freshet {
namespace {

HttpContent Content() {
  return {.metrics = [] { return std::string("freshet_up 1\n"); },
          .status_json = [] { return std::string("{}"); },
          .healthy = [] { return true; },
          .not_ready = [] { return std::string("loading"); },
          .annotate = [](const std::string&) { return absl::OkStatus(); }};
}

// A connection that has sent `bytes` and then nothing. Owner thread only.
class SlowClient {
 public:
  SlowClient(int port, const std::string& bytes) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  ~SlowClient() { close(socket_); }
  SlowClient(const SlowClient&) = delete;
  SlowClient& operator=(const SlowClient&) = delete;

 private:
  int socket_;
};

TEST(HttpServer, AnswersProbes) {
  HttpServer server(Content());
  const StatusOr<int> port = server.Start("127.0.0.1:0");
  ASSERT_TRUE(port.ok()) << port.status();
  httplib::Client client("127.0.0.1", *port);
  EXPECT_EQ(client.Get("/healthz")->status, 200);
  const httplib::Result ready = client.Get("/readyz");
  EXPECT_EQ(ready->status, 503);
  EXPECT_EQ(ready->body, "loading\n");
  EXPECT_EQ(client.Get("/metrics")->body, "freshet_up 1\n");
  EXPECT_EQ(client.Get("/nothing")->status, 404);
}

// Requests that never end hold a thread each until they time out; the probe still gets through.
TEST(HttpServer, AnswersBesideClientsThatNeverFinish) {
  HttpServer server(Content());
  const StatusOr<int> port = server.Start("127.0.0.1:0");
  ASSERT_TRUE(port.ok()) << port.status();
  std::vector<std::unique_ptr<SlowClient>> slow;
  for (int i = 0; i < 50; ++i) {
    slow.push_back(std::make_unique<SlowClient>(*port, "GET /healthz HTTP/1.1\r\nHost: half"));
  }
  httplib::Client client("127.0.0.1", *port);
  client.set_read_timeout(30);
  const httplib::Result result = client.Get("/healthz");
  ASSERT_TRUE(result) << httplib::to_string(result.error());
  EXPECT_EQ(result->status, 200);
}

}  // namespace
}  // namespace freshet
