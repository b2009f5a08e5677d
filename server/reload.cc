#include "server/reload.h"

#include <utility>

#include "server/api/rate_sharing.h"
#include "server/config/key.h"
#include "server/engine/epochs_of_all.h"
#include "server/logging.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

spdlog::logger& Log() { return Logger(LogModule::kConfig); }

// The value as it is shown in the log.
std::string Shown(const std::string& written) { return written.empty() ? "nothing" : written; }

void SayStored(std::string_view key) {
  Log().info("{}: the value that an operator set at run time stays in force", key);
}

// RuntimeSettings::Change calls the three functions below on a shard's thread, after the earlier
// changes by operators.
void FollowRate(const ServerContext& context, const Settings& stored, Rate rate) {
  if (stored.crawl_rate) return SayStored("crawl_rate");
  if (context.rates.status().shared && !context.router.division().keeps()) {
    return Log().info(
        "crawl_rate: the value of this server is not used: the whole cluster uses that of division "
        "{}",
        SlotDivision::kKeeper);
  }
  context.rates.SetTotal(rate);
}

void FollowPolicy(const ServerContext& context, const Settings& stored, const std::string& name) {
  if (stored.policy) return SayStored("policy");
  const StatusOr<CrawlPolicy> policy = ResolvePolicy(name, context.config.signal_delay);
  if (!policy.ok() || (policy->plan && context.crawls.any_of_rate())) {
    Log().warn("policy: {} is not used: {}", name,
               policy.ok() ? "it plans the rates of all pages itself, but some crawl ids have a "
                             "share or max_rate_per_second"
                           : std::string(policy.status().message()));
    return;
  }
  context.settings.set_policy(name, PolicyNow(context.router, context.settings).pending.empty());
  ChangePolicy(context.router, context.plans, *policy, [name](const Status& status) {
    if (!status.ok()) Log().warn("policy: {}: {}", name, status.ToString());
  });
}

void FollowPoliteness(const ServerContext& context, const Settings& stored,
                      const PolitenessDefaults& before) {
  const PolitenessDefaults old = PolitenessIn(stored, before);
  const PolitenessDefaults now = PolitenessIn(stored, context.settings.configured());
  if (stored.min_delay || stored.max_in_flight || stored.min_page_interval) {
    SayStored("politeness");
  }
  ChangePoliteness(context.router, now, now.min_page_interval != old.min_page_interval,
                   [](const Status& status) {
                     if (!status.ok()) Log().warn("politeness: {}", status.ToString());
                   });
}

}  // namespace

Reloader::Reloader(ServerConfig& config, Door& door, Serving& serving)
    : config_(config), door_(door), context_(serving.context()) {
  for (const ConfigKey& key : AllKeys()) in_force_[key.name] = key.write(config);
}

void Reloader::Take(const ServerConfig& fresh) {
  Names taken;
  for (const ConfigKey& key : AllKeys()) {
    std::string value = key.write(fresh);
    std::string& before = in_force_[key.name];
    if (value == before) continue;
    if (key.effect == Effect::kRestart || NeedsRestart(key.name, fresh)) {
      Log().warn("{}: stays {} until a restart; then it becomes {}", key.name, Shown(before),
                 Shown(value));
      continue;
    }
    Log().info("{}: is now {}, was {}", key.name, Shown(value), Shown(before));
    if (key.copy) key.copy(fresh, &config_);
    before = std::move(value);
    taken.insert(key.name);
  }
  if (taken.empty()) {
    Log().info("the configuration was read again: no value has changed");
    return;
  }
  if (taken.contains("log_level") || taken.contains("log_levels")) SetConfiguredLogLevels(fresh);
  TakeRates(fresh);
  TakeSettings(fresh, taken);
}

bool Reloader::NeedsRestart(const std::string& name, const ServerConfig& fresh) const {
  const auto appears = [](const std::string& old, const std::string& now) {
    return old.empty() != now.empty();
  };
  // A running server cannot change whether its ports speak TLS or ask for certificates.
  const bool tls = appears(config_.tls_certificate, fresh.tls_certificate) ||
                   appears(config_.tls_client_ca, fresh.tls_client_ca);
  if (name.compare(0, 4, "tls.") == 0) return tls;
  if (name.compare(0, 5, "auth.") == 0) return tls || appears(config_.auth_file, fresh.auth_file);
  return false;
}

void Reloader::TakeRates(const ServerConfig& fresh) const {
  context_.streams.SetLimits(
      {.streams = static_cast<size_t>(fresh.max_streams.get()),
       .streams_per_client = static_cast<size_t>(fresh.max_streams_per_client.get()),
       .unacked_bytes = static_cast<size_t>(fresh.max_unacked_bytes.get())});
  context_.sources.SetRates(
      {.usual = fresh.items_per_second_per_source, .by_name = fresh.items_per_second_of_source});
  context_.authoriser.SetUsualItems(fresh.items_per_second_per_client);
  if (NeedsRestart("tls.", fresh) || NeedsRestart("auth.", fresh)) return;
  door_.Take(fresh);
  context_.streams.CheckCallers();
}

void Reloader::TakeSettings(const ServerConfig& fresh, const Names& names) const {
  const bool rate = names.contains("crawl_rate");
  const bool policy = names.contains("policy");
  const auto polite = names.lower_bound("politeness.");
  const bool politeness = polite != names.end() && polite->compare(0, 11, "politeness.") == 0;
  if (!rate && !policy && !politeness) return;
  // This change stores nothing. It only makes the functions run in order with other changes by
  // operators.
  context_.settings.Change(
      [](Settings*) {},
      [&context = context_, rate, policy, politeness, crawl_rate = fresh.crawl_rate,
       name = fresh.policy, fresh_politeness = fresh.politeness](const Reply& reply) {
        if (!reply.status.ok()) {
          return Log().error("reload refused, the server keeps its earlier configuration: {}",
                             reply.status.ToString());
        }
        const Settings stored = context.settings.stored();
        if (rate) FollowRate(context, stored, crawl_rate);
        if (policy) FollowPolicy(context, stored, name);
        if (!politeness) return;
        const PolitenessDefaults before = context.settings.configured();
        context.settings.set_configured(fresh_politeness);
        FollowPoliteness(context, stored, before);
      });
}

}  // namespace freshet
