#include "server/config.h"

#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/frontier_limits.h"
#include "server/base/host_port.h"
#include "server/config_limits.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ErrorOf(const Status& status) { return std::string(status.message()); }

Status Apply(const std::string& yaml) {
  ServerConfig config;
  const Status status = ApplyYaml(yaml, &config);
  return status.ok() ? Validate(config) : status;
}

TEST(Config, DefaultsAreValid) {
  const StatusOr<ServerConfig> config = MakeConfig({});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen, "127.0.0.1:7071");
  EXPECT_EQ(config->crawl_rate.per_second(), 10);
  EXPECT_EQ(config->policy, "default");
}

TEST(Config, BoundsItsFile) {
  EXPECT_TRUE(Apply("# " + std::string(limits::kMaxConfigBytes - 2, 'x')).ok());
  EXPECT_THAT(ErrorOf(Apply("# " + std::string(limits::kMaxConfigBytes - 1, 'x'))),
              HasSubstr("over the limit"));
  EXPECT_THAT(ErrorOf(Apply("a: &a [x, x]\nb: [*a, *a]\n")), HasSubstr("has a YAML alias"));
  EXPECT_THAT(ErrorOf(Apply("leases: &l {default: *l}\n")), HasSubstr("has a YAML alias"));
  EXPECT_THAT(ErrorOf(Apply("shards: 2\n---\nshards: 3\n")), HasSubstr("more than one document"));
  EXPECT_THAT(ErrorOf(Apply("shards: 2\n]\n")), HasSubstr("config: "));
  EXPECT_FALSE(Apply("sources: " + std::string(10'000, '[')).ok());
  EXPECT_TRUE(Apply("---\nshards: 2\n...\n").ok());
}

TEST(Config, IsPoliteByDefault) {
  const ServerConfig config;
  EXPECT_EQ(config.politeness.min_delay, Duration::Seconds(1));
  EXPECT_EQ(config.politeness.max_in_flight, 1u);
  EXPECT_EQ(config.politeness.min_page_interval, Duration::Seconds(60));
  EXPECT_EQ(config.host_backoff.first, Duration::Seconds(30));
  EXPECT_EQ(config.host_backoff.longest, Duration::Hours(1));
}

TEST(Config, ReadsWhatClientsMayHold) {
  ServerConfig config;
  const Status status = ApplyYaml(R"(
keepalive: { interval: 2s, timeout: 500ms }
limits: { connections: 7, streams: 6, streams_per_connection: 5, unacknowledged_bytes: 33554432, workers: 4, list_write_timeout: 2m }
workers: { max_open_leases: 3, max_newcomer_leases: 2, half_closed_wait: 1s }
)",
                                  &config);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(config.keepalive_interval, Duration::Seconds(2));
  EXPECT_EQ(config.keepalive_timeout, Duration::Millis(500));
  EXPECT_EQ(config.max_connections, 7);
  EXPECT_EQ(config.max_streams, 6);
  EXPECT_EQ(config.max_streams_per_connection, 5);
  EXPECT_EQ(config.max_unacked_bytes.get(), 33554432);
  EXPECT_EQ(config.max_workers, 4);
  EXPECT_EQ(config.list_write_timeout, Duration::Seconds(120));
  EXPECT_EQ(config.max_open_leases, 3);
  EXPECT_EQ(config.max_newcomer_leases, 2);
  EXPECT_EQ(config.half_closed_wait, Duration::Seconds(1));
  EXPECT_TRUE(Validate(config).ok());
  // 0 switches pings off.
  EXPECT_TRUE(Apply("keepalive: { interval: 0 }").ok());
  for (const std::string wrong :
       {"limits: { connections: 0 }", "limits: { streams: 1000001 }", "limits: { workers: x }",
        "limits: { streams_per_connection: -1 }", "limits: { unacknowledged_bytes: 16777215 }",
        "workers: { max_open_leases: 10001 }", "workers: { max_newcomer_leases: 0 }",
        "workers: { half_closed_wait: 2h }", "keepalive: { interval: 1ms }",
        "keepalive: { timeout: 0 }", "limits: { more: 1 }", "limits: { list_write_timeout: 0 }"}) {
    const std::string error = ErrorOf(Apply(wrong));
    EXPECT_NE(error, "") << wrong;
    EXPECT_EQ(error.substr(0, error.find('.')), wrong.substr(0, wrong.find(':'))) << error;
  }
}

TEST(Config, ReadsWhatClientsMaySend) {
  ServerConfig config;
  const Status status = ApplyYaml(R"(
limits:
  connections_per_client: 3
  streams_per_client: 2
  connection_idle: 1m
  connection_age: 1h
  connection_grace: 5s
  metadata_bytes: 2048
  message_bytes: 4096
  message_items: 10
  url_bytes: 200
  items_per_second_per_client: 2.5
  items_per_second_per_source: 100
  items_per_second_of_source: { cdn: 7, feed: 0 }
  hosts: 1000
  pages_per_host: 50
workers: { max_credit: 9 }
)",
                                  &config);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(config.items_per_second_per_client, 2.5);
  EXPECT_EQ(config.items_per_second_of_source,
            (std::map<std::string, double>{{"cdn", 7}, {"feed", 0}}));
  EXPECT_TRUE(Validate(config).ok());
  std::map<std::string, double> in_force;
  for (const LimitInForce& limit : LimitsOf(config)) in_force[limit.name] = limit.most;
  EXPECT_EQ(in_force["connections_per_client"], 3);
  EXPECT_EQ(in_force["streams_per_client"], 2);
  EXPECT_EQ(in_force["connection_idle"], 60);
  EXPECT_EQ(in_force["connection_age"], 3600);
  EXPECT_EQ(in_force["connection_grace"], 5);
  EXPECT_EQ(in_force["metadata_bytes"], 2048);
  EXPECT_EQ(in_force["message_bytes"], 4096);
  EXPECT_EQ(in_force["message_items"], 10);
  EXPECT_EQ(in_force["url_bytes"], 200);
  EXPECT_EQ(in_force["hosts"], 1000);
  EXPECT_EQ(in_force["pages_per_host"], 50);
  EXPECT_EQ(in_force["max_credit"], 9);
  for (const std::string wrong :
       {"limits: { connections_per_client: 0 }", "limits: { streams_per_client: x }",
        "limits: { connection_age: 1ms }", "limits: { metadata_bytes: 1000 }",
        "limits: { message_bytes: 16777217 }", "limits: { message_items: 1001 }",
        "limits: { url_bytes: 8193 }", "limits: { items_per_second_per_client: -1 }",
        "limits: { items_per_second_per_client: nan }", "limits: { hosts: -1 }",
        "limits: { items_per_second_of_source: 5 }",
        "limits: { items_per_second_of_source: { cdn: x } }",
        "limits: { items_per_second_of_source: { cdn: 1, cdn: 2 } }",
        "limits: { items_per_second_of_source: { \"\": 1 } }", "workers: { max_credit: 10001 }"}) {
    const std::string error = ErrorOf(Apply(wrong));
    EXPECT_NE(error, "") << wrong;
    EXPECT_EQ(error.substr(0, error.find('.')), wrong.substr(0, wrong.find(':'))) << error;
  }
}

TEST(Config, ReadsEveryKindOfKey) {
  ServerConfig config;
  const Status status = ApplyYaml(R"(
listen: "0.0.0.0:1"
insecure: true
http: { max_connections: 12 }
crawl_rate: 2.5
policy: greedy
estimator: cho_gm
shards: 4
leases: { default: 90s, max: 2h }
politeness:
  min_delay: 250ms
  max_in_flight: 3
  min_page_interval: 7s
  throttle_backoff: 2s
  max_throttle_backoff: 3m
  throttle_forgiveness: 4m
  max_retry_after: 5h
horizons:
  day: 5ms
epochs:
  interval: 0
errors:
sources: [a, b-c]
)",
                                  &config);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(config.listen, "0.0.0.0:1");
  EXPECT_EQ(config.max_http_connections, 12u);
  EXPECT_EQ(config.crawl_rate.per_second(), 2.5);
  EXPECT_EQ(config.estimator, EstimatorKind::kChoGm);
  EXPECT_EQ(config.default_lease, Duration::Seconds(90));
  EXPECT_EQ(config.max_lease, Duration::Hours(2));
  EXPECT_EQ(config.politeness.min_delay, Duration::Millis(250));
  EXPECT_EQ(config.politeness.max_in_flight, 3u);
  EXPECT_EQ(config.politeness.min_page_interval, Duration::Seconds(7));
  EXPECT_EQ(config.host_backoff.first, Duration::Seconds(2));
  EXPECT_EQ(config.host_backoff.longest, Duration::Seconds(180));
  EXPECT_EQ(config.host_backoff.quiet, Duration::Seconds(240));
  EXPECT_EQ(config.host_backoff.longest_asked, Duration::Hours(5));
  EXPECT_EQ(config.day, Duration::Millis(5));
  EXPECT_EQ(config.epoch_interval, Duration());
  EXPECT_THAT(config.sources, ElementsAre("a", "b-c"));
  EXPECT_TRUE(Validate(config).ok());
}

TEST(Config, NamesTheKeyAtFault) {
  EXPECT_EQ(ErrorOf(Apply("crawlrate: 1")), "crawlrate: unknown key, did you mean crawl_rate?");
  EXPECT_EQ(ErrorOf(Apply("leases: { longest: 1s }")), "leases.longest: unknown key");
  EXPECT_EQ(ErrorOf(Apply("leases: 5s")), "leases: is not a section, which has keys of its own");
  EXPECT_EQ(ErrorOf(Apply("crawl_rate: 1\nshards: 2\n\ncrawl_rate: 1\n")),
            "crawl_rate: is given twice, again in line 4");
  EXPECT_EQ(ErrorOf(Apply("leases:\n  max: 5s\n  default: 5s\n  max: 6s\n")),
            "leases.max: is given twice, again in line 4");
  EXPECT_EQ(ErrorOf(Apply("leases: { max: 5s }\nleases: { default: 5s }\n")),
            "leases: is given twice, again in line 2");
  EXPECT_EQ(ErrorOf(Apply("listen: { a: 1 }")), "listen: is not a single value");
  EXPECT_THAT(ErrorOf(Apply("leases: { default: soon }")), HasSubstr("leases.default: 'soon'"));
  EXPECT_THAT(ErrorOf(Apply("leases: { default: 5y }")), HasSubstr("leases.default: '5y'"));
  EXPECT_THAT(ErrorOf(Apply("leases: { default: 2d }")), HasSubstr("leases.default: '2d' is not"));
  EXPECT_THAT(ErrorOf(Apply("estimator: best")), HasSubstr("estimator: 'best'"));
  EXPECT_THAT(ErrorOf(Apply("politeness: { min_page_interval: 9000d }")),
              HasSubstr("politeness.min_page_interval: "));
  EXPECT_THAT(ErrorOf(Apply("politeness: { throttle_backoff: 2h }")),
              HasSubstr("politeness.throttle_backoff: '2h' is not a duration from 0s to 1h"));
  EXPECT_THAT(ErrorOf(Apply("politeness: { throttle_forgiveness: 0 }")),
              HasSubstr("politeness.throttle_forgiveness: "));
  EXPECT_THAT(ErrorOf(Apply("shards: 0")), HasSubstr("shards: "));
  EXPECT_THAT(ErrorOf(Apply("shards: 1.5")), HasSubstr("shards: '1.5' is not a whole number"));
  EXPECT_THAT(ErrorOf(Apply("sources: x")), HasSubstr("sources: "));
  EXPECT_THAT(ErrorOf(Apply("sources: [X]")), HasSubstr("sources: "));
  EXPECT_THAT(ErrorOf(Apply("durability: maybe")), HasSubstr("durability: 'maybe'"));
  EXPECT_THAT(ErrorOf(Apply("log_level: loud")), HasSubstr("log_level: 'loud'"));
  EXPECT_THAT(ErrorOf(Apply("- a")), HasSubstr("config: "));
  EXPECT_THAT(ErrorOf(Apply("a: [")), HasSubstr("config: "));
}

TEST(Config, RefusesBadNumbersAndNames) {
  CommandLine line;
  for (const double rate : {-1.0, std::nan(""), 1e8, HUGE_VAL}) {
    line.crawl_rate = rate;
    EXPECT_THAT(ErrorOf(MakeConfig(line).status()), HasSubstr("--crawl-rate: '"));
  }
  line.crawl_rate = 0;
  line.policy = "clever";
  EXPECT_THAT(ErrorOf(MakeConfig(line).status()),
              HasSubstr("--policy: 'clever' is not a policy; these are known: default, "));
  // The name is exactly as the list of policies prints it.
  line.policy = "ncis_approx_J";
  EXPECT_EQ(ErrorOf(MakeConfig(line).status()),
            "--policy: 'ncis_approx_J' is not ncis_approx_N, where N is the number of terms of the "
            "approximation, from 1 to 1000");
}

TEST(Config, GreedyNcisDNeedsADelay) {
  ServerConfig config;
  ASSERT_TRUE(ApplyYaml("policy: greedy_ncis_d", &config).ok());
  EXPECT_THAT(ErrorOf(Validate(config)), HasSubstr("policy: 'greedy_ncis_d'"));
  EXPECT_THAT(ErrorOf(Validate(config)), HasSubstr("signals.delay is 0"));
  ASSERT_TRUE(ApplyYaml("signals: { delay: 1us }", &config).ok());
  EXPECT_TRUE(Validate(config).ok());
}

TEST(Config, BoundsHowLateAnAssignmentMayLeave) {
  ServerConfig config;
  ASSERT_TRUE(ApplyYaml("pacing: { max_lateness: 250ms }", &config).ok());
  EXPECT_TRUE(Validate(config).ok());
  EXPECT_EQ(config.max_lateness, Duration::Millis(250));
  EXPECT_THAT(ErrorOf(Apply("pacing: { max_lateness: 2s }")), HasSubstr("pacing.max_lateness: "));
  EXPECT_THAT(ErrorOf(Apply("pacing: { max_lateness: 0s }")), HasSubstr("pacing.max_lateness: "));
}

TEST(Config, BoundsWhatPagesThatGiveTroubleWaitFor) {
  ServerConfig config;
  const Status status = ApplyYaml(
      "leases: { backoff: 0s, max_backoff: 2h, max_unanswered: 9 }\n"
      "gone: { backoff: 2m, max_backoff: 3d, retire_moved: true }",
      &config);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(Validate(config).ok());
  EXPECT_EQ(config.lease_backoff, Duration());
  EXPECT_EQ(config.max_lease_backoff, Duration::Hours(2));
  EXPECT_EQ(config.max_unanswered_leases, 9u);
  EXPECT_EQ(config.gone_backoff, Duration::Seconds(120));
  EXPECT_EQ(config.max_gone_backoff, Duration::Days(3));
  EXPECT_TRUE(config.retire_moved);
  EXPECT_THAT(ErrorOf(Apply("leases: { backoff: 2h }")), HasSubstr("leases.max_backoff: "));
  EXPECT_EQ(ErrorOf(Apply("leases: { max_unanswered: 0 }")),
            "leases.max_unanswered: '0' is not a whole number from 1 to 255");
  EXPECT_THAT(ErrorOf(Apply("leases: { max_unanswered: 256 }")),
              HasSubstr("'256' is not a whole number from 1 to 255"));
  EXPECT_THAT(ErrorOf(Apply("gone: { backoff: 0s }")),
              HasSubstr("gone.backoff: '0s' is not a duration from 1s to"));
  EXPECT_THAT(ErrorOf(Apply("gone: { backoff: 31d }")), HasSubstr("gone.max_backoff: "));
  EXPECT_EQ(ErrorOf(Apply("gone: { retire_moved: maybe }")),
            "gone.retire_moved: 'maybe' is not one of true, false");
}

TEST(Config, FlagsWinOverTheFile) {
  const TempDir dir;
  std::ofstream(dir / "f.yaml") << "crawl_rate: 5\nshards: 2\n";
  CommandLine line;
  line.config_file = dir / "f.yaml";
  line.crawl_rate = 7;
  const StatusOr<ServerConfig> config = MakeConfig(line);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->crawl_rate.per_second(), 7);
  EXPECT_EQ(config->shards, 2);
  line.config_file = dir / "none.yaml";
  EXPECT_THAT(ErrorOf(MakeConfig(line).status()), HasSubstr("config: cannot open"));
}

