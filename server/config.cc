#include "server/config.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <system_error>

#include "core/base/text.h"
#include "core/base/url.h"
#include "server/base/host_port.h"
#include "server/config_limits.h"
#include "server/config_politeness.h"
#include "server/config_values.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/yaml.h"

namespace freshet {
namespace {

constexpr Duration kYear = Duration::Days(366);
// Of what there can be at a time: a machine has no room for more.
constexpr int64_t kMost = 1'000'000;

StatusOr<EstimatorKind> ParseEstimator(std::string_view text) {
  if (text == "default") return EstimatorKind::kDefault;
  if (text == "mle") return EstimatorKind::kMle;
  if (text == "cho_gm") return EstimatorKind::kChoGm;
  return InvalidArgument("'{}' is none of default, mle, cho_gm", text);
}

using Setter = std::function<Status(const std::string& text, ServerConfig* config)>;

Setter Text(std::string ServerConfig::*field) {
  return [field](const std::string& text, ServerConfig* config) {
    config->*field = text;
    return absl::OkStatus();
  };
}

template <typename Part>
Setter Span(Part ServerConfig::*part, Duration Part::*field) {
  return [part, field](const std::string& text, ServerConfig* config) -> Status {
    ASSIGN_OR_RETURN(config->*part.*field, ParseSpanValue(text));
    return absl::OkStatus();
  };
}

Setter Span(Duration ServerConfig::*field) {
  return [field](const std::string& text, ServerConfig* config) -> Status {
    ASSIGN_OR_RETURN(config->*field, ParseSpanValue(text));
    return absl::OkStatus();
  };
}

Setter Flag(bool ServerConfig::*field) {
  return [field](const std::string& text, ServerConfig* config) -> Status {
    if (text != "true" && text != "false") {
      return InvalidArgument("'{}' is not true or false", text);
    }
    config->*field = text == "true";
    return absl::OkStatus();
  };
}

Status SetClientCertificate(const std::string& text, ServerConfig* config) {
  if (text != "required" && text != "optional") {
    return InvalidArgument("'{}' is none of required, optional", text);
  }
  config->tls_client_certificate_required = text == "required";
  return absl::OkStatus();
}

Status SetCrawlRate(const std::string& text, ServerConfig* config) {
  ASSIGN_OR_RETURN(const double rate, ParseNumberValue(text));
  config->crawl_rate = Rate::PerSecond(rate);
  return absl::OkStatus();
}

Status SetShards(const std::string& text, ServerConfig* config) {
  ASSIGN_OR_RETURN(const int64_t shards, ParseIntegerValue(text));
  config->shards = shards < 0 || shards > 1'000'000 ? -1 : static_cast<int>(shards);
  return absl::OkStatus();
}

Status SetMaxUnanswered(const std::string& text, ServerConfig* config) {
  ASSIGN_OR_RETURN(const int64_t most, ParseIntegerValue(text));
  // Counted in a byte of the page.
  if (most < 1 || most > UINT8_MAX) return InvalidArgument("{} is not 1 to {}", most, UINT8_MAX);
  config->max_unanswered_leases = static_cast<uint32_t>(most);
  return absl::OkStatus();
}

Status SetMaxInFlight(const std::string& text, ServerConfig* config) {
  ASSIGN_OR_RETURN(const int64_t limit, ParseIntegerValue(text));
  if (limit < 0 || limit > UINT32_MAX) return InvalidArgument("{} is out of range", limit);
  config->politeness.max_in_flight = static_cast<uint32_t>(limit);
  return absl::OkStatus();
}

template <typename T>
Setter Count(T ServerConfig::*field, int64_t low, int64_t high) {
  return [=](const std::string& text, ServerConfig* config) -> Status {
    ASSIGN_OR_RETURN(const int64_t number, ParseIntegerValue(text));
    if (number < low || number > high) {
      return InvalidArgument("{} is not within {} and {}", number, low, high);
    }
    config->*field = static_cast<T>(number);
    return absl::OkStatus();
  };
}

Setter Number(double ServerConfig::*field) {
  return [field](const std::string& text, ServerConfig* config) -> Status {
    ASSIGN_OR_RETURN(const double number, ParseItemRate(text));
    config->*field = number;
    return absl::OkStatus();
  };
}

template <typename Part, typename T>
Setter Count(Part ServerConfig::*part, T Part::*field, int64_t low, int64_t high) {
  return [=](const std::string& text, ServerConfig* config) -> Status {
    ASSIGN_OR_RETURN(const int64_t number, ParseIntegerValue(text));
    if (number < low || number > high) {
      return InvalidArgument("{} is not within {} and {}", number, low, high);
    }
    config->*part.*field = static_cast<T>(number);
    return absl::OkStatus();
  };
}

Status SetMaxCrawls(const std::string& text, ServerConfig* config) {
  ASSIGN_OR_RETURN(config->politeness.max_crawls, ParseCrawlCap(text));
  return absl::OkStatus();
}

Status SetHours(const std::string& text, ServerConfig* config) {
  ASSIGN_OR_RETURN(config->politeness.hours, ParseDayHours(text));
  return absl::OkStatus();
}

Status SetEstimator(const std::string& text, ServerConfig* config) {
  ASSIGN_OR_RETURN(config->estimator, ParseEstimator(text));
  return absl::OkStatus();
}

using SetterMap = std::map<std::string, Setter>;

// Those of the section `limits`, but for the rates of sources.
SetterMap LimitSetters() {
  return {
      {"limits.connections", Count(&ServerConfig::max_connections, 1, kMost)},
      {"limits.connections_per_client", Count(&ServerConfig::max_connections_per_client, 1, kMost)},
      {"limits.connection_idle", Span(&ServerConfig::max_connection_idle)},
      {"limits.connection_age", Span(&ServerConfig::max_connection_age)},
      {"limits.connection_grace", Span(&ServerConfig::connection_grace)},
      {"limits.metadata_bytes",
       Count(&ServerConfig::max_metadata_bytes, 1 << 10, limits::kMaxMessageBytes)},
      {"limits.message_bytes",
       Count(&ServerConfig::max_message_bytes, 1 << 10, limits::kMaxMessageBytes)},
      {"limits.message_items",
       Count(&ServerConfig::max_message_items, 1, limits::kMaxItemsPerMessage)},
      {"limits.url_bytes", Count(&ServerConfig::max_url_bytes, 64, limits::kMaxUrlBytes)},
      {"limits.items_per_second_per_client", Number(&ServerConfig::items_per_second_per_client)},
      {"limits.items_per_second_per_source", Number(&ServerConfig::items_per_second_per_source)},
      {"limits.hosts", Count(&ServerConfig::max_hosts, 0, limits::kMaxPageIds)},
      {"limits.pages_per_host", Count(&ServerConfig::max_pages_per_host, 0, limits::kMaxPageIds)},
      {"limits.streams", Count(&ServerConfig::max_streams, 1, kMost)},
      {"limits.streams_per_client", Count(&ServerConfig::max_streams_per_client, 1, kMost)},
      {"limits.streams_per_connection", Count(&ServerConfig::max_streams_per_connection, 1, kMost)},
      {"limits.unacknowledged_bytes",
       Count(&ServerConfig::max_unacked_bytes, limits::kMaxMessageBytes, int64_t{1} << 40)},
      {"limits.list_write_timeout", Span(&ServerConfig::list_write_timeout)},
      {"limits.workers", Count(&ServerConfig::max_workers, 1, kMost)},
  };
}

// The keys of the section `frontier`.
SetterMap FrontierSetters() {
  return {
      {"frontier.enabled", Flag(&ServerConfig::frontier_enabled)},
      {"frontier.zero_is_never", Flag(&ServerConfig::frontier_zero_is_never)},
      {"frontier.max_metadata_bytes",
       Count(&ServerConfig::frontier_limits, &FrontierLimits::metadata_bytes, 0,
             limits::kMaxMessageBytes)},
      {"frontier.max_urls",
       Count(&ServerConfig::frontier_limits, &FrontierLimits::urls, 1, int64_t{1} << 40)},
      {"frontier.max_queues",
       Count(&ServerConfig::frontier_limits, &FrontierLimits::queues, 1, int64_t{1} << 31)},
      {"frontier.max_in_flight", Count(&ServerConfig::frontier_limits, &FrontierLimits::flights, 1,
                                       int64_t{limits::kMaxFlights})},
  };
}

// The keys of all other sections, and those of none.
SetterMap GeneralSetters() {
  return {
      {"data_dir", Text(&ServerConfig::data_dir)},
      {"listen", Text(&ServerConfig::listen)},
      {"http_listen", Text(&ServerConfig::http_listen)},
      {"insecure", Flag(&ServerConfig::insecure)},
      {"tls.certificate", Text(&ServerConfig::tls_certificate)},
      {"tls.key", Text(&ServerConfig::tls_key)},
      {"tls.client_ca", Text(&ServerConfig::tls_client_ca)},
      {"tls.client_certificate", SetClientCertificate},
      {"auth.file", Text(&ServerConfig::auth_file)},
      {"reload.interval", Span(&ServerConfig::reload_interval)},
      {"http.max_connections",
       Count(&ServerConfig::max_http_connections, 1, limits::kMaxHttpConnections)},
      {"crawl_rate", SetCrawlRate},
      {"pacing.max_lateness", Span(&ServerConfig::max_lateness)},
      {"policy", Text(&ServerConfig::policy)},
      {"estimator", SetEstimator},
      {"durability", Text(&ServerConfig::durability)},
      {"shards", SetShards},
      {"log_level", Text(&ServerConfig::log_level)},
      {"leases.default", Span(&ServerConfig::default_lease)},
      {"leases.max", Span(&ServerConfig::max_lease)},
      {"leases.backoff", Span(&ServerConfig::lease_backoff)},
      {"leases.max_backoff", Span(&ServerConfig::max_lease_backoff)},
      {"leases.max_unanswered", SetMaxUnanswered},
      {"politeness.min_delay", Span(&ServerConfig::politeness, &PolitenessDefaults::min_delay)},
      {"politeness.max_in_flight", SetMaxInFlight},
      {"politeness.min_page_interval",
       Span(&ServerConfig::politeness, &PolitenessDefaults::min_page_interval)},
      {"politeness.max_crawls", SetMaxCrawls},
      {"politeness.hours", SetHours},
      {"politeness.max_crawl_delay", Span(&ServerConfig::max_crawl_delay)},
      {"politeness.throttle_backoff", Span(&ServerConfig::host_backoff, &HostBackoff::first)},
      {"politeness.max_throttle_backoff", Span(&ServerConfig::host_backoff, &HostBackoff::longest)},
      {"politeness.max_retry_after",
       Span(&ServerConfig::host_backoff, &HostBackoff::longest_asked)},
      {"politeness.throttle_forgiveness", Span(&ServerConfig::host_backoff, &HostBackoff::quiet)},
      {"errors.backoff", Span(&ServerConfig::error_backoff)},
      {"errors.max_backoff", Span(&ServerConfig::max_error_backoff)},
      {"robots.backoff", Span(&ServerConfig::robots_backoff)},
      {"robots.max_backoff", Span(&ServerConfig::max_robots_backoff)},
      {"gone.backoff", Span(&ServerConfig::gone_backoff)},
      {"gone.max_backoff", Span(&ServerConfig::max_gone_backoff)},
      {"gone.retire_moved", Flag(&ServerConfig::retire_moved)},
      {"signals.delay", Span(&ServerConfig::signal_delay)},
      {"horizons.day", Span(&ServerConfig::day)},
      {"epochs.interval", Span(&ServerConfig::epoch_interval)},
      {"keepalive.interval", Span(&ServerConfig::keepalive_interval)},
      {"keepalive.timeout", Span(&ServerConfig::keepalive_timeout)},
      {"workers.max_credit", Count(&ServerConfig::max_credit, 1, limits::kMaxCreditPerWorker)},
      {"workers.max_open_leases",
       Count(&ServerConfig::max_open_leases, 1, limits::kMaxOpenLeasesPerWorker)},
      {"workers.max_newcomer_leases",
       Count(&ServerConfig::max_newcomer_leases, 1, limits::kMaxNewcomerLeases)},
      {"workers.half_closed_wait", Span(&ServerConfig::half_closed_wait)},
      {"shutdown.grace", Span(&ServerConfig::shutdown_grace)},
  };
}

// Every key of the file, as `section.key`, but for those of ListOf.
const SetterMap& Setters() {
  static const SetterMap kSetters = [] {
    SetterMap all = GeneralSetters();
    all.merge(LimitSetters());
    all.merge(FrontierSetters());
    return all;
  }();
  return kSetters;
}

// Whether some key lies in this section.
bool IsSection(const std::string& name) {
  const auto it = Setters().lower_bound(name + ".");
  return it != Setters().end() && it->first.compare(0, name.size() + 1, name + ".") == 0;
}

// The keys whose values are lists of names.
std::vector<std::string>* ListOf(std::string_view key, ServerConfig* config) {
  if (key == "sources") return &config->sources;
  if (key == "auth.open") return &config->auth_open;
  if (key == "frontier.scheduled_crawls") return &config->frontier_scheduled;
  if (key == "frontier.shadow_crawls") return &config->frontier_shadow;
  if (key == "frontier.status_keys") return &config->frontier_status_keys;
  if (key == "frontier.digest_keys") return &config->frontier_digest_keys;
  return nullptr;
}

Status ApplyList(const std::string& key, const YAML::Node& node, std::vector<std::string>* list) {
  if (!node.IsSequence()) return InvalidArgument("{}: is no list", key);
  list->clear();
  for (const YAML::Node& name : node) {
    if (!name.IsScalar()) return InvalidArgument("{}: holds something that is no name", key);
    list->push_back(name.Scalar());
  }
  return absl::OkStatus();
}

Status ApplyMap(const YAML::Node& map, const std::string& section, ServerConfig* config) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) return InvalidArgument("{}: has a key that is no text", section);
    const std::string key = section + entry.first.Scalar();
    if (!seen.insert(key).second) {
      return InvalidArgument("{}: is given twice, again in line {}", key,
                             entry.first.Mark().line + 1);
    }
    const YAML::Node& value = entry.second;
    if (std::vector<std::string>* list = ListOf(key, config); list != nullptr) {
      RETURN_IF_ERROR(ApplyList(key, value, list));
      continue;
    }
    if (key == "limits.items_per_second_of_source") {
      RETURN_IF_ERROR(ReadItemRates(key, value, &config->items_per_second_of_source));
      continue;
    }
    if (key == "indexnow") {
      RETURN_IF_ERROR(ReadIndexNow(key, value, &config->indexnow));
      continue;
    }
    if (key == "politeness.rules") {
      RETURN_IF_ERROR(ReadHostRules(key, value, &config->host_rules));
      continue;
    }
    if (key == "politeness.by_address") {
      RETURN_IF_ERROR(ReadGroupTerms(key, value, &config->by_address));
      continue;
    }
    if (section.empty() && IsSection(key)) {
      if (value.IsNull()) continue;
      if (!value.IsMap()) return InvalidArgument("{}: is no section with keys of its own", key);
      RETURN_IF_ERROR(ApplyMap(value, key + ".", config));
      continue;
    }
    const auto setter = Setters().find(key);
    if (setter == Setters().end()) return InvalidArgument("{}: unknown key", key);
    if (!value.IsScalar()) return InvalidArgument("{}: is no single value", key);
    if (const Status status = setter->second(value.Scalar(), config); !status.ok()) {
      return InvalidArgument("{}: {}", key, std::string(status.message()));
    }
  }
  return absl::OkStatus();
}

