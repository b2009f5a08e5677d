// Everything that can be chosen about a server, validated: defaults, then the YAML file, then the
// environment, then the command line, each winning over the one before. server/config/key.h has all
// that is known of every key, docs/configuration.md what people need of it.
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

// Value type, thread-compatible, but for what is Live: that may change while a server runs.
struct ServerConfig {
  std::string data_dir = "./data/freshet";
  std::string listen = "127.0.0.1:7071";       // gRPC; port 0: any that is free
  std::string http_listen = "127.0.0.1:7072";  // metrics and console; port 0 likewise
  std::vector<std::string> http_names;         // further host names by which HTTP is asked

  // Who may come in (docs/security.md). Files are named by their paths; empty: none.
  std::string tls_certificate;  // PEM, the server's own first; with it both ports speak TLS alone
  std::string tls_key;          // PEM
  std::string tls_client_ca;    // PEM; certificates of clients are checked against it
  bool tls_client_certificate_required = true;  // on the gRPC port, once there is a client_ca
  std::string auth_file;                        // identities: server/auth/identities.h
  std::vector<std::string> auth_open;  // for everybody: metrics, console, reflection, indexnow
  bool insecure = false;               // other machines may be served without all that
  Duration reload_interval = Duration::Seconds(10);  // between looks at whether files have changed

  Rate crawl_rate = Rate::PerSecond(10);
  Duration max_lateness = Pacer::kUsualLateness;  // of an assignment, or one tick if that is more
  double forced_share = ForcedShare::kUsual;      // of the ticks at which what is forced goes first
  std::string policy = "default";
  EstimatorKind estimator = EstimatorKind::kDefault;
  std::string durability = "sync";  // sync, wal or none
  int shards = 1;
  std::string log_level = "info";
  std::map<std::string, std::string> log_levels;  // of modules that have another
  std::string log_format = "text";                // or json
  Live<double> trace_share = 0;                   // of messages of items
  std::string audit_log;                          // empty: audit.jsonl in data_dir
  size_t audit_log_bytes = size_t{16} << 20;      // of one file

  // Leases: what a worker gets that asks for nothing, and the most that it can ask for.
  Live<Duration> default_lease = Duration::Seconds(300);
  Live<Duration> max_lease = Duration::Seconds(limits::kMaxLeaseSeconds);

  // Of hosts without settings of their own. A frontier that nobody has configured must not be a
  // nuisance.
  PolitenessDefaults politeness = {.min_delay = Duration::Seconds(1),
                                   .max_in_flight = 1,
                                   .min_page_interval = Duration::Seconds(60)};
  HostBackoff host_backoff = {.first = Duration::Seconds(30)};

  // Rules set terms of hosts, also before these are known. Hosts of one address, or of one
  // registrable domain, may share limits.
  std::vector<HostRule> host_rules;
  GroupTerms by_address;
  GroupTerms by_domain;
  Duration max_crawl_delay = Duration::Seconds(300);  // of what robots.txt may ask for
  // Pages that robots.txt forbids.
  Duration robots_backoff = Duration::Days(1);
  Duration max_robots_backoff = Duration::Days(30);

  Duration error_backoff = Duration::Seconds(60);
  Duration max_error_backoff = Duration::Days(7);
  // Leases that run out without an answer (ShardOptions).
  Duration lease_backoff = Duration::Seconds(60);
  Duration max_lease_backoff = Duration::Hours(1);
  uint32_t max_unanswered_leases = 5;
  // Pages that are gone.
  Duration gone_backoff = Duration::Hours(1);
  Duration max_gone_backoff = Duration::Days(30);
  bool retire_moved = false;
  Duration signal_delay;  // of the policy greedy_ncis_d

  // Length of a day for the estimators: every half-life and age of the model counts in it.
  Duration day = Duration::Days(1);
  Duration epoch_interval = Duration::Hours(1);  // zero: only when asked for

  // Sources of signals that a new database knows.
  std::vector<std::string> sources = {"cdn", "feed", "indexnow", "sitemap"};

  // The receiver of pings on the HTTP port.
  IndexNowConfig indexnow;

  // How long open streams may go on after a request to stop.
  Live<Duration> shutdown_grace = Duration::Millis(1000);

