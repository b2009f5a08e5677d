#include "core/schedule/host_rules.h"

#include "core/base/limits.h"
#include "core/schedule/host_gate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

using testing::HasSubstr;

constexpr GroupTerms kPair = {.min_delay = Duration::Seconds(3), .max_in_flight = 2};

std::vector<HostRule> Rules() {
  return {{.name = "below", .suffix = "example.com", .min_delay = Duration::Seconds(1)},
          {.name = "deeper",
           .suffix = "deep.example.com",
           .min_delay = Duration::Seconds(2),
           .group = kPair},
          {.name = "listed",
           .hosts = {"a.deep.example.com", "192.0.2.1", "[2001:db8::1]"},
           .max_in_flight = 7}};
}

std::shared_ptr<const HostGroup> GroupOf(const HostGate& gate, HostId host) {
  return gate.groups().group(gate.host(host).group);
}

std::shared_ptr<const HostRules> Made(std::vector<HostRule> rules, const SharedTerms& shared) {
  auto made = HostRules::Make(std::move(rules), shared);
  EXPECT_TRUE(made.ok()) << made.status();
  return *made;
}

std::string FaultOf(const std::vector<HostRule>& rules) {
  return std::string(HostRules::Make(rules, {}).status().message());
}

TEST(HostRules, TheMostSpecificRuleWins) {
  const auto rules = Made(Rules(), {});
  const auto name = [&](std::string_view host) {
    const HostRule* rule = rules->Find(host);
    return rule == nullptr ? "" : rule->name;
  };
  EXPECT_EQ(name("example.com"), "below");
  EXPECT_EQ(name("www.example.com"), "below");
  EXPECT_EQ(name("deep.example.com"), "deeper");
  EXPECT_EQ(name("b.deep.example.com"), "deeper");
  EXPECT_EQ(name("a.deep.example.com"), "listed");
  EXPECT_EQ(name("b.a.deep.example.com"), "deeper");
  EXPECT_EQ(name("192.0.2.1"), "listed");
  EXPECT_EQ(name("[2001:db8::1]"), "listed");
  for (const char* host : {"badexample.com", "com", "example.com.net", "", "."}) {
    EXPECT_EQ(name(host), "") << host;
  }
}

TEST(HostRules, WhatCannotBeMeantIsRefused) {
  std::vector<HostRule> rules = Rules();
  rules.push_back({.name = "below", .suffix = "net", .max_in_flight = 1});
  EXPECT_THAT(FaultOf(rules), HasSubstr("rule 'below': another rule has this name"));
  rules.back().name = "twice";
  rules.back().suffix = "example.com";
  EXPECT_THAT(FaultOf(rules),
              HasSubstr("rule 'twice': suffix example.com is in rule 'below' already"));
  rules.back() = {.name = "twice", .hosts = {"192.0.2.1"}, .max_in_flight = 1};
  EXPECT_THAT(FaultOf(rules), HasSubstr("host 192.0.2.1 is in rule 'listed' already"));
  rules.back() = {.name = "none", .max_in_flight = 1};
  EXPECT_THAT(FaultOf(rules), HasSubstr("rule 'none': has neither hosts nor suffix"));
  rules.back() = {.name = "empty", .suffix = "net"};
  EXPECT_THAT(FaultOf(rules), HasSubstr("rule 'empty': sets nothing"));
  rules.assign(limits::kMaxHostRules + 1, rules.front());
  EXPECT_THAT(FaultOf(rules), HasSubstr("over the limit"));
}

TEST(HostRules, EachTermComesFromTheFirstThatSaysSomething) {
  HostGate gate({.min_delay = Duration::Seconds(5), .max_in_flight = 1}, Made(Rules(), {}),
                Duration::Seconds(60));
  const HostId host = gate.Intern("www.example.com");
  EXPECT_EQ(gate.TermsOf(host).min_delay,
            (Term<Duration>{Duration::Seconds(1), TermOrigin::kRule}));
  EXPECT_EQ(gate.TermsOf(host).max_in_flight, (Term<uint32_t>{1, TermOrigin::kDefault}));
  gate.SetDefaultsOf(host,
                     PolitenessDefaults{.min_delay = Duration::Seconds(9), .max_in_flight = 4});
  EXPECT_EQ(gate.TermsOf(host).min_delay.origin, TermOrigin::kRule);
  EXPECT_EQ(gate.TermsOf(host).max_in_flight, (Term<uint32_t>{4, TermOrigin::kCrawlId}));
  HostRecord record = {.host = "www.example.com", .min_delay = Duration()};
  gate.Put(record);
  EXPECT_EQ(gate.TermsOf(host).min_delay, (Term<Duration>{Duration(), TermOrigin::kHost}));
  record.crawl_delay = Duration::Seconds(20);
  gate.Put(record);
  EXPECT_EQ(gate.TermsOf(host).min_delay,
            (Term<Duration>{Duration::Seconds(20), TermOrigin::kReported}));
  record.crawl_delay = Duration::Days(300);
  gate.Put(record);
  EXPECT_EQ(gate.TermsOf(host).min_delay.value, Duration::Seconds(60)) << "no more than that";
  record.min_delay = Duration::Seconds(100);
  gate.Put(record);
  EXPECT_EQ(gate.TermsOf(host).min_delay,
            (Term<Duration>{Duration::Seconds(100), TermOrigin::kHost}));
}

