// Checks a configuration: each value on its own, and values that depend on each other.
#include <algorithm>
#include <utility>

#include "core/base/id_limits.h"
#include "core/base/url.h"
#include "core/base/wrong_value.h"
#include "core/schedule/crawl_policy.h"
#include "server/base/host_port.h"
#include "server/config/loading.h"
#include "server/config/written.h"

namespace freshet {
namespace {

// Fails if `value` is over `most`.
Status CheckOrder(std::string_view key, Duration value, Duration most) {
  if (value <= most) return absl::OkStatus();
  return WithKey(key, WrongRange(WriteSpan(value), "duration", "0s", WriteSpan(most)));
}
Status CheckLonger(std::string_view key, Duration value, Duration least) {
  if (value >= least) return absl::OkStatus();
  return InvalidArgument(
      "{}: '{}' is too short: it must be at least {}, which the backoff key of the same section "
      "sets",
      key, WriteSpan(value), WriteSpan(least));
}

Status CheckTls(const ServerConfig& config) {
  if (config.tls_certificate.empty() != config.tls_key.empty()) {
    return InvalidArgument("{}: is missing; a certificate needs its key, and a key its certificate",
                           config.tls_key.empty() ? "tls.key" : "tls.certificate");
  }
  if (!config.tls_client_ca.empty() && config.tls_certificate.empty()) {
    return InvalidArgument("tls.client_ca: needs tls.certificate and tls.key");
  }
  return absl::OkStatus();
}

// Other machines are served only over TLS, and only with an identity, unless the operator accepts
// the risk.
Status CheckAddress(std::string_view key, const std::string& address, const ServerConfig& config) {
  const StatusOr<HostPort> parsed = ParseHostPort(address);
  RETURN_IF_ERROR(WithKey(key, parsed.status()));
  const bool tls = !config.tls_certificate.empty();
  const bool identities = !config.auth_file.empty() || !config.tls_client_ca.empty();
  if (config.insecure || (tls && identities) || IsLoopbackHost(parsed->host)) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "{}: {} can be reached from other machines: set {}{}{}, or --insecure to allow plain text "
      "without identities",
      key, address, tls ? "" : "tls.certificate and tls.key", tls || identities ? "" : " and also ",
      identities ? "" : "auth.file or tls.client_ca");
}

Status CheckModeCrawls(const char* key, const std::vector<std::string>& crawl_ids) {
  if (crawl_ids.size() > limits::kMaxScheduledCrawls) {
    return InvalidArgument("{}: has {} crawl ids, and at most {} are allowed", key,
                           crawl_ids.size(), limits::kMaxScheduledCrawls);
  }
  for (const std::string& crawl_id : crawl_ids) {
    const StatusOr<std::string> canonical = CanonicalCrawlId(crawl_id);
    RETURN_IF_ERROR(WithKey(key, canonical.status()));
    if (*canonical != crawl_id) {
      return InvalidArgument("{}: {}", key, WrongValue(crawl_id, "a crawl id"));
    }
  }
  return absl::OkStatus();
}

Status CheckFrontier(const ServerConfig& config) {
  const std::vector<std::string>& scheduled = config.frontier_scheduled;
  RETURN_IF_ERROR(CheckModeCrawls("frontier.scheduled_crawls", scheduled));
  RETURN_IF_ERROR(CheckModeCrawls("frontier.shadow_crawls", config.frontier_shadow));
  for (const std::string& crawl_id : config.frontier_shadow) {
    if (std::find(scheduled.begin(), scheduled.end(), crawl_id) == scheduled.end()) continue;
    return InvalidArgument("frontier.shadow_crawls: '{}' is also in frontier.scheduled_crawls",
                           crawl_id);
  }
  return absl::OkStatus();
}

// The maximum size in bytes of the metadata in one row of the log. By default a message of Kafka
// has at most a million bytes.
constexpr size_t kMostMetadataInLog = size_t{512} << 10;

Status CheckClusterFrontier(const ServerConfig& config) {
  const ClusterConfig& cluster = config.cluster;
  if (!cluster.configured() || !config.frontier_enabled) return absl::OkStatus();
  if (config.frontier_limits.metadata_bytes > kMostMetadataInLog) {
    return InvalidArgument(
        "frontier.max_metadata_bytes: {} is too large for the log of a cluster; at most {} are "
        "allowed",
        config.frontier_limits.metadata_bytes, kMostMetadataInLog);
  }
  // URLs of these crawl ids have pages in all divisions, so the divisions must be able to reach
  // this server.
  if (cluster.divisions == 1 || !cluster.address.empty()) return absl::OkStatus();
  for (const auto& [key, crawls] : {std::pair("scheduled_crawls", &config.frontier_scheduled),
                                    std::pair("shadow_crawls", &config.frontier_shadow)}) {
    if (crawls->empty()) continue;
    return InvalidArgument(
        "frontier.{}: also set cluster.address; a cluster with {} divisions needs it", key,
        cluster.divisions);
  }
  return absl::OkStatus();
}

Status CheckCluster(const ServerConfig& config) {
  const ClusterConfig& cluster = config.cluster;
  if (cluster.configured() == cluster.brokers.empty()) {
    return InvalidArgument("{}: is missing; a cluster needs a name and brokers",
                           cluster.configured() ? "cluster.brokers" : "cluster.name");
  }
  if (cluster.divisions > 1 && !cluster.configured()) {
    return InvalidArgument("cluster.divisions: needs cluster.name and cluster.brokers");
  }
  if (cluster.division >= cluster.divisions) {
    return InvalidArgument(
        "cluster.division: {}, because cluster.divisions is {}",
        WrongValue(fmt::format("{}", cluster.division),
                   fmt::format("a whole number from 0 to {}", cluster.divisions - 1)),
        cluster.divisions);
  }
  if (config.shards > limits::kSlots / cluster.divisions) {
    return InvalidArgument(
        "shards: {} is too many: in a cluster with {} divisions each division may have at most {}",
        config.shards, cluster.divisions, limits::kSlots / cluster.divisions);
  }
  return CheckClusterFrontier(config);
}

}  // namespace

std::vector<Status> ProblemsOf(const ServerConfig& config) {
  std::vector<Status> problems;
  const auto add = [&problems](Status status) {
    if (!status.ok()) problems.push_back(std::move(status));
  };
  if (config.data_dir.empty()) add(InvalidArgument("data_dir: is empty"));
  add(CheckTls(config));
  for (const ConfigKey& key : AllKeys()) {
    if (key.check) add(WithKey(key.name, key.check(config)));
  }
  add(CheckFrontier(config));
  add(CheckCluster(config));
  add(CheckAddress("listen", config.listen, config));
  add(CheckAddress("http_listen", config.http_listen, config));
  // The error already names its field.
  add(ResolvePolicy(config.policy, config.signal_delay).status());
  add(WithKey("indexnow.crawl_id", CanonicalCrawlId(config.indexnow.crawl_id).status()));
  add(WithKey("politeness.rules", HostRules::Make(config.host_rules, {}).status()));
  add(CheckOrder("leases.default", config.default_lease, config.max_lease));
  add(CheckOrder("politeness.throttle_backoff", config.host_backoff.first,
                 config.host_backoff.longest));
  add(CheckLonger("errors.max_backoff", config.max_error_backoff, config.error_backoff));
  add(CheckLonger("leases.max_backoff", config.max_lease_backoff, config.lease_backoff));
  add(CheckLonger("robots.max_backoff", config.max_robots_backoff, config.robots_backoff));
  add(CheckLonger("gone.max_backoff", config.max_gone_backoff, config.gone_backoff));
  return problems;
}

}  // namespace freshet