// InvalidArgument unless low <= value <= high.
Status CheckSpan(std::string_view key, Duration value, Duration low, Duration high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return InvalidArgument("{}: {} s is not within {} s and {} s", key, value.seconds(),
                         low.seconds(), high.seconds());
}

Status ValidatePoliteness(const ServerConfig& config) {
  const PolitenessDefaults& politeness = config.politeness;
  const HostBackoff& backoff = config.host_backoff;
  RETURN_IF_ERROR(CheckSpan("politeness.min_delay", politeness.min_delay, Duration(), kYear));
  RETURN_IF_ERROR(
      CheckSpan("politeness.min_page_interval", politeness.min_page_interval, Duration(), kYear));
  RETURN_IF_ERROR(
      CheckSpan("politeness.max_crawl_delay", config.max_crawl_delay, Duration(), kYear));
  const auto rules = HostRules::Make(config.host_rules, config.by_address);
  RETURN_IF_ERROR(WithKey("politeness.rules", rules.status()));
  RETURN_IF_ERROR(
      CheckSpan("politeness.max_throttle_backoff", backoff.longest, Duration::Millis(1), kYear));
  RETURN_IF_ERROR(
      CheckSpan("politeness.throttle_backoff", backoff.first, Duration(), backoff.longest));
  RETURN_IF_ERROR(
      CheckSpan("politeness.max_retry_after", backoff.longest_asked, Duration::Seconds(1), kYear));
  return CheckSpan("politeness.throttle_forgiveness", backoff.quiet, Duration::Millis(1), kYear);
}

