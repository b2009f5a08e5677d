#include "server/config/loading.h"

#include <fstream>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LoadingTest : public testing::Test {
 protected:
  LoadedConfig Load(const std::string& yaml, const Environment& environment = {},
                    CommandLine line = {}) {
    std::ofstream(dir_ / "f.yaml") << yaml;
    line.config_file = dir_ / "f.yaml";
    return LoadConfig(line, environment);
  }
  static std::vector<std::string> Texts(const LoadedConfig& loaded) {
    std::vector<std::string> texts;
    for (const ConfigProblem& problem : loaded.problems) texts.push_back(problem.text);
    return texts;
  }
  static std::string OriginOf(const LoadedConfig& loaded, std::string_view key) {
    return loaded.OriginOf(*FindKey(key));
  }

  const TempDir dir_;
};

TEST_F(LoadingTest, NamesEveryProblemWithItsLine) {
  const LoadedConfig loaded = Load(
      "crawlrate: 5\n"
      "limits:\n"
      "  streems: 5\n"
      "  workers: many\n"
      "leases: {default: 2d}\n"
      "shards: 3\n"
      "durability: maybe\n");
  EXPECT_THAT(Texts(loaded),
              ElementsAre("crawlrate: unknown key, did you mean crawl_rate?",
                          "limits.streems: unknown key, did you mean limits.streams?",
                          "limits.workers: 'many' is not a whole number",
                          "durability: 'maybe' is not one of sync, wal, none",
                          AllOf(HasSubstr("leases.default: '2d' is not a duration from")),
                          AllOf(HasSubstr("leases.default: "))));
  EXPECT_EQ(loaded.problems[0].line, 1);
  EXPECT_EQ(loaded.problems[1].line, 3);
  EXPECT_EQ(loaded.problems[2].line, 4);
  EXPECT_EQ(loaded.problems[3].line, 7);
  EXPECT_EQ(loaded.problems[4].line, 5);
  EXPECT_EQ(loaded.Describe(loaded.problems[1]), loaded.file + ":3: " + loaded.problems[1].text);
  EXPECT_THAT(std::string(loaded.status().message()), HasSubstr("(and 5 more: --check-config"));
  // Valid keys are used even if other keys are invalid. Otherwise, keys that depend on them would
  // be reported as wrong, too.
  EXPECT_EQ(loaded.config.shards, 3);
}

TEST_F(LoadingTest, FlagsWinOverVariablesAndTheseOverTheFile) {
  CommandLine line;
  line.shards = 4;
  const LoadedConfig loaded =
      Load("shards: 2\ncrawl_rate: 7\nlimits: {streams: 9}\n",
           {{"FRESHET_SHARDS", "3"}, {"FRESHET_CRAWL_RATE", "8.5"}, {"FRESHET_TLS_KEY", ""}}, line);
  EXPECT_THAT(loaded.problems, IsEmpty());
  EXPECT_EQ(loaded.config.shards, 4);
  EXPECT_EQ(loaded.config.crawl_rate.per_second(), 8.5);
  EXPECT_EQ(loaded.config.max_streams, 9);
  EXPECT_EQ(OriginOf(loaded, "shards"), "--shards");
  EXPECT_EQ(OriginOf(loaded, "crawl_rate"), "FRESHET_CRAWL_RATE");
  EXPECT_EQ(OriginOf(loaded, "limits.streams"), loaded.file + ":3");
  EXPECT_EQ(OriginOf(loaded, "policy"), "default");
}

TEST_F(LoadingTest, UnknownVariablesAreNamedAndThoseOfOthersLeftAlone) {
  EXPECT_THAT(Texts(Load("", {{"FRESHET_CRAWLRATE", "5"}})),
              ElementsAre("FRESHET_CRAWLRATE: unknown variable, did you mean FRESHET_CRAWL_RATE?"));
  EXPECT_THAT(Texts(Load("", {{"FRESHET_SHARDS", "x"}})),
              ElementsAre("FRESHET_SHARDS: 'x' is not a whole number"));
  EXPECT_THAT(Texts(Load("", {{"FRESHET_SERVER", "a:1"},
                              {"FRESHET_TOKEN", "secret"},
                              {"FRESHET_CONFIG", "/nowhere"},
                              {"FRESHETS", "x"},
                              {"HOME", "/"},
                              // Kubernetes sets these variables for a service called freshet.
                              {"FRESHET_SERVICE_HOST", "10.0.0.1"},
                              {"FRESHET_SERVICE_PORT_GRPC", "7071"},
                              {"FRESHET_PORT", "tcp://10.0.0.1:7071"},
                              {"FRESHET_PORT_7071_TCP_ADDR", "10.0.0.1"}})),
              IsEmpty());
  // No message contains a secret.
  for (const std::string& text : Texts(Load("", {{"FRESHET_TOKENS", "secret"}}))) {
    EXPECT_THAT(text, testing::Not(HasSubstr("secret")));
  }
}

