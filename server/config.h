// All settings of a server. They come from defaults, the YAML file, the environment and the command
// line. Each of these overrides the ones before it. server/config/key.h describes every key for
// programs, and docs/configuration.md describes them for people.
#ifndef FRESHET_SERVER_CONFIG_H_
#define FRESHET_SERVER_CONFIG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/estimate/estimator_options.h"
#include "core/schedule/forced_share.h"
#include "core/schedule/host_backoff.h"
#include "core/schedule/host_group.h"
#include "core/schedule/host_rules.h"
#include "core/schedule/host_terms.h"
#include "core/schedule/pacer.h"
#include "server/base/limits.h"
#include "server/base/live.h"
#include "server/config_cluster.h"
#include "server/config_indexnow.h"
#include "server/frontier/frontier_limits.h"

namespace freshet {

// The settings, in sections as in the YAML file. Value types, thread-compatible. Only Live fields
// can change while a server runs.

// Ports, and access to them (docs/security.md). Files are paths; empty = none.
struct DoorConfig {
  std::string listen = "127.0.0.1:7071";       // gRPC; port 0 = any free port
  std::string http_listen = "127.0.0.1:7072";  // metrics and console; port 0 = any free port
  std::vector<std::string> http_names;         // further host names that HTTP requests may use

  std::string
      tls_certificate;  // PEM, the server's certificate first; if set, both ports speak only TLS
  std::string tls_key;  // PEM
  std::string tls_client_ca;                    // PEM; the CA for certificates of clients
  bool tls_client_certificate_required = true;  // on the gRPC port, if tls_client_ca is set
  std::string auth_file;                        // identities: server/auth/identities.h
  std::vector<std::string>
      auth_open;          // open to everybody: metrics, console, reflection or indexnow
  bool insecure = false;  // allows serving other machines without TLS and identities
  Duration reload_interval = Duration::Seconds(10);  // interval between checks for changed files
};

// The log, traces and the audit log.
struct LogConfig {
  std::string log_level = "info";
  std::map<std::string, std::string> log_levels;  // levels of individual modules
  std::string log_format = "text";                // or json
  Live<double> trace_share = 0;  // share of traced messages (server/api/message_trace.h)
  std::string audit_log;         // empty = audit.jsonl in data_dir
  size_t audit_log_bytes = size_t{16} << 20;  // size of one file
};

// How pages are chosen, and how their models are learned.
struct CrawlConfig {
  Rate crawl_rate = Rate::PerSecond(10);
  Duration max_lateness =
      Pacer::kUsualLateness;  // greatest lateness of an assignment; at least one tick
  double forced_share = ForcedShare::kUsual;  // share of the ticks at which forced pages come first
  std::string policy = "default";
  Duration signal_delay;  // used only by the policy greedy_ncis_d
  EstimatorKind estimator = EstimatorKind::kDefault;
  // The length of a day for the estimators. The model measures half-lives and ages in days.
  Duration day = Duration::Days(1);
  Duration epoch_interval = Duration::Hours(1);  // 0 = only on request
  // The sources of signals in a new database.
  std::vector<std::string> sources = {"cdn", "feed", "indexnow", "sitemap"};
};

// Politeness toward hosts.
struct HostConfig {
  // Defaults for hosts without specific settings. Even a server without a configuration must be
  // polite.
  PolitenessDefaults politeness = {.min_delay = Duration::Seconds(1),
                                   .max_in_flight = 1,
                                   .min_page_interval = Duration::Seconds(60)};
  HostBackoff host_backoff = {.first = Duration::Seconds(30)};

