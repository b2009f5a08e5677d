// Tests the settings file: its keys, what takes precedence over it, and files that are refused.
#include "tools/cli/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/cli/fake_server.h"
#include "tests/support/temp_dir.h"

namespace freshet::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::string WriteSettings(const TempDir& dir, const std::string& text, mode_t mode = 0600) {
  const std::string path = dir / "config.yaml";
  std::ofstream(path) << text;
  chmod(path.c_str(), mode);
  return path;
}

// Sets an environment variable until the end of the scope.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* before = std::getenv(name);
    if (before != nullptr) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(ConfigFileTest, ReadsAllKeys) {
  const TempDir dir;
  const auto config = ReadConfigFile(
      WriteSettings(dir,
                    "server: crawl.test:7071\njson: true\ntoken_file: token\n"
                    "tls:\n  ca: /etc/ca.pem\n  certificate: ~/me.pem\n  key: keys/me.key\n"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "crawl.test:7071");
  EXPECT_EQ(config->json, true);
  EXPECT_EQ(config->ca, "/etc/ca.pem");
  EXPECT_THAT(config->certificate, EndsWith("/me.pem"));
  EXPECT_THAT(config->certificate, Not(HasSubstr("~")));
  EXPECT_EQ(config->key, dir / "keys/me.key");
  EXPECT_EQ(config->token_file, dir / "token");
  const auto plain = ReadConfigFile(WriteSettings(dir, "tls: true\ntoken: secret\n"));
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->tls, true);
  EXPECT_EQ(plain->token, "secret");
  EXPECT_TRUE(ReadConfigFile(WriteSettings(dir, "")).ok());
  EXPECT_TRUE(ReadConfigFile(WriteSettings(dir, "# nothing\n")).ok());
}

TEST(ConfigFileTest, NamesWhatIsWrong) {
  const TempDir dir;
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"servers: a:1\n", "servers: unknown key, did you mean server?"},
      {"tls:\n  certificat: a\n", "tls.certificat: unknown key, did you mean tls.certificate?"},
      {"tls:\n  cert: a\n", "tls.cert: unknown key"},
      {"server: a:1\nserver: b:1\n", "server: is there twice"},
      {"server:\n", "server: is not a string"},
      {"server: [a]\n", "server: is not a string"},
      {"server: nowhere\n", "server: "},
      {"json: yes\n", "json: 'yes' is not one of true, false"},
      {"tls: maybe\n", "tls: 'maybe' is not one of true, false"},
      {"tls: [a]\n", "tls: is not true, false or a map"},
      {"tls:\n  certificate: a\n", "tls: certificate and key go together"},
      {"token: two words\n", "token: holds something that is not a token"},
      {"token: a\ntoken_file: b\n", "token: goes with no token_file"},
      {"- server\n", "is not a map of keys"},
      {"server: a:1\n  b: {\n", "line "},
      {std::string(70'000, '#'), "larger than 64 KiB"},
      {std::string(60'000, '['), "line 1: "}};
  for (const auto& [text, reason] : wrong) {
    const auto config = ReadConfigFile(WriteSettings(dir, text));
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_THAT(std::string(config.status().message()), HasSubstr("config.yaml: " + reason));
    EXPECT_THAT(std::string(config.status().message()), Not(HasSubstr("two words")));
  }
}

TEST(ConfigFileTest, ATokenIsItsOwnersAlone) {
  const TempDir dir;
  for (const mode_t mode : {0640U, 0604U, 0644U}) {
    const std::string path = WriteSettings(dir, "token: secret-token\n", mode);
    const Outcome run = RunClient({"--config", path, "version"});
    EXPECT_EQ(run.code, kBadUsage);
    EXPECT_THAT(run.err, HasSubstr("token: others may read the file: chmod 600"));
    EXPECT_THAT(run.err, Not(HasSubstr("secret")));
  }
  // A file without a token may be readable by others.
  EXPECT_TRUE(ReadConfigFile(WriteSettings(dir, "token_file: token\n", 0644)).ok());
}

TEST(ConfigFileTest, FlagsWinOverTheEnvironmentAndThatOverTheFile) {
  FakeServer server;
  const TempDir dir;
  const std::string path = WriteSettings(dir, "server: " + server.address + "\njson: true\n", 0644);
  const std::string rate = "{\"crawl_rate_per_second\":10.0}\n";
  const std::string none = "127.0.0.1:1";
  EXPECT_EQ(RunClient({"--config", path, "rate"}).out, rate);
  EXPECT_EQ(RunClient({"--config", path, "--no-json", "rate"}).out, "10 crawls per second\n");
  const std::vector<std::string> elsewhere = {"--config", path, "--connect-timeout", "0.05",
                                              "rate"};
  {
    const Variable environment("FRESHET_SERVER", none);
    EXPECT_THAT(RunClient(elsewhere).err, HasSubstr(none));
    EXPECT_EQ(RunClient({"--config", path, "--server", server.address, "rate"}).out, rate);
  }
  const Variable config("FRESHET_CONFIG", path);
  EXPECT_EQ(RunClient({"rate"}).out, rate);
  EXPECT_EQ(RunClient({"--config", "", "version"}).code, kAccepted);
  EXPECT_EQ(RunClient({"--config", dir / "none", "version"}).code, kBadUsage);
}

// A token or certificate that is given as a flag or variable replaces all security settings of the
// file.
TEST(ConfigFileTest, IdentitiesAreNotMixed) {
  const TempDir dir;
  std::ofstream(dir / "token") << "no token at all\n";
  const std::string path = WriteSettings(
      dir, "server: 127.0.0.1:1\ntoken_file: token\ntls:\n  certificate: none.pem\n  key: none\n");
  const auto run = [&path](std::vector<std::string> more) {
    std::vector<std::string> line = {"--config", path, "--connect-timeout", "0.05", "stats"};
    line.insert(line.end(), more.begin(), more.end());
    return RunClient(line);
  };
  EXPECT_THAT(run({}).err, HasSubstr("cannot read " + (dir / "none.pem")));
  EXPECT_THAT(run({"--tls-key", dir / "token"}).err,
              HasSubstr("a certificate and its key go together"));
  WriteSettings(dir, "server: 127.0.0.1:1\ntoken_file: token\n");
  EXPECT_THAT(run({}).err, HasSubstr("holds something that is not a token"));
  const Variable token("FRESHET_TOKEN", "of-the-environment");
  EXPECT_EQ(run({}).code, kUnreachable);
}

TEST(ConfigFileTest, IsWhereTheDesktopSays) {
  FakeServer server;
  const TempDir dir;
  std::filesystem::create_directories(dir / ".config/freshet");
  std::ofstream(dir / ".config/freshet/config.yaml") << "server: " << server.address << "\n";
  {
    const Variable xdg("XDG_CONFIG_HOME", dir / ".config");
    EXPECT_EQ(RunClient({"rate"}).out, "10 crawls per second\n");
  }
  const Variable relative("XDG_CONFIG_HOME", "here");
  const Variable home("HOME", dir.path());
  EXPECT_EQ(DefaultConfigPath(), dir / ".config/freshet/config.yaml");
  EXPECT_EQ(RunClient({"rate"}).out, "10 crawls per second\n");
  const Variable nowhere("HOME", "");
  EXPECT_EQ(DefaultConfigPath(), "");
}

}  // namespace
}  // namespace freshet::cli
