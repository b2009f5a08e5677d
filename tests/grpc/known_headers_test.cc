// Tests every header that gRPC knows by name: with odd values, twice, and together with 8 KiB of
// other headers. Nothing crashes, and memory does not grow. A client needs no identity for any of
// this.
#include "tests/hostile/known_headers.h"

#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>

#include "core/base/sanitized.h"
#include "tests/grpc/guarded_server.h"
#include "tests/grpc/raw_stream.h"
#include "tests/hostile/socket.h"

namespace freshet {
namespace {

using hostile::BlocksWith;
using hostile::Opening;
using hostile::Socket;

constexpr uint64_t kMostMib = 48;
constexpr int kMillis = 60'000;

uint64_t ResidentMib() {
  uint64_t all = 0;
  uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<uint64_t>(getpagesize()) >> 20;
}

// Sends all blocks of a header on a new connection, until the server has answered the call after
// them or has ended the connection.
void SendAll(const std::string& address, Opening opening, const std::string& name) {
  Socket socket(address, kMillis, opening);
  ASSERT_TRUE(socket.open());
  std::string frames = hostile::kHttp2Preface + hostile::Http2Frame(4, 0, 0, "");
  uint64_t stream = 1;
  for (const std::string& value : hostile::OddValues()) {
    for (const std::string& method :
         {std::string("/freshet.v1.PagesService/GetPage"), std::string("/nobodys/Method")}) {
      for (const std::string& block : BlocksWith(name, value, method)) {
        frames += hostile::Http2Block(stream, block, /*flags=*/1);
        stream += 2;
      }
    }
  }
  socket.Send(frames + hostile::Http2Ping());
  const std::string answer = hostile::Http2Frame(6, 1, 0, std::string(8, 'p'));
  std::string last;
  for (std::string some; !(some = socket.Receive()).empty();) {
    last = last.substr(last.size() < 64 ? 0 : last.size() - 64) + some;
    if (last.find(answer) != std::string::npos) break;
  }
}

void SendEveryHeader(const std::string& address, Opening opening) {
  for (const char* name : hostile::kKnownHeaders) {
    SendAll(address, opening, name);
    if (testing::Test::HasFatalFailure()) return;
  }
}

void EndNothingAndGrowNothing(TestServer& server, Opening opening) {
  SendEveryHeader(server.info.grpc_address, opening);
  const uint64_t before = ResidentMib();
  for (int i = 0; i < 3; ++i) SendEveryHeader(server.info.grpc_address, opening);
  if (!kSanitized) {
    EXPECT_LT(ResidentMib(), before + kMostMib);
  }
  // The server still serves.
  EXPECT_EQ(CallRaw(server.channel, "/grpc.health.v1.Health/Check", "").error_code(),
            grpc::StatusCode::OK);
}

TEST(KnownHeaders, DoNothingWithoutTlsAndIdentities) {
  TestServer server;
  EndNothingAndGrowNothing(server, Opening::kPlain);
}

TEST(KnownHeaders, DoNothingWithIdentities) {
  TempDir dir;
  ReplaceFile(dir / "auth.yaml", "identities: [{name: admin, roles: [admin], token_sha256: " +
                                     HexOf(DigestOf("admin-token")) + "}]\n");
  TestServer server([&dir](ServerConfig* config) { config->auth_file = dir / "auth.yaml"; });
  EndNothingAndGrowNothing(server, Opening::kPlain);
}

TEST(KnownHeaders, DoNothingWithTlsAndIdentities) {
  hostile::SpeakTls();
  GuardedServer server(GuardedServer::Written{{"admin", "    roles: [admin]\n"}});
  server->Use(server.Open(server.Token("admin")));
  EndNothingAndGrowNothing(*server, Opening::kAsServersWant);
}

TEST(KnownHeaders, DoNothingWithTlsAlone) {
  hostile::SpeakTls();
  GuardedServer server(GuardedServer::Written{});
  server->Use(server.Open({}));
  EndNothingAndGrowNothing(*server, Opening::kAsServersWant);
}

}  // namespace
}  // namespace freshet