TEST(Config, TheExampleShowsTheDefaults) {
  CommandLine line;
  line.config_file = FRESHET_SOURCE_DIR "/deploy/freshet.example.yaml";
  const StatusOr<ServerConfig> config = MakeConfig(line);
  ASSERT_TRUE(config.ok()) << config.status();
  const ServerConfig defaults;
  EXPECT_EQ(config->data_dir, defaults.data_dir);
  EXPECT_EQ(config->listen, defaults.listen);
  EXPECT_EQ(config->http_listen, defaults.http_listen);
  EXPECT_EQ(config->crawl_rate, defaults.crawl_rate);
  EXPECT_EQ(config->policy, defaults.policy);
  EXPECT_EQ(config->durability, defaults.durability);
  EXPECT_EQ(config->default_lease, defaults.default_lease);
  EXPECT_EQ(config->max_lease, defaults.max_lease);
  EXPECT_EQ(config->politeness, defaults.politeness);
  EXPECT_EQ(config->host_backoff, defaults.host_backoff);
  EXPECT_EQ(config->error_backoff, defaults.error_backoff);
  EXPECT_EQ(config->max_error_backoff, defaults.max_error_backoff);
  EXPECT_EQ(config->lease_backoff, defaults.lease_backoff);
  EXPECT_EQ(config->max_lease_backoff, defaults.max_lease_backoff);
  EXPECT_EQ(config->max_unanswered_leases, defaults.max_unanswered_leases);
  EXPECT_EQ(config->gone_backoff, defaults.gone_backoff);
  EXPECT_EQ(config->max_gone_backoff, defaults.max_gone_backoff);
  EXPECT_EQ(config->retire_moved, defaults.retire_moved);
  EXPECT_EQ(config->day, defaults.day);
  EXPECT_EQ(config->epoch_interval, defaults.epoch_interval);
  EXPECT_EQ(config->shutdown_grace, defaults.shutdown_grace);
  EXPECT_EQ(config->keepalive_interval, defaults.keepalive_interval);
  EXPECT_EQ(config->keepalive_timeout, defaults.keepalive_timeout);
  EXPECT_EQ(config->max_connections, defaults.max_connections);
  EXPECT_EQ(config->max_streams, defaults.max_streams);
  EXPECT_EQ(config->max_streams_per_connection, defaults.max_streams_per_connection);
  EXPECT_EQ(config->max_unacked_bytes, defaults.max_unacked_bytes);
  EXPECT_EQ(config->max_workers, defaults.max_workers);
  EXPECT_EQ(config->list_write_timeout, defaults.list_write_timeout);
  EXPECT_EQ(config->max_open_leases, defaults.max_open_leases);
  EXPECT_EQ(config->max_newcomer_leases, defaults.max_newcomer_leases);
  EXPECT_EQ(config->half_closed_wait, defaults.half_closed_wait);
  EXPECT_EQ(config->sources, defaults.sources);
  EXPECT_EQ(config->tls_certificate, defaults.tls_certificate);
  EXPECT_EQ(config->tls_client_certificate_required, defaults.tls_client_certificate_required);
  EXPECT_EQ(config->auth_open, defaults.auth_open);
  EXPECT_EQ(config->insecure, defaults.insecure);
  EXPECT_EQ(config->reload_interval, defaults.reload_interval);
}

