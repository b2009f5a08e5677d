// Tests that the files generated from the table of keys equal those in the repository. If
// FRESHET_WRITE_GOLDEN is in the environment, writes these files.
#include "server/config/describe.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

void ExpectFile(const std::string& name, const std::string& expected) {
  const std::string path = FRESHET_SOURCE_DIR "/" + name;
  if (std::getenv("FRESHET_WRITE_GOLDEN") != nullptr) std::ofstream(path) << expected;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == expected)
      << name << " is not what the table of keys gives: FRESHET_WRITE_GOLDEN=1 writes it";
}

TEST(ConfigDescription, FilesAreWhatTheTableGives) {
  ExpectFile("deploy/freshet.example.yaml", ConfigExample());
  ExpectFile("deploy/freshet.schema.json", ConfigSchema());
  ExpectFile("docs/configuration.md", ConfigReference());
}

TEST(ConfigDescription, EveryKeyIsDescribed) {
  std::set<std::string> names;
  std::set<std::string_view> sections;
  std::string_view section = "none yet";
  for (const ConfigKey& key : AllKeys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name << " is there twice";
    EXPECT_GT(key.text.size(), 10u) << key.name;
    EXPECT_EQ(key.text.back(), '.') << key.name;
    EXPECT_TRUE(key.set != nullptr || key.read != nullptr) << key.name;
    ASSERT_TRUE(key.write != nullptr) << key.name;
    EXPECT_EQ(key.text.find('|'), std::string::npos) << key.name << ": it is in a table";
    if (key.section() != section && !key.section().empty()) {
      EXPECT_TRUE(sections.insert(key.section()).second)
          << key.name << " is apart from its section";
    }
    section = key.section();
  }
}

// Prints a configuration in which every value differs from its default. Loading the text gives the
// same configuration.
TEST(ConfigDescription, WhatIsPrintedGivesTheSame) {
  LoadedConfig loaded;
  LoadYaml(R"(
data_dir: "a: b"
shards: 2
tls: {client_certificate: optional}
auth: {open: [metrics]}
crawl_rate: 0.1
leases: {default: 90s, max: 36h}
politeness:
  max_crawls: 1000/1d
  hours: 22:00-06:00+02:00
  rules: [{name: a, hosts: [x.example], max_in_flight: 2, hours: 08:00-20:00, group: {min_delay: 1s}}]
  by_address: {min_delay: 250ms}
limits: {items_per_second_of_source: {cdn: 7, feed: 0.5}, connection_idle: 1m}
log_levels: {store: debug}
sources: [a, "true"]
frontier: {digest_keys: ["x y"]}
)",
           &loaded);
  ASSERT_THAT(loaded.problems, IsEmpty()) << loaded.problems[0].text;
  const std::string text = ConfigText(loaded);
  LoadedConfig again;
  LoadYaml(text, &again);
  ASSERT_THAT(again.problems, IsEmpty()) << again.problems[0].text << '\n' << text;
  for (const ConfigKey& key : AllKeys()) {
    EXPECT_EQ(key.write(again.config), key.write(loaded.config)) << key.name;
  }
  EXPECT_EQ(again.config.data_dir, "a: b");
  EXPECT_EQ(again.config.host_rules, loaded.config.host_rules);
}

TEST(ConfigDescription, HidesSecretsOfKafka) {
  LoadedConfig loaded;
  LoadYaml(R"(
cluster:
  brokers: kafka.example:9092
  properties:
    sasl.username: freshet
    sasl.password: swordfish
    sasl.oauthbearer.client.secret: swordfish
    sasl.oauthbearer.config: principal=swordfish
    ssl.key.pem: swordfish
)",
           &loaded);
  const std::string text = ConfigText(loaded);
  EXPECT_THAT(text, HasSubstr("sasl.username: freshet"));
  EXPECT_THAT(text, HasSubstr("sasl.oauthbearer.config: (hidden)"));
  EXPECT_EQ(text.find("swordfish"), std::string::npos) << text;
}

TEST(ConfigDescription, PrintsWhereValuesComeFrom) {
  LoadedConfig loaded = LoadConfig({}, {{"FRESHET_SHARDS", "3"}});
  const std::string text = ConfigText(loaded);
  EXPECT_THAT(text, HasSubstr("\nshards: 3  # FRESHET_SHARDS\n"));
  EXPECT_THAT(text, HasSubstr("\n  streams: 10000  # default\n"));
  EXPECT_THAT(text, HasSubstr("\ncrawl_rate: 10  # default; what is set at run time wins\n"));
}

// Checks only a few keys. tests/python validates the rest.
TEST(ConfigDescription, TheSchemaKnowsTypesAndBounds) {
  const nlohmann::json schema = nlohmann::json::parse(ConfigSchema());
  const auto& properties = schema["properties"];
  EXPECT_EQ(properties["shards"]["type"], "integer");
  EXPECT_EQ(properties["shards"]["maximum"], 64);
  EXPECT_EQ(properties["durability"]["enum"], nlohmann::json({"sync", "wal", "none"}));
  EXPECT_EQ(properties["limits"]["properties"]["streams"]["default"], 10000);
  EXPECT_EQ(properties["limits"]["additionalProperties"], false);
  EXPECT_EQ(schema["additionalProperties"], false);
}

}  // namespace
}  // namespace freshet
