// Tests tokens, and when the client may send them, without a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "tests/cli/fake_server.h"
#include "tests/support/temp_dir.h"

namespace freshet::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string TextIn(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(AuthCommands, HashIsThatOfTheTokenAlone) {
  const Outcome plain = RunClient({"auth", "hash-token"}, "test");
  EXPECT_EQ(plain.code, kAccepted) << plain.err;
  EXPECT_EQ(plain.out, "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n");
  EXPECT_EQ(RunClient({"auth", "hash-token"}, "  test\r\n").out, plain.out);
  for (const char* wrong : {"", "\n", "two words", "tab\there", "\xc3\xa4"}) {
    const Outcome refused = RunClient({"auth", "hash-token"}, wrong);
    EXPECT_EQ(refused.code, kBadUsage);
    EXPECT_EQ(refused.err, "freshet: standard input holds something that is not a token\n");
  }
}

TEST(AuthCommands, NewTokensAreTheirOwnersAlone) {
  const TempDir dir;
  const std::string path = dir / "token";
  const Outcome made = RunClient({"auth", "hash-token", "--generate", path});
  EXPECT_EQ(made.code, kAccepted) << made.err;
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  const std::string token = TextIn(path);
  EXPECT_EQ(RunClient({"auth", "hash-token"}, token).out, made.out);
  EXPECT_THAT(made.out + made.err, Not(HasSubstr(token.substr(0, token.size() - 1))));
  // An existing file might be in use, so it is not overwritten.
  EXPECT_EQ(RunClient({"auth", "hash-token", "--generate", path}).code, kBadUsage);
  EXPECT_EQ(TextIn(path), token);
}

TEST(AuthCommands, TokensAreNotSentInTheClear) {
  const TempDir dir;
  std::ofstream(dir / "token") << "secret-token\n";
  const Outcome refused = RunClient({"--server", "192.0.2.1:7071", "--token-file", dir / "token",
                                     "--connect-timeout", "0.1", "stats"});
  EXPECT_EQ(refused.code, kBadUsage);
  EXPECT_THAT(refused.err, HasSubstr("in the clear: TLS is needed"));
  EXPECT_THAT(refused.err, Not(HasSubstr("secret")));
  const Outcome missing = RunClient({"--token-file", dir / "none", "stats"});
  EXPECT_EQ(missing.code, kBadUsage);
  EXPECT_THAT(missing.err, HasSubstr("cannot read "));
  EXPECT_EQ(RunClient({"--tls-certificate", dir / "token", "stats"}).code, kBadUsage);
}

TEST(AuthCommands, ANameThatBeginsLikeThisMachineIsAnothers) {
  const TempDir dir;
  std::ofstream(dir / "token") << "secret-token\n";
  for (const char* server : {"127.0.0.1.evil.example:7071", "127.evil.example:7071", "127.1:7071",
                             "localhost.evil.example:7071"}) {
    const Outcome refused = RunClient(
        {"--server", server, "--token-file", dir / "token", "--connect-timeout", "0.1", "stats"});
    EXPECT_EQ(refused.code, kBadUsage) << server;
    EXPECT_THAT(refused.err, HasSubstr("in the clear: TLS is needed")) << server;
  }
  for (const char* server : {"127.0.0.1:1", "127.255.0.9:1", "localhost:1", "[::1]:1"}) {
    const Outcome taken = RunClient(
        {"--server", server, "--token-file", dir / "token", "--connect-timeout", "0.1", "stats"});
    EXPECT_THAT(taken.err, Not(HasSubstr("in the clear"))) << server;
  }
}

TEST(AuthCommands, NoProxyOfTheWebIsOnTheWay) {
  // Port 1 refuses connections, so a call through the proxy fails.
  for (const char* name : {"grpc_proxy", "https_proxy", "http_proxy"}) {
    setenv(name, "http://127.0.0.1:1", 1);
  }
  FakeServer server;
  EXPECT_EQ(server.Run({"rate"}).code, 0);
  for (const char* name : {"grpc_proxy", "https_proxy", "http_proxy"}) unsetenv(name);
}

}  // namespace
}  // namespace freshet::cli