TEST(HostRules, AHostIsInTheGroupOfItsRuleElseOfItsAddress) {
  HostGate gate({}, Made(Rules(), {.by_address = {.max_in_flight = 5}}));
  const HostId ruled = gate.Intern("b.deep.example.com");
  ASSERT_NE(GroupOf(gate, ruled), nullptr);
  EXPECT_EQ(*GroupOf(gate, ruled), (HostGroup{"deeper", kPair}));
  const HostId sibling = gate.Intern("deep.example.com");
  EXPECT_EQ(GroupOf(gate, sibling), GroupOf(gate, ruled)) << "one object";

  HostRecord plain = {.host = "plain.test"};
  const HostId host = gate.Put(plain);
  EXPECT_EQ(GroupOf(gate, host), nullptr);
  plain.address = *ParseIpAddress("192.0.2.9");
  gate.Put(plain);
  ASSERT_NE(GroupOf(gate, host), nullptr);
  EXPECT_EQ(*GroupOf(gate, host), (HostGroup{"address 192.0.2.9", {.max_in_flight = 5}}));
  const HostId other = gate.Put({.host = "other.test", .address = plain.address});
  EXPECT_EQ(GroupOf(gate, other), GroupOf(gate, host)) << "one object";
  plain.address = *ParseIpAddress("2001:db8::1");
  gate.Put(plain);
  EXPECT_EQ(GroupOf(gate, host)->name, "address 2001:db8::1");
  gate.Put({.host = "b.deep.example.com", .address = plain.address});
  EXPECT_EQ(GroupOf(gate, ruled)->name, "deeper") << "its rule goes before";
}

std::string_view LastLabels(std::string_view host) {
  const size_t dot = host.rfind('.', host.rfind('.') - 1);
  return dot == std::string_view::npos ? host : host.substr(dot + 1);
}

// The owner of a domain can make names below it at no cost. If hosts of a domain did not share a
// limit, each of these names could have as many pages in flight as a host may.
TEST(HostRules, HostsOfOneDomainMayShareALimit) {
  HostGate gate({.max_in_flight = 1},
                Made(Rules(), {.by_domain = {.max_in_flight = 2}, .domain_of = &LastLabels}));
  const HostId a = gate.Intern("a.evil.test");
  const HostId b = gate.Intern("b.evil.test");
  const HostId c = gate.Intern("c.evil.test");
  EXPECT_EQ(*GroupOf(gate, a), (HostGroup{"domain evil.test", {.max_in_flight = 2}}));
  EXPECT_EQ(GroupOf(gate, b), GroupOf(gate, a)) << "one object";
  EXPECT_EQ(GroupOf(gate, gate.Intern("b.deep.example.com"))->name, "deeper");
  const Instant now = Instant::FromUnixSeconds(1'000'000);
  const auto group_free_at = [&gate](HostId host) {
    return gate.groups().FreeAt(gate.host(host).group);
  };
  gate.Pick(a, now);
  EXPECT_LE(group_free_at(c), now);
  gate.Pick(b, now);
  EXPECT_GT(group_free_at(c), now);
  EXPECT_LE(group_free_at(gate.Intern("a.good.test")), now);
}

// Hosts that move between groups leave no unused groups behind.
TEST(HostRules, SharedGroupsThatAreOverAreDropped) {
  SharedGroups groups;
  for (int i = 1; i <= 5000; ++i) (void)groups.Of("address " + std::to_string(i), kPair);
  EXPECT_LT(groups.size(), 2000U);
}

}  // namespace
}  // namespace freshet