Status ValidateSpans(const ServerConfig& config) {
  const Duration second = Duration::Seconds(1);
  const Duration longest_lease = Duration::Seconds(limits::kMaxLeaseSeconds);
  RETURN_IF_ERROR(CheckSpan("leases.max", config.max_lease, second, longest_lease));
  RETURN_IF_ERROR(CheckSpan("leases.default", config.default_lease, second, config.max_lease));
  RETURN_IF_ERROR(ValidatePoliteness(config));
  RETURN_IF_ERROR(
      CheckSpan("errors.backoff", config.error_backoff, Duration::Millis(1), Duration::Days(30)));
  RETURN_IF_ERROR(
      CheckSpan("errors.max_backoff", config.max_error_backoff, config.error_backoff, kYear));
  RETURN_IF_ERROR(
      CheckSpan("leases.backoff", config.lease_backoff, Duration(), Duration::Days(30)));
  RETURN_IF_ERROR(
      CheckSpan("leases.max_backoff", config.max_lease_backoff, config.lease_backoff, kYear));
  RETURN_IF_ERROR(CheckSpan("robots.backoff", config.robots_backoff, second, kYear));
  RETURN_IF_ERROR(
      CheckSpan("robots.max_backoff", config.max_robots_backoff, config.robots_backoff, kYear));
  RETURN_IF_ERROR(CheckSpan("gone.backoff", config.gone_backoff, second, kYear));
  RETURN_IF_ERROR(
      CheckSpan("gone.max_backoff", config.max_gone_backoff, config.gone_backoff, kYear));
  RETURN_IF_ERROR(
      CheckSpan("pacing.max_lateness", config.max_lateness, Pacer::kUsualLateness, second));
  RETURN_IF_ERROR(CheckSpan("signals.delay", config.signal_delay, Duration(), kYear));
  RETURN_IF_ERROR(CheckSpan("horizons.day", config.day, Duration::Millis(1), kYear));
  RETURN_IF_ERROR(CheckSpan("epochs.interval", config.epoch_interval, Duration(), kYear));
  // gRPC pings no more often than this.
  if (config.keepalive_interval != Duration()) {
    RETURN_IF_ERROR(
        CheckSpan("keepalive.interval", config.keepalive_interval, Duration::Millis(10), kYear));
  }
  RETURN_IF_ERROR(CheckSpan("keepalive.timeout", config.keepalive_timeout, Duration::Millis(10),
                            Duration::Hours(1)));
  RETURN_IF_ERROR(CheckSpan("limits.list_write_timeout", config.list_write_timeout,
                            Duration::Millis(10), Duration::Days(1)));
  for (const auto& [key, span] : {std::pair{"limits.connection_idle", config.max_connection_idle},
                                  {"limits.connection_age", config.max_connection_age},
                                  {"limits.connection_grace", config.connection_grace}}) {
    if (span != Duration()) RETURN_IF_ERROR(CheckSpan(key, span, Duration::Millis(10), kYear));
  }
  RETURN_IF_ERROR(CheckSpan("workers.half_closed_wait", config.half_closed_wait, Duration(),
                            Duration::Hours(1)));
  return CheckSpan("shutdown.grace", config.shutdown_grace, Duration(), Duration::Seconds(600));
}