TEST(Config, NamesCrawlIdsOfTheFrontierThatAreScheduled) {
  ServerConfig config;
  ASSERT_TRUE(ApplyYaml("frontier: {scheduled_crawls: [shop, DEFAULT], status_keys: [s],\n"
                        "  digest_keys: [d, e], zero_is_never: false}\n",
                        &config)
                  .ok());
  EXPECT_TRUE(Validate(config).ok());
  EXPECT_THAT(config.frontier_scheduled, ElementsAre("shop", "DEFAULT"));
  EXPECT_THAT(config.frontier_status_keys, ElementsAre("s"));
  EXPECT_THAT(config.frontier_digest_keys, ElementsAre("d", "e"));
  EXPECT_FALSE(config.frontier_zero_is_never);
  EXPECT_EQ(ErrorOf(Apply("frontier: {scheduled_crawls: ['']}\n")),
            "frontier.scheduled_crawls: '' is not a crawl id");
  EXPECT_THAT(ErrorOf(Apply("frontier: {scheduled_crawls: ['a b']}\n")),
              HasSubstr("frontier.scheduled_crawls: "));
  std::string many;
  for (size_t i = 0; i <= limits::kMaxScheduledCrawls; ++i) many += "c" + std::to_string(i) + ", ";
  EXPECT_EQ(ErrorOf(Apply("frontier: {scheduled_crawls: [" + many + "]}\n")),
            "frontier.scheduled_crawls: has 17 crawl ids, and at most 16 are allowed");
  EXPECT_EQ(ErrorOf(Apply("frontier: {shadow_crawls: [" + many + "]}\n")),
            "frontier.shadow_crawls: has 17 crawl ids, and at most 16 are allowed");
  EXPECT_EQ(ErrorOf(Apply("frontier: {scheduled_crawls: [a, b], shadow_crawls: [c, b]}\n")),
            "frontier.shadow_crawls: 'b' is also in frontier.scheduled_crawls");
  EXPECT_EQ(ErrorOf(Apply("frontier: {shadow_crawls: ['']}\n")),
            "frontier.shadow_crawls: '' is not a crawl id");
}

