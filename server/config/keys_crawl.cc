// Which page is crawled when: rate, policy, politeness, pauses of pages that give trouble.
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
    return InvalidArgument("{} is not within 0 and {} per second", rate,
                           limits::kMaxCrawlsPerSecond);
  };
  return std::move(key)
      .Flag("--crawl-rate")
      .Reloads()
      .Says(
          "Assignments per second that may leave the server. In a cluster with divisions it is "
          "the rate of all together, and the value of division 0 counts.");
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
    return InvalidArgument("{} is not within 0 and 1", config.forced_share);
  };
  return std::move(key).Says(
      "Part of the crawl rate at which forced pages go first: pages past their `max_interval`, "
      "and rechecks. Registrable domains take turns. Beyond it these pages go by their value, "
      "or when nothing else is due (docs/politeness.md).");
}

StatusOr<EstimatorKind> ParseEstimator(const std::string& text) {
  if (text == "default") return EstimatorKind::kDefault;
  if (text == "mle") return EstimatorKind::kMle;
  if (text == "cho_gm") return EstimatorKind::kChoGm;
  return InvalidArgument("'{}' is none of default, mle, cho_gm", text);
}

ConfigKey EstimatorKey() {
  ConfigKey key = ParsedKey("estimator", KeyType::kChoice, At(&C::estimator), ParseEstimator,
                            [](EstimatorKind kind) {
                              if (kind == EstimatorKind::kMle) return "mle";
                              return kind == EstimatorKind::kChoGm ? "cho_gm" : "default";
                            });
  key.choices = {"default", "mle", "cho_gm"};
  return std::move(key).Says(
      "How change rates are learned: `default` (pooled over pages, sources and burst classes), or "
      "for comparison `mle` or `cho_gm` (each page for itself).");
}

ConfigKey SourcesKey() {
  ConfigKey key = NamesKey("sources", At(&C::sources));
  key.check = [](const C& config) -> Status {
    if (config.sources.size() > static_cast<size_t>(limits::kMaxSources)) {
      return InvalidArgument("{} are over the limit of {}", config.sources.size(),
                             limits::kMaxSources);
    }
    for (const std::string& source : config.sources) RETURN_IF_ERROR(ValidateSourceName(source));
    return absl::OkStatus();
  };
  return std::move(key).Says(
      "Sources of change signals that a new database knows; more can be registered at run time.");
}

std::vector<ConfigKey> RateKeys() {
  return {
      RateKey(),
      SpanKey("pacing.max_lateness", At(&C::max_lateness), Pacer::kUsualLateness, kSecond)
          .Says("How late an assignment may leave, if that is more than a tick (1/crawl_rate). "
                "Ticks missed by more are gone. After a pause the server makes up for so much, "
                "in one burst."),
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
          .Says("`greedy_ncis_d` drops signals that come within this time after a crawl. Above 0 "
                "for that policy."),
      SpanKey("horizons.day", At(&C::day), kMilli, kYear)
          .Says("Length of a day for everything that the estimators measure in days."),
      SpanKey("epochs.interval", At(&C::epoch_interval), Duration(), kYear)
          .Says("Time between two estimates of all pages; 0: only on request."),
  };
}

std::vector<ConfigKey> HostKeys() {
  const auto in = [](auto field) { return At(&C::politeness, field); };
  return {
      SpanKey("politeness.min_delay", in(&Polite::min_delay), Duration(), kYear)
          .Reloads()
          .Says("The shortest time between two assignments of a host; 0 is none."),
      CountKey("politeness.max_in_flight", in(&Polite::max_in_flight), 0, UINT32_MAX)
          .Reloads()
          .Says("The most of a host's pages that are out at a time; 0 is any number."),
      SpanKey("politeness.min_page_interval", in(&Polite::min_page_interval), Duration(), kYear)
          .Reloads()
          .Says("The shortest time between two crawls of a page; 0 is none."),
      ParsedKey("politeness.max_crawls", KeyType::kCap, in(&Polite::max_crawls), ParseCrawlCap,
                WriteCap)
          .Reloads()
          .Says("Most crawls of a host in any span, such as 1000/1d; 0 is any number."),
      ParsedKey("politeness.hours", KeyType::kHours, in(&Polite::hours), ParseDayHours,
                [](const DayHours& hours) {
                  return hours.always() ? "always" : WriteText(DayHoursText(hours));
                })
          .Reloads()
          .Says(
              "The hours of the day within which a host is crawled, such as \"22:00-06:00\" (UTC) "
              "or \"22:00-06:00+02:00\"; `always` is all of the day."),
      SpanKey("politeness.max_crawl_delay", At(&C::max_crawl_delay), Duration(), kYear)
          .Says("The server keeps a longer delay that robots.txt asks for, up to this."),
  };
}