Status ValidateModeCrawls(const char* key, const std::vector<std::string>& crawl_ids) {
  if (crawl_ids.size() > limits::kMaxScheduledCrawls) {
    return InvalidArgument("{}: names {}, at most {} may be", key, crawl_ids.size(),
                           limits::kMaxScheduledCrawls);
  }
  for (const std::string& crawl_id : crawl_ids) {
    const StatusOr<std::string> canonical = CanonicalCrawlId(crawl_id);
    RETURN_IF_ERROR(WithKey(key, canonical.status()));
    if (*canonical != crawl_id) return InvalidArgument("{}: '{}' is no crawl id", key, crawl_id);
  }
  return absl::OkStatus();
}

Status ValidateFrontier(const ServerConfig& config) {
  const std::vector<std::string>& scheduled = config.frontier_scheduled;
  RETURN_IF_ERROR(ValidateModeCrawls("frontier.scheduled_crawls", scheduled));
  RETURN_IF_ERROR(ValidateModeCrawls("frontier.shadow_crawls", config.frontier_shadow));
  for (const std::string& crawl_id : config.frontier_shadow) {
    if (std::find(scheduled.begin(), scheduled.end(), crawl_id) == scheduled.end()) continue;
    return InvalidArgument("frontier.shadow_crawls: '{}' is among frontier.scheduled_crawls, too",
                           crawl_id);
  }
  return absl::OkStatus();
}

