// Keys of the crawl: rate, policy, politeness, and the pauses of pages after failures.
#include "core/base/id_limits.h"
#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/schedule/pacer.h"
#include "server/config/key_makers.h"
#include "server/config_politeness.h"

namespace freshet {
namespace {

using C = ServerConfig;
using Polite = PolitenessDefaults;

ConfigKey RateKey() {
  ConfigKey key = ParsedKey(
      "crawl_rate", KeyType::kNumber, At(&C::crawl_rate),
      [](const std::string& text) -> StatusOr<Rate> {
        ASSIGN_OR_RETURN(const double rate, ParseNumberValue(text));
        return Rate::PerSecond(rate);
      },
      [](Rate rate) { return WriteNumber(rate.per_second()); });
  key.low = 0;
  key.high = limits::kMaxCrawlsPerSecond;
  key.check = [](const C& config) -> Status {
    const double rate = config.crawl_rate.per_second();
    if (rate >= 0 && rate <= limits::kMaxCrawlsPerSecond) return absl::OkStatus();
    return WrongRange(WriteNumber(rate), "number", "0",
                      fmt::format("{}", limits::kMaxCrawlsPerSecond));
  };
  return std::move(key)
      .Flag("--crawl-rate")
      .Reloads()
      .Says(
          "Pages that the server hands out a second. With divisions this is the rate of all "
          "divisions together, and the value of division 0 counts.");
}

ConfigKey ForcedShareKey() {
  ConfigKey key = ParsedKey(
      "forced_share", KeyType::kShare, At(&C::forced_share),
      [](const std::string& text) { return ParseNumberValue(text); },
      [](double share) { return WriteNumber(share); });
  key.low = 0;
  key.high = 1;
  key.check = [](const C& config) -> Status {
    if (config.forced_share >= 0 && config.forced_share <= 1) return absl::OkStatus();
    return WrongRange(WriteNumber(config.forced_share), "number", "0", "1");
  };
  return std::move(key).Says(
      "Part of the crawl rate at which forced pages go first: pages past their `max_interval`, and "
      "rechecks (docs/politeness.md).");
}

StatusOr<EstimatorKind> ParseEstimator(const std::string& text) {
  if (text == "default") return EstimatorKind::kDefault;
  if (text == "mle") return EstimatorKind::kMle;
  if (text == "cho_gm") return EstimatorKind::kChoGm;
  return CheckChoice(text, {"default", "mle", "cho_gm"});
}

ConfigKey EstimatorKey() {
  ConfigKey key = ParsedKey("estimator", KeyType::kChoice, At(&C::estimator), ParseEstimator,
                            [](EstimatorKind kind) {
                              if (kind == EstimatorKind::kMle) return "mle";
                              return kind == EstimatorKind::kChoGm ? "cho_gm" : "default";
                            });
  key.choices = {"default", "mle", "cho_gm"};
  return std::move(key).Says(
      "How the server learns change rates: `default`, or for comparison `mle` or `cho_gm`, which "
      "look at each page by itself.");
}

ConfigKey SourcesKey() {
  ConfigKey key = NamesKey("sources", At(&C::sources));
  key.check = [](const C& config) -> Status {
    if (config.sources.size() > static_cast<size_t>(limits::kMaxSources)) {
      return InvalidArgument("{} sources are over the limit of {}", config.sources.size(),
                             limits::kMaxSources);
    }
    for (const std::string& source : config.sources) RETURN_IF_ERROR(ValidateSourceName(source));
    return absl::OkStatus();
  };
  return std::move(key).Says(
      "Sources of signals that a new store has; you can register more at run time.");
}

std::vector<ConfigKey> RateKeys() {
  return {
      RateKey(),
      SpanKey("pacing.max_lateness", At(&C::max_lateness), Pacer::kUsualLateness, kSecond)
          .Says("Longest lateness of a page, if more than a tick (1/crawl_rate). Later ticks are "
                "lost. After a pause the server hands out the pages of this time in one burst."),
      ForcedShareKey(),
      TextKey("policy", At(&C::policy))
          .Flag("--policy")
          .Reloads()
          .Says("`default`, or one of `greedy`, `greedy_cis`, `greedy_ncis`, `ncis_approx_J`, "
                "`greedy_cis_plus`, `greedy_ncis_d`, `harmonic`, `harmonic_ncis`, `new_content`; "
                "or a rate policy: `lds`, `lambda_crawl`, `lc_incompl`, `lc_compl`, "
                "`lambda_crawl_approx`, `blc`, `blc_eps`, `uniform`, `change_rate`, `frontera`, "
                "`frontera_clustered`. J is a number from 1 to 1000."),
      EstimatorKey(),
      SourcesKey(),
      SpanKey("signals.delay", At(&C::signal_delay), Duration(), kYear)
          .Says("The policy `greedy_ncis_d` drops signals within this time after a crawl, and "
                "needs a value above 0."),
      SpanKey("horizons.day", At(&C::day), kMilli, kYear)
          .Says("Length of a day for the estimators."),
      SpanKey("epochs.interval", At(&C::epoch_interval), Duration(), kYear)
          .Says("Time between two estimates of all pages. 0: only on request."),
  };
}

std::vector<ConfigKey> HostKeys() {
  const auto in = [](auto field) { return At(&C::politeness, field); };
  return {
      SpanKey("politeness.min_delay", in(&Polite::min_delay), Duration(), kYear)
          .Reloads()
          .Says("Shortest time between two assignments of a host; 0: no wait."),
      CountKey("politeness.max_in_flight", in(&Polite::max_in_flight), 0, UINT32_MAX)
          .Reloads()
          .Says("Maximum number of pages of a host that workers hold; 0: any number."),
      SpanKey("politeness.min_page_interval", in(&Polite::min_page_interval), Duration(), kYear)
          .Reloads()
          .Says("Shortest time between two crawls of a page; 0: no wait."),
      ParsedKey("politeness.max_crawls", KeyType::kCap, in(&Polite::max_crawls), ParseCrawlCap,
                WriteCap)
          .Reloads()
          .Says(
              "Maximum number of crawls of a host in any period, such as 1000/1d; 0: any number."),
      ParsedKey("politeness.hours", KeyType::kHours, in(&Polite::hours), ParseDayHours,
                [](const DayHours& hours) {
                  return hours.always() ? "always" : WriteText(DayHoursText(hours));
                })
          .Reloads()
          .Says("Hours in which a host is crawled, such as \"22:00-06:00\" (UTC) or "
                "\"22:00-06:00+02:00\"; `always`: all day."),
      SpanKey("politeness.max_crawl_delay", At(&C::max_crawl_delay), Duration(), kYear)
          .Says("The server cuts a longer crawl-delay of robots.txt to this value."),
  };
}

std::vector<ConfigKey> ThrottleKeys() {
  const auto in = [](auto field) { return At(&C::host_backoff, field); };
  return {
      SpanKey("politeness.throttle_backoff", in(&HostBackoff::first), Duration(), kYear)
          .Says("Pause of a host after an answer 429 or 503 without Retry-After. Each further such "
                "answer doubles the pause; 0: no pause."),
      SpanKey("politeness.max_throttle_backoff", in(&HostBackoff::longest), kMilli, kYear)
          .Says("Longest pause of a host that answers 429 or 503."),
      SpanKey("politeness.throttle_forgiveness", in(&HostBackoff::quiet), kMilli, kYear)
          .Says("Each period of this length without an answer 429 or 503 halves the next pause."),
      SpanKey("politeness.max_retry_after", in(&HostBackoff::longest_asked), kSecond, kYear)
          .Says("Longest pause of a host because of Retry-After."),
  };
}

std::vector<ConfigKey> RuleKeys() {
  ConfigKey rules = MakeKey("politeness.rules", KeyType::kRules, At(&C::host_rules));
  rules.read = [](const std::string& key, const YAML::Node& node, C* config) {
    return ReadHostRules(key, node, &config->host_rules);
  };
  rules.write = [](const C& config) { return WriteRules(config.host_rules); };
  const auto shared = [](const char* name, GroupTerms C::*terms) {
    ConfigKey key = MakeKey(name, KeyType::kGroup, At(terms));
    key.read = [terms](const std::string& path, const YAML::Node& node, C* config) {
      return ReadGroupTerms(path, node, &(config->*terms));
    };
    key.write = [terms](const C& config) { return WriteGroup(config.*terms); };
    return key;
  };
  ConfigKey by_domain = shared("politeness.by_domain", &C::by_domain);
  by_domain.check = [](const C& config) {
    const bool both = config.by_domain != GroupTerms() && config.by_address != GroupTerms();
    return both ? InvalidArgument("cannot be set together with politeness.by_address")
                : absl::OkStatus();
  };
  return {
      std::move(rules).Says("Rules that set the terms of hosts by their names "
                            "(docs/politeness.md), such as `[{name: wiki, suffix: wiki.example, "
                            "min_delay: 2s, group: {min_delay: 200ms, max_in_flight: 4}}]`."),
      shared("politeness.by_address", &C::by_address)
          .Says("Limits that all hosts with the same IP address share, such as "
                "`{min_delay: 250ms, max_in_flight: 2}`."),
      std::move(by_domain).Says("Limits that all hosts of a registrable domain share, such as "
                                "`{max_in_flight: 16}`. Excludes `by_address`."),
  };
}

std::vector<ConfigKey> TroubleKeys() {
  const Duration month = Duration::Days(30);
  return {
      SpanKey("errors.backoff", At(&C::error_backoff), kMilli, month)
          .Says("Pause of a page after a failed fetch. Each further failure doubles the pause."),
      SpanKey("errors.max_backoff", At(&C::max_error_backoff), kMilli, kYear)
          .Says("Longest pause of a page after failed fetches."),
      SpanKey("robots.backoff", At(&C::robots_backoff), kSecond, kYear)
          .Says("Pause of a page that robots.txt forbids. Each further such result in a row "
                "doubles the pause."),
      SpanKey("robots.max_backoff", At(&C::max_robots_backoff), kSecond, kYear)
          .Says("Longest pause of a page that robots.txt forbids."),
      SpanKey("gone.backoff", At(&C::gone_backoff), kSecond, kYear)
          .Says("Pause of a page that is gone (404, 410) or has moved (301, 308). Each attempt "
                "doubles the pause. A page that no crawl has ever found begins with 16 times this "
                "pause."),
      SpanKey("gone.max_backoff", At(&C::max_gone_backoff), kSecond, kYear)
          .Says("Longest pause of a page that is gone or has moved."),
      FlagKey("gone.retire_moved", At(&C::retire_moved))
          .Says("Whether the server tries a moved page again only when somebody asks for it."),
  };
}

}  // namespace

std::vector<ConfigKey> CrawlKeys() {
  std::vector<ConfigKey> keys;
  for (std::vector<ConfigKey> part :
       {RateKeys(), HostKeys(), ThrottleKeys(), RuleKeys(), TroubleKeys()}) {
    std::move(part.begin(), part.end(), std::back_inserter(keys));
  }
  return keys;
}

}  // namespace freshet