std::vector<ConfigKey> ThrottleKeys() {
  const auto in = [](auto field) { return At(&C::host_backoff, field); };
  return {
      SpanKey("politeness.throttle_backoff", in(&HostBackoff::first), Duration(), kYear)
          .Says(
              "A host that answers with HTTP status 429 or 503, and does not say for how long, is "
              "left alone for so long, twice as long after each further such answer; 0 is not at "
              "all."),
      SpanKey("politeness.max_throttle_backoff", in(&HostBackoff::longest), kMilli, kYear)
          .Says("The longest of these pauses."),
      SpanKey("politeness.throttle_forgiveness", in(&HostBackoff::quiet), kMilli, kYear)
          .Says("Each time of this length without such an answer takes back one doubling."),
      SpanKey("politeness.max_retry_after", in(&HostBackoff::longest_asked), kSecond, kYear)
          .Says("A host is left alone for this long at most, however long Retry-After asks for."),
  };
}

std::vector<ConfigKey> RuleKeys() {
  ConfigKey rules = MakeKey("politeness.rules", KeyType::kRules, At(&C::host_rules));
  rules.read = [](const std::string& key, const YAML::Node& node, C* config) {
    return ReadHostRules(key, node, &config->host_rules);
  };
  rules.write = [](const C& config) { return WriteRules(config.host_rules); };
  ConfigKey group = MakeKey("politeness.by_address", KeyType::kGroup, At(&C::by_address));
  group.read = [](const std::string& key, const YAML::Node& node, C* config) {
    return ReadGroupTerms(key, node, &config->by_address);
  };
  group.write = [](const C& config) { return WriteGroup(config.by_address); };
  return {
      std::move(rules).Says(
          "Rules for hosts by name (docs/politeness.md), such as `[{name: wiki, suffix: "
          "wiki.example, min_delay: 2s, group: {min_delay: 200ms, max_in_flight: 4}}]`."),
      std::move(group).Says("Limits that hosts of one address share, such as `{min_delay: "
                            "250ms, max_in_flight: 2}`."),
  };
}

std::vector<ConfigKey> TroubleKeys() {
  const Duration month = Duration::Days(30);
  return {
      SpanKey("errors.backoff", At(&C::error_backoff), kMilli, month)
          .Says("A page whose fetch failed waits this long, twice as long after each further "
                "failure."),
      SpanKey("errors.max_backoff", At(&C::max_error_backoff), kMilli, kYear)
          .Says("The longest of these pauses."),
      SpanKey("robots.backoff", At(&C::robots_backoff), kSecond, kYear)
          .Says("A page that robots.txt forbids waits this long, twice as long after each further "
                "result in a row that says so."),
      SpanKey("robots.max_backoff", At(&C::max_robots_backoff), kSecond, kYear)
          .Says("The longest of these pauses."),
      SpanKey("gone.backoff", At(&C::gone_backoff), kSecond, kYear)
          .Says("A page that was gone (404, 410) or has moved (301, 308) is tried again after "
                "this long, then twice as long each time. A page that no crawl has ever found "
                "begins at 16 times as long."),
      SpanKey("gone.max_backoff", At(&C::max_gone_backoff), kSecond, kYear)
          .Says("The longest of these pauses."),
      FlagKey("gone.retire_moved", At(&C::retire_moved))
          .Says("Whether the server tries pages that have moved again only when somebody asks "
                "for them."),
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