Status ValidateDoor(const ServerConfig& config) {
  if (config.tls_certificate.empty() != config.tls_key.empty()) {
    return InvalidArgument("{}: is missing, a certificate and its key go together",
                           config.tls_key.empty() ? "tls.key" : "tls.certificate");
  }
  if (!config.tls_client_ca.empty() && config.tls_certificate.empty()) {
    return InvalidArgument("tls.client_ca: needs tls.certificate and tls.key");
  }
  for (const std::string& open : config.auth_open) {
    if (open != "metrics" && open != "console" && open != "reflection" && open != "indexnow") {
      return InvalidArgument("auth.open: '{}' is none of metrics, console, reflection, indexnow",
                             open);
    }
  }
  return CheckSpan("reload.interval", config.reload_interval, Duration::Millis(10),
                   Duration::Hours(24));
}

// Other machines are served over TLS, and only those that say who they are, unless the operator
// takes the blame.
Status ValidateListen(std::string_view key, const std::string& address,
                      const ServerConfig& config) {
  const StatusOr<HostPort> parsed = ParseHostPort(address);
  RETURN_IF_ERROR(WithKey(key, parsed.status()));
  const bool tls = !config.tls_certificate.empty();
  const bool identities = !config.auth_file.empty() || !config.tls_client_ca.empty();
  if (config.insecure || (tls && identities) || IsLoopbackHost(parsed->host)) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "{}: {} can be reached from other machines, which needs {}{}{}; --insecure goes without", key,
      address, tls ? "" : "tls.certificate and tls.key", tls || identities ? "" : ", and ",
      identities ? "" : "auth.file or tls.client_ca");
}

