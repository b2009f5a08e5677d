#include "server/logs/loggers.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::SizeIs;

class LoggersTest : public testing::Test {
 protected:
  LoggersTest() : file_(std::tmpfile(), &std::fclose) {
    SetLogFile(file_.get());
    EXPECT_TRUE(SetLogLevels("info").ok());
  }
  ~LoggersTest() override {
    SetLogFile(stderr);
    SetLogFormat(LogFormat::kText);
  }
  // The lines written so far.
  std::vector<std::string> Lines() {
    FlushLogs();
    std::rewind(file_.get());
    std::string text(size_t{1} << 20, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file_.get()));
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      lines.push_back(text.substr(at, end - at));
      at = end == std::string::npos ? text.size() : end + 1;
    }
    return lines;
  }

  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

TEST_F(LoggersTest, WritesOneLineAnEvent) {
  Logger(LogModule::kStore).warn("slow by {} s", 3);
  EXPECT_THAT(Lines(), ElementsAre(MatchesRegex("[0-9-]+T[0-9:]+\\.[0-9]{3}Z warn  \\[store\\] "
                                                "slow by 3 s")));
}

TEST_F(LoggersTest, LevelsAreOfModules) {
  ASSERT_TRUE(SetLogLevel(LogModule::kEngine, "debug").ok());
  ASSERT_TRUE(SetLogLevel(LogModule::kStore, "off").ok());
  Logger(LogModule::kEngine).debug("heard");
  Logger(LogModule::kApi).debug("not heard");
  Logger(LogModule::kStore).critical("not heard either");
  EXPECT_THAT(Lines(), ElementsAre(EndsWith("[engine] heard")));
  EXPECT_EQ(LogLevelOf(LogModule::kEngine), "debug");
  EXPECT_EQ(LogLevelOf(LogModule::kStore), "off");
  EXPECT_EQ(LogLevelOf(LogModule::kApi), "info");
  EXPECT_FALSE(SetLogLevel(LogModule::kApi, "loud").ok());
  EXPECT_FALSE(SetLogLevels("").ok());
}

TEST_F(LoggersTest, NamesAreInTheOrderOfTheModules) {
  for (size_t i = 0; i < kLogModules; ++i) {
    const auto module = static_cast<LogModule>(i);
    EXPECT_EQ(LogModuleNamed(NameOf(module)), module);
    if (i == 0) continue;
    EXPECT_LT(NameOf(static_cast<LogModule>(i - 1)), NameOf(module));
  }
  EXPECT_FALSE(LogModuleNamed("stone"));
}

TEST_F(LoggersTest, NobodyCanForgeALine) {
  const std::string hostile = "x\n2026-01-01T00:00:00.000Z error [store] forged\x1b[2J\u202e\xff";
  Logger(LogModule::kApi).info("worker '{}' is here", hostile);
  LogWith(LogModule::kApi, spdlog::level::info, "call", {{"url", hostile}, {"empty", ""}});
  SetLogFormat(LogFormat::kJson);
  Logger(LogModule::kApi).info("worker '{}' is here", hostile);
  LogWith(LogModule::kApi, spdlog::level::info, "call", {{"url", hostile}});
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(4));
  for (const std::string& line : lines) {
    EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) { return c >= 0x20 && c < 0x7f; }))
        << line;
  }
  EXPECT_THAT(lines[1], HasSubstr(" call url=\"x\\n2026-01-01T"));
  EXPECT_THAT(lines[1], EndsWith(" empty=\"\""));
  EXPECT_EQ(nlohmann::json::parse(lines[3])["message"], "call");
}

TEST_F(LoggersTest, JsonHasAllThatTextHas) {
  SetLogFormat(LogFormat::kJson);
  const ScopedRequestId id("r-1");
  LogWith(LogModule::kAudit, spdlog::level::warn, "refused", {{"who", "identity \"ops\""}});
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(1));
  const nlohmann::json json = nlohmann::json::parse(lines[0]);
  EXPECT_THAT(json["at"].get<std::string>(), MatchesRegex("[0-9-]+T[0-9:]+\\.[0-9]{6}Z"));
  EXPECT_EQ(json["level"], "warn");
  EXPECT_EQ(json["module"], "audit");
  EXPECT_EQ(json["message"], "refused");
  EXPECT_EQ(json["request_id"], "r-1");
  EXPECT_EQ(json["who"], "identity \"ops\"");
}

TEST_F(LoggersTest, LinesOfACallHaveItsId) {
  {
    const ScopedRequestId outer("a");
    {
      const ScopedRequestId inner("b");
      Logger(LogModule::kApi).info("one");
    }
    Logger(LogModule::kApi).info("two");
  }
  Logger(LogModule::kApi).info("three");
  EXPECT_THAT(Lines(), ElementsAre(EndsWith("one request_id=b"), EndsWith("two request_id=a"),
                                   EndsWith("three")));
}

TEST_F(LoggersTest, CountsWhatIsRepeated) {
  for (int i = 0; i < 513; ++i) Logger(LogModule::kPorts).warn("too many");
  Logger(LogModule::kPorts).warn("something else");
  for (int i = 0; i < 3; ++i) Logger(LogModule::kPorts).warn("at the end");
  EXPECT_THAT(Lines(), ElementsAre(EndsWith("too many"), HasSubstr("repeated 512 times"),
                                   EndsWith("something else"), EndsWith("at the end"),
                                   HasSubstr("repeated 2 times")));
}

TEST_F(LoggersTest, CutsLongLines) {
  Logger(LogModule::kApi).info(std::string(1 << 18, 'x'));
  LogWith(LogModule::kApi, spdlog::level::info, "call", {{"url", std::string(1 << 18, 'x')}});
  for (const std::string& line : Lines()) EXPECT_LT(line.size(), 10'000u);
}

}  // namespace
}  // namespace freshet