TEST(Config, OtherMachinesAreServedWithTlsAndIdentitiesOnly) {
  const std::string wide = "listen: '0.0.0.0:1'\n";
  EXPECT_EQ(ErrorOf(Apply(wide)),
            "listen: 0.0.0.0:1 can be reached from other machines: set tls.certificate and "
            "tls.key and also auth.file or tls.client_ca, or --insecure to allow plain text "
            "without identities");
  EXPECT_THAT(ErrorOf(Apply("http_listen: '[::]:1'")), HasSubstr("http_listen: [::]:1 can be"));
  EXPECT_THAT(ErrorOf(Apply("listen: 'example.org:1'")), HasSubstr("can be reached"));
  const std::string tls = "tls: {certificate: c, key: k}\n";
  EXPECT_THAT(ErrorOf(Apply(wide + tls)), HasSubstr("set auth.file or tls.client_ca,"));
  EXPECT_THAT(ErrorOf(Apply(wide + "auth: {file: a}\n")),
              HasSubstr("set tls.certificate and tls.key,"));
  EXPECT_TRUE(Apply(wide + tls + "auth: {file: a}\n").ok());
  EXPECT_TRUE(Apply(wide + "tls: {certificate: c, key: k, client_ca: a}\n").ok());
  EXPECT_TRUE(Apply(wide + "insecure: true\n").ok());
  for (const char* here : {"127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "localhost:1"}) {
    EXPECT_TRUE(Apply("listen: '" + std::string(here) + "'\n").ok()) << here;
  }
}

TEST(Config, NamesWhatIsMissingForTls) {
  EXPECT_THAT(ErrorOf(Apply("tls: {certificate: c}")), HasSubstr("tls.key: is missing"));
  EXPECT_THAT(ErrorOf(Apply("tls: {key: k}")), HasSubstr("tls.certificate: is missing"));
  EXPECT_THAT(ErrorOf(Apply("tls: {client_ca: a}")), HasSubstr("tls.client_ca: needs"));
  EXPECT_THAT(ErrorOf(Apply("tls: {client_certificate: maybe}")),
              HasSubstr("'maybe' is not one of"));
  EXPECT_THAT(ErrorOf(Apply("auth: {open: [everything]}")),
              HasSubstr("'everything' is not one of"));
  EXPECT_TRUE(Apply("auth: {open: [metrics, console, reflection]}").ok());
  EXPECT_THAT(ErrorOf(Apply("reload: {interval: 0}")), HasSubstr("reload.interval: "));
}

// Opening a named pipe waits for a writer. Previously, a reload waited for ever, and the server
// could not be stopped.
TEST(Config, WaitsForNoWriterOfAPipe) {
  const TempDir dir;
  const std::string pipe = dir / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(ErrorOf(ReadSettingsFile(pipe, 100).status()),
              HasSubstr("it is a pipe whose writer takes too long"));
  EXPECT_FALSE(ReadSettingsFile(dir.path(), 100).ok());
  std::thread writer([&] { std::ofstream(pipe) << "shards: 2"; });
  const StatusOr<std::string> text = ReadSettingsFile(pipe, 100);
  writer.join();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "shards: 2");
}

TEST(Config, ParsesAddresses) {
  EXPECT_EQ(ParseHostPort("localhost:80")->host, "localhost");
  EXPECT_EQ(ParseHostPort("[::1]:0")->host, "::1");
  EXPECT_EQ(ParseHostPort("[::1]:65535")->port, 65535);
  for (const char* bad : {"", "host", ":80", "host:", "host:x", "host:65536", "host:-1", "::1:80",
                          "[::1]80", "[::1:80"}) {
    EXPECT_FALSE(ParseHostPort(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace freshet