// Looks at YAML before anything is made of it: a few aliases can stand for any number of nodes, or
// for themselves. Owner thread only.
class Shape final : public YAML::EventHandler {
 public:
  [[nodiscard]] bool has_aliases() const { return has_aliases_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override { has_aliases_ = true; }
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  bool has_aliases_ = false;
};

template <typename T, typename U>
void Override(const std::optional<T>& value, U* target) {
  if (value) *target = *value;
}

}  // namespace

Status WithKey(std::string_view key, const Status& status) {
  if (status.ok()) return status;
  return MakeStatus(status.code(), "{}: {}", key, std::string(status.message()));
}

Status CheckYamlShape(std::string_view yaml) {
  std::istringstream text{std::string(yaml)};
  YAML::Parser parser(text);
  Shape shape;
  if (!parser.HandleNextDocument(shape)) return absl::OkStatus();
  if (shape.has_aliases()) return InvalidArgument("has an alias (*), write the value out");
  // YAML::Load would take the first document and say nothing of the rest.
  if (parser.HandleNextDocument(shape)) {
    return InvalidArgument("goes on after its end, it may be one document only");
  }
  return absl::OkStatus();
}

StatusOr<std::string> ReadSettingsFile(const std::string& path, size_t most) {
  // Not a stream, which takes a directory for an empty file.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) {
    return NotFound("cannot open {}: {}", path, std::generic_category().message(errno));
  }
  std::string text(most + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) {
    return NotFound("cannot read {}: {}", path, std::generic_category().message(errno));
  }
  return text;
}