  // Rules set the politeness of hosts, even of hosts that are not known yet. Hosts with the same
  // address, or in the same registrable domain, can share limits.
  std::vector<HostRule> host_rules;
  GroupTerms by_address;
  GroupTerms by_domain;
  Duration max_crawl_delay =
      Duration::Seconds(300);  // the longest delay that robots.txt may ask for
};

// Leases, and when pages are retried after a failure.
struct PageConfig {
  // Leases: the default, and the longest that a worker can ask for.
  Live<Duration> default_lease = Duration::Seconds(300);
  Live<Duration> max_lease = Duration::Seconds(limits::kMaxLeaseSeconds);
  // Backoff of a page after each lease that expires without a result (ShardOptions).
  Duration lease_backoff = Duration::Seconds(60);
  Duration max_lease_backoff = Duration::Hours(1);
  uint32_t max_unanswered_leases = 5;
  // Backoff of pages that robots.txt forbids, of pages whose crawl failed, and of pages that are
  // gone.
  Duration robots_backoff = Duration::Days(1);
  Duration max_robots_backoff = Duration::Days(30);
  Duration error_backoff = Duration::Seconds(60);
  Duration max_error_backoff = Duration::Days(7);
  Duration gone_backoff = Duration::Hours(1);
  Duration max_gone_backoff = Duration::Days(30);
  bool retire_moved = false;
};

// Limits of connections, calls and messages.
struct PortConfig {
  // How long open streams may stay open after a request to stop.
  Live<Duration> shutdown_grace = Duration::Millis(1000);
  // Connections to the HTTP port. HttpOptions::max_connections says which connection is closed when
  // the cap is reached.
  size_t max_http_connections = 1024;
  // The gRPC port. Pings detect clients that have vanished. The server pings a connection that has
  // been silent for keepalive_interval (0 = never), and expects an answer within keepalive_timeout.
  Duration keepalive_interval = Duration::Seconds(10);
  Duration keepalive_timeout = Duration::Seconds(5);
  int max_connections = limits::kMaxConnections;
  int max_connections_per_client = limits::kMaxConnectionsPerClient;
  Live<int> max_streams = limits::kMaxStreams;
  Live<int> max_streams_per_client = limits::kMaxStreamsPerClient;
  int max_streams_per_connection = limits::kMaxStreamsPerConnection;
  int max_metadata_bytes = limits::kMaxMetadataBytes;  // metadata of one call
  int max_message_bytes = limits::kMaxMessageBytes;
  Live<int> max_message_items = limits::kMaxItemsPerMessage;
  Live<int> max_url_bytes = limits::kMaxUrlBytes;  // URLs of added pages
  // Clients are asked to close connections that have been idle for max_connection_idle, or are as
  // old as max_connection_age. After connection_grace, open calls on these connections are aborted.
  // 0 = never.
  Duration max_connection_idle;
  Duration max_connection_age;
  Duration connection_grace;
  Live<int64_t> max_unacked_bytes = limits::kMaxUnackedBytes;
  // How long a client may take to read one part of a list or an export.
  Live<Duration> list_write_timeout = Duration::Seconds(30);
};

// Limits for each client, worker and source.
struct ShareConfig {
  // Items per second; 0 = no limit. The auth file can set a different rate for an identity.
  Live<double> items_per_second_per_client = 0;
  Live<double> items_per_second_per_source = 0;
  std::map<std::string, double> items_per_second_of_source;  // rates of individual sources
  // Caps on stored hosts and pages; 0 = no limit.
  int64_t max_hosts = 0;
  int64_t max_pages_per_host = 0;
  // Limits of the number of workers, of the credit and open leases of each worker, and of the open
  // leases of all newcomers together. Newcomers are workers that have not reported a result yet.
  // half_closed_wait: how long a stream waits for its next assignment after the worker has ended
  // its side.
  Live<int> max_workers = limits::kMaxWorkers;
  int64_t max_credit = limits::kMaxCreditPerWorker;
  int max_open_leases = limits::kMaxOpenLeasesPerWorker;
  int max_newcomer_leases = limits::kNewcomerLeases;
  Live<Duration> half_closed_wait = Duration::Seconds(30);
};

// The crawl-frontier API (docs/urlfrontier.md).
struct FrontierConfig {
  bool frontier_enabled = true;
  FrontierLimits frontier_limits;
  // Scheduled crawl ids, whose URLs are ordered by crawl value. In canonical form.
  std::vector<std::string> frontier_scheduled;
  // Crawl ids in shadow mode: Freshet learns from them, but clients decide what to crawl. In
  // canonical form.
  std::vector<std::string> frontier_shadow;
  // Metadata keys that hold the outcome of a fetch. The first key that is present counts.
  std::vector<std::string> frontier_status_keys = {"fetch.statusCode"};
  std::vector<std::string> frontier_digest_keys = {"signature"};
  // Whether a refetch date of zero means that a page is never fetched again. Applies to scheduled
  // crawl ids and to those in shadow mode.
  bool frontier_zero_is_never = true;
};

// All sections, and the settings of the server itself. Functions take only the sections that they
// need.
struct ServerConfig : DoorConfig,
                      LogConfig,
                      CrawlConfig,
                      HostConfig,
                      PageConfig,
                      PortConfig,
                      ShareConfig,
                      FrontierConfig {
  std::string data_dir = "./data/freshet";
  std::string durability = "sync";  // sync, wal or none
  int shards = 1;
  // The cluster whose log is the source of truth. If no cluster is configured, this server's disk
  // is the source of truth.
  ClusterConfig cluster;
  // The IndexNow receiver on the HTTP port.
  IndexNowConfig indexnow;

  // Tests lower these limits to test what happens when they are exceeded.
  size_t mailbox_events = limits::kMaxMailboxEvents;
  Duration mailbox_patience = Duration::Millis(limits::kMailboxWaitMillis);
  int fingerprint_bits = 64;  // see StoreOptions

  // The division that serves the crawl-frontier API. Route::kKeeper sends calls of this API there.
  static constexpr uint32_t kFrontierDivision = SlotDivision::kKeeper;
  [[nodiscard]] bool has_frontier() const {
    return frontier_enabled && cluster.slots().division == kFrontierDivision;
  }
};

// The command line; unset = not given.
struct CommandLine {
  std::optional<std::string> config_file;
  std::optional<std::string> data_dir;
  std::optional<std::string> listen;
  std::optional<std::string> http_listen;
  std::optional<double> crawl_rate;
  std::optional<std::string> policy;
  std::optional<std::string> durability;
  std::optional<int> shards;
  std::optional<std::string> log_level;
  std::optional<std::string> log_format;
  std::optional<std::string> tls_certificate;
  std::optional<std::string> tls_key;
  std::optional<std::string> tls_client_ca;
  std::optional<std::string> auth_file;
  bool insecure = false;
};

// Applies YAML text on top of `config`. Not OK: InvalidArgument names the first wrong or unknown
// key. All other keys are applied.
[[nodiscard]] Status ApplyYaml(std::string_view yaml, ServerConfig* config);

// Makes the configuration from the file and the command line, without the environment (see
// LoadConfig in server/config/loading.h). Not OK: InvalidArgument, which says in one line which key
// is wrong and why.
[[nodiscard]] StatusOr<ServerConfig> MakeConfig(const CommandLine& line);

// Checks all values. Not OK: InvalidArgument, with the key of the first value that is out of range.
[[nodiscard]] Status Validate(const ServerConfig& config);

// Reads up to `most` + 1 bytes of a file, so that the caller can detect a file that is too large.
// Not OK: NotFound, with the path and the reason, but without the content. The writer of a pipe may
// pause for 2 s.
[[nodiscard]] StatusOr<std::string> ReadSettingsFile(const std::string& path, size_t most);

// Checks the structure of YAML text. Not OK: InvalidArgument if the text has more than one
// document, or has aliases, because a few aliases can expand to any number of nodes. Throws
// YAML::Exception if the text is not YAML.
[[nodiscard]] Status CheckYamlShape(std::string_view yaml);

// The status with `key` in front.
[[nodiscard]] Status WithKey(std::string_view key, const Status& status);

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_H_