  // Connections to the HTTP port; at the cap the one without a request for the longest is closed.
  size_t max_http_connections = 1024;
  // The gRPC port. Pings find out about clients that are gone without a word: after so long without
  // a word one is sent (zero: none are), and so long its answer may take.
  Duration keepalive_interval = Duration::Seconds(10);
  Duration keepalive_timeout = Duration::Seconds(5);
  int max_connections = limits::kMaxConnections;
  int max_connections_per_client = limits::kMaxConnectionsPerClient;
  Live<int> max_streams = limits::kMaxStreams;
  Live<int> max_streams_per_client = limits::kMaxStreamsPerClient;
  int max_streams_per_connection = limits::kMaxStreamsPerConnection;
  int max_metadata_bytes = limits::kMaxMetadataBytes;  // of a call
  int max_message_bytes = limits::kMaxMessageBytes;
  Live<int> max_message_items = limits::kMaxItemsPerMessage;
  Live<int> max_url_bytes = limits::kMaxUrlBytes;  // of pages that are added
  // Connections without a call for so long, and those that are so old, are asked to go; what is
  // still open on them after the grace is cut. Zero: never.
  Duration max_connection_idle;
  Duration max_connection_age;
  Duration connection_grace;
  Live<int64_t> max_unacked_bytes = limits::kMaxUnackedBytes;
  // What may come in a second; 0: any number. A client has that of its identity where it has one.
  Live<double> items_per_second_per_client = 0;
  Live<double> items_per_second_per_source = 0;
  std::map<std::string, double> items_per_second_of_source;  // of those that have another
  // Of what there may be; 0: any number.
  int64_t max_hosts = 0;
  int64_t max_pages_per_host = 0;
  // How long a client may leave a part of a list or an export unread.
  Live<Duration> list_write_timeout = Duration::Seconds(30);

  // Workers: of those there may be, what each may have open at most and those of which no result
  // has come together, and how long one that has said all it will waits for its next assignment.
  Live<int> max_workers = limits::kMaxWorkers;
  int64_t max_credit = limits::kMaxCreditPerWorker;
  int max_open_leases = limits::kMaxOpenLeasesPerWorker;
  int max_newcomer_leases = limits::kNewcomerLeases;
  Live<Duration> half_closed_wait = Duration::Seconds(30);

  // Where the truth is when it is not on this server's disk.
  ClusterConfig cluster;

  // The crawl-frontier API (docs/urlfrontier.md).
  bool frontier_enabled = true;
  FrontierLimits frontier_limits;
  // Its crawl ids whose URLs are given out by crawl value: canonical.
  std::vector<std::string> frontier_scheduled;
  // Those of which Freshet learns beside clients that go on deciding themselves: canonical.
  std::vector<std::string> frontier_shadow;
  // Keys of metadata that say what a fetch found; the first that is there counts.
  std::vector<std::string> frontier_status_keys = {"fetch.statusCode"};
  std::vector<std::string> frontier_digest_keys = {"signature"};
  // Of both kinds of crawl ids: whether a date of zero means never again for their pages.
  bool frontier_zero_is_never = true;
  // Of several divisions this one has what it keeps.
  static constexpr uint32_t kFrontierDivision = 0;
  [[nodiscard]] bool has_frontier() const {
    return frontier_enabled && cluster.slots().division == kFrontierDivision;
  }

  // Caps that tests lower to drive them over their edge.
  size_t mailbox_events = limits::kMaxMailboxEvents;
  Duration mailbox_patience = Duration::Millis(limits::kMailboxWaitMillis);
  int fingerprint_bits = 64;  // of StoreOptions
};

// What the command line says; unset: not said.
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

// Applies YAML text on top of `config`. InvalidArgument names the first key at fault, also one that
// does not exist; the others are applied.
[[nodiscard]] Status ApplyYaml(std::string_view yaml, ServerConfig* config);

// The configuration that file and command line give, without the environment (LoadConfig in
// server/config/loading.h has more to say). InvalidArgument with one line that says which key and
// why.
[[nodiscard]] StatusOr<ServerConfig> MakeConfig(const CommandLine& line);

// InvalidArgument names the key of the first value that is out of its range.
[[nodiscard]] Status Validate(const ServerConfig& config);

// The text of a file, up to one byte more than `most`. NotFound says why not, with its path and
// without its content.
[[nodiscard]] StatusOr<std::string> ReadSettingsFile(const std::string& path, size_t most);

// InvalidArgument when YAML has aliases, of which a few can stand for any number of nodes, or more
// than one document. Throws YAML::Exception on what is no YAML.
[[nodiscard]] Status CheckYamlShape(std::string_view yaml);

// The status with the key in front that it is about.
[[nodiscard]] Status WithKey(std::string_view key, const Status& status);

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_H_