TEST_F(LoadingTest, EveryKeyOfASingleValueHasAVariableOfItsOwn) {
  std::set<std::string> names;
  for (const ConfigKey& key : AllKeys()) {
    if (!key.scalar()) continue;
    EXPECT_TRUE(names.insert(key.environment()).second) << key.environment();
  }
  EXPECT_TRUE(names.contains("FRESHET_TLS_CERTIFICATE"));
  EXPECT_TRUE(names.contains("FRESHET_LIMITS_STREAMS"));
}

TEST_F(LoadingTest, DivisionsAreOfAClusterAndEachIsOneOfThem) {
  const std::string cluster = "cluster: {name: a, brokers: b:9092, ";
  EXPECT_THAT(Texts(Load(cluster + "divisions: 3, division: 2}\n")), IsEmpty());
  EXPECT_THAT(Texts(Load("cluster: {divisions: 3}\n")),
              ElementsAre(HasSubstr("cluster.divisions: needs cluster.name")));
  EXPECT_THAT(Texts(Load(cluster + "division: 1}\n")),
              ElementsAre("cluster.division: '1' is not a whole number from 0 to 0, because "
                          "cluster.divisions is 1"));
  EXPECT_THAT(Texts(Load("shards: 3\n" + cluster + "divisions: 2000}\n")),
              ElementsAre("shards: 3 is too many: in a cluster with 2000 divisions each division "
                          "may have at most 2"));
}

TEST_F(LoadingTest, OfAClusterTheFrontierFitsTheLog) {
  const std::string two = "cluster: {name: a, brokers: b:9092, divisions: 2}\n";
  const std::string one = "cluster: {name: a, brokers: b:9092}\n";
  const std::string scheduled = "frontier: {scheduled_crawls: [news]}\n";
  EXPECT_THAT(Texts(Load(one + scheduled)), IsEmpty());
  EXPECT_THAT(Texts(Load(two + scheduled)),
              ElementsAre("frontier.scheduled_crawls: also set cluster.address; a cluster with 2 "
                          "divisions needs it"));
  EXPECT_THAT(
      Texts(Load(two + "frontier: {shadow_crawls: [news]}\n")),
      ElementsAre(
          "frontier.shadow_crawls: also set cluster.address; a cluster with 2 divisions needs it"));
  const std::string large = "frontier: {max_metadata_bytes: 524289}\n";
  EXPECT_THAT(Texts(Load(large)), IsEmpty());
  EXPECT_THAT(Texts(Load(one + large)),
              ElementsAre("frontier.max_metadata_bytes: 524289 is too large for the log of a "
                          "cluster; at most 524288 are allowed"));
  EXPECT_THAT(Texts(Load(one + "frontier: {max_metadata_bytes: 524289, enabled: false}\n")),
              IsEmpty());
}

TEST_F(LoadingTest, SaysWhatIsNoYaml) {
  EXPECT_THAT(Texts(Load("a: [")), ElementsAre(HasSubstr("config: ")));
  EXPECT_THAT(Texts(Load("- a")), ElementsAre("config: must be a map of keys to values"));
  EXPECT_THAT(Texts(Load("? [a]\n: b\nshards: 0\n")),
              ElementsAre("config: has a key that is not a string", HasSubstr("shards: ")));
  EXPECT_THAT(Texts(Load("limits.streams: 5\n")),
              ElementsAre(HasSubstr("limits.streams: unknown")));
}

TEST_F(LoadingTest, ReadsLevelsOfModules) {
  EXPECT_EQ(Load("log_levels: {store: debug, grpc: off}\n").config.log_levels,
            (std::map<std::string, std::string>{{"grpc", "off"}, {"store", "debug"}}));
  EXPECT_THAT(Texts(Load("log_levels: {stone: debug}\n")),
              ElementsAre("log_levels: 'stone' is not a module of the log, did you mean store?"));
  EXPECT_THAT(Texts(Load("log_levels: {store: loud}\n")),
              ElementsAre(HasSubstr("log_levels.store: 'loud' is not one of")));
  EXPECT_THAT(Texts(Load("log_levels: 5\n")), ElementsAre(HasSubstr("log_levels: must be a map")));
}

}  // namespace
}  // namespace freshet