Status ApplyYaml(std::string_view yaml, ServerConfig* config) {
  if (yaml.size() > limits::kMaxConfigBytes) {
    return InvalidArgument("config: is over the limit of {} bytes", limits::kMaxConfigBytes);
  }
  try {
    RETURN_IF_ERROR(WithKey("config", CheckYamlShape(yaml)));
    const YAML::Node root = YAML::Load(std::string(yaml));
    if (root.IsNull()) return absl::OkStatus();
    if (!root.IsMap()) return InvalidArgument("config: is no list of keys");
    return ApplyMap(root, "", config);
  } catch (const YAML::Exception& error) {
    return InvalidArgument("config: {}", error.what());
  }
}

Status Validate(const ServerConfig& config) {
  if (config.data_dir.empty()) return InvalidArgument("data_dir: is empty");
  RETURN_IF_ERROR(ValidateDoor(config));
  RETURN_IF_ERROR(ValidateFrontier(config));
  RETURN_IF_ERROR(ValidateListen("listen", config.listen, config));
  RETURN_IF_ERROR(ValidateListen("http_listen", config.http_listen, config));
  const double rate = config.crawl_rate.per_second();
  if (!(rate >= 0 && rate <= limits::kMaxCrawlsPerSecond)) {
    return InvalidArgument("crawl_rate: {} is not within 0 and {} per second", rate,
                           limits::kMaxCrawlsPerSecond);
  }
  RETURN_IF_ERROR(
      ResolvePolicy(config.policy, config.signal_delay).status());  // names its field itself
  if (config.durability != "sync" && config.durability != "wal" && config.durability != "none") {
    return InvalidArgument("durability: '{}' is none of sync, wal, none", config.durability);
  }
  if (config.shards < 1 || config.shards > static_cast<int>(limits::kMaxShards)) {
    return InvalidArgument("shards: must be 1 to {}", limits::kMaxShards);
  }
  if (config.max_http_connections < 1 ||
      config.max_http_connections > size_t{limits::kMaxHttpConnections}) {
    return InvalidArgument("http.max_connections: must be 1 to {}", limits::kMaxHttpConnections);
  }
  static const std::map<std::string_view, int> kLevels = {{"trace", 0}, {"debug", 1}, {"info", 2},
                                                          {"warn", 3},  {"error", 4}, {"off", 5}};
  if (!kLevels.contains(config.log_level)) {
    return InvalidArgument("log_level: '{}' is none of trace, debug, info, warn, error, off",
                           config.log_level);
  }
  if (config.sources.size() > static_cast<size_t>(limits::kMaxSources)) {
    return InvalidArgument("sources: {} are over the limit of {}", config.sources.size(),
                           limits::kMaxSources);
  }
  for (const std::string& source : config.sources) {
    RETURN_IF_ERROR(WithKey("sources", ValidateSourceName(source)));
  }
  RETURN_IF_ERROR(ValidateIndexNow(config.indexnow));
  return ValidateSpans(config);
}

StatusOr<ServerConfig> MakeConfig(const CommandLine& line) {
  ServerConfig config;
  if (line.config_file) {
    const StatusOr<std::string> yaml = ReadSettingsFile(*line.config_file, limits::kMaxConfigBytes);
    RETURN_IF_ERROR(WithKey("config", yaml.status()));
    RETURN_IF_ERROR(ApplyYaml(*yaml, &config));
  }
  Override(line.data_dir, &config.data_dir);
  Override(line.listen, &config.listen);
  Override(line.http_listen, &config.http_listen);
  if (line.crawl_rate) config.crawl_rate = Rate::PerSecond(*line.crawl_rate);
  Override(line.policy, &config.policy);
  Override(line.durability, &config.durability);
  Override(line.shards, &config.shards);
  Override(line.log_level, &config.log_level);
  Override(line.tls_certificate, &config.tls_certificate);
  Override(line.tls_key, &config.tls_key);
  Override(line.tls_client_ca, &config.tls_client_ca);
  Override(line.auth_file, &config.auth_file);
  config.insecure = config.insecure || line.insecure;
  RETURN_IF_ERROR(Validate(config));
  return config;
}

}  // namespace freshet
