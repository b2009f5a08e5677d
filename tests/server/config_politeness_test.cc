// Tests the politeness rules of a configuration file.
#include "server/config_politeness.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/config.h"
#include "server/config/loading.h"

namespace freshet {
namespace {

using testing::HasSubstr;

constexpr char kRules[] = R"(
politeness:
  max_crawls: 1000/1d
  hours: "08:00-20:00+01:00"
  max_crawl_delay: 30s
  by_address: { min_delay: 500ms, max_in_flight: 3 }
  rules:
    - name: shops
      hosts: [Shop.Example.COM, "münchen.example", 192.0.2.1, "[2001:DB8:0::1]"]
      suffix: shops.example
      min_delay: 2s
      max_in_flight: 4
      min_page_interval: 5m
      max_crawls: 10/1m
      hours: "22:00-06:00"
      group: { min_delay: 100ms, max_in_flight: 20 }
    - { name: slow, suffix: slow.example, min_delay: 1m }
robots: { backoff: 2d, max_backoff: 20d }
)";

std::string FaultIn(const std::string& yaml) {
  ServerConfig config;
  const Status applied = ApplyYaml(yaml, &config);
  return std::string((applied.ok() ? Validate(config) : applied).message());
}

TEST(ConfigPoliteness, ReadsRules) {
  ServerConfig config;
  const Status status = ApplyYaml(kRules, &config);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(Validate(config).ok()) << Validate(config);
  EXPECT_EQ(config.politeness.max_crawls, (CrawlCap{1000, Duration::Days(1)}));
  EXPECT_EQ(DayHoursText(config.politeness.hours), "08:00-20:00+01:00");
  EXPECT_EQ(config.max_crawl_delay, Duration::Seconds(30));
  EXPECT_EQ(config.by_address, (GroupTerms{Duration::Millis(500), 3}));
  EXPECT_EQ(config.robots_backoff, Duration::Days(2));
  EXPECT_EQ(config.max_robots_backoff, Duration::Days(20));
  ASSERT_EQ(config.host_rules.size(), 2U);
  const HostRule expected = {
      .name = "shops",
      .hosts = {"shop.example.com", "xn--mnchen-3ya.example", "192.0.2.1", "[2001:db8::1]"},
      .suffix = "shops.example",
      .min_delay = Duration::Seconds(2),
      .max_in_flight = 4,
      .min_page_interval = Duration::Seconds(300),
      .max_crawls = CrawlCap{10, Duration::Seconds(60)},
      .hours = *ParseDayHours("22:00-06:00"),
      .group = GroupTerms{Duration::Millis(100), 20}};
  EXPECT_EQ(config.host_rules[0], expected);
  EXPECT_EQ(
      config.host_rules[1],
      (HostRule{.name = "slow", .suffix = "slow.example", .min_delay = Duration::Seconds(60)}));
}

TEST(ConfigPoliteness, ErrorsNameKeyAndLine) {
  const auto rule = [](const std::string& text) {
    return FaultIn("politeness:\n  rules:\n    - {" + text + "}\n");
  };
  EXPECT_EQ(FaultIn("politeness: { rules: 5 }"), "politeness.rules: is not a list (line 1)");
  EXPECT_THAT(rule("suffix: a.example, min_delay: 1s"),
              HasSubstr("politeness.rules[0].name: is missing (line 3)"));
  EXPECT_THAT(rule("name: A B, suffix: a.example"), HasSubstr("politeness.rules[0].name: "));
  EXPECT_THAT(rule("name: a, min_delay: 1s"), HasSubstr("has neither hosts nor suffix"));
  EXPECT_THAT(rule("name: a, suffix: a.example"), HasSubstr("rule 'a': sets nothing"));
  EXPECT_EQ(rule("name: a, delay: 1s"), "politeness.rules[0].delay: unknown key (line 3)");
  EXPECT_EQ(rule("name: a, min_dely: 1s"),
            "politeness.rules[0].min_dely: unknown key, did you mean min_delay? (line 3)");
  EXPECT_THAT(rule("name: a, name: b"), HasSubstr("politeness.rules[0].name: is given twice"));
  EXPECT_THAT(rule("name: a, min_delay: [1s]"), HasSubstr("min_delay: is not a single value"));
  EXPECT_THAT(rule("name: a, min_delay: -1s"),
              HasSubstr("min_delay: '-1s' is not a duration from 0"));
  EXPECT_THAT(rule("name: a, max_in_flight: 1.5"), HasSubstr("max_in_flight: '1.5'"));
  EXPECT_THAT(rule("name: a, hours: 22-6"), HasSubstr("hours: '22-6' is not a span of hours"));
  for (const char* cap : {"1000", "0/1d", "-1/1d", "10/0", "10/400d", "10/", "/1d", "x/1d",
                          "2000000000/1d", "10/1d/2"}) {
    EXPECT_THAT(rule("name: a, max_crawls: " + std::string(cap)), HasSubstr("[0].max_crawls: '"))
        << cap;
  }
  for (const char* host : {"''", "'a b'", "http://a.example", "a.example:80", "a.example/x",
                           "1.2.3.4.5", "'[::g]'", "[x]"}) {
    EXPECT_THAT(rule("name: a, hosts: [" + std::string(host) + "]"), HasSubstr("[0].hosts: "))
        << host;
  }
  for (const char* suffix : {".a.example", "'*.a.example'", "192.0.2.1", "'[::1]'"}) {
    EXPECT_THAT(rule("name: a, min_delay: 1s, suffix: " + std::string(suffix)),
                HasSubstr("[0].suffix: "))
        << suffix;
  }
  EXPECT_EQ(rule("name: a, suffix: a.example, group: {}"),
            "politeness.rules[0].group: sets nothing (line 3)");
  EXPECT_THAT(rule("name: a, suffix: a.example, group: {hours: always}"),
              HasSubstr("politeness.rules[0].group.hours: unknown key"));
  EXPECT_THAT(FaultIn("politeness: { by_address: 3 }"),
              HasSubstr("politeness.by_address: is not a section"));
  EXPECT_THAT(FaultIn("politeness: { hours: 7 }"), HasSubstr("politeness.hours: '7'"));
  EXPECT_THAT(FaultIn("politeness: { max_crawls: 7 }"), HasSubstr("politeness.max_crawls: '7'"));
  EXPECT_THAT(FaultIn("robots: { backoff: 2d, max_backoff: 1d }"), HasSubstr("robots.max_backoff"));
  EXPECT_THAT(FaultIn("politeness:\n  rules:\n"
                      "    - {name: a, hosts: [x.example], min_delay: 1s}\n"
                      "    - {name: b, hosts: [X.example], min_delay: 2s}\n"),
              HasSubstr("politeness.rules: rule 'b': host x.example is in rule 'a' already"));
}

// A rule that cannot be read has neither name nor hosts. Only the original error is reported.
TEST(ConfigPoliteness, AFaultInARuleIsToldOnce) {
  LoadedConfig loaded;
  LoadYaml("politeness: {rules: [{name: A B, hosts: [a.example], min_delay: 1s}]}", &loaded);
  EXPECT_EQ(loaded.problems.size(), 1U);
  EXPECT_TRUE(loaded.config.host_rules.empty());
}

TEST(ConfigPoliteness, TooManyRulesAreRefused) {
  std::string yaml = "politeness:\n  rules:\n";
  for (size_t i = 0; i <= limits::kMaxHostRules; ++i) {
    yaml += fmt::format("    - {{name: r{0}, suffix: s{0}.example, min_delay: 1s}}\n", i);
  }
  EXPECT_THAT(FaultIn(yaml), HasSubstr("1001 rules are over the limit of 1000"));
}

}  // namespace
}  // namespace freshet
