// The process itself: its store, its addresses, its logs.
#include "core/base/limits.h"
#include "server/config/key_makers.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

using C = ServerConfig;

ConfigKey TraceKey() {
  ConfigKey key = ParsedKey(
      "trace_share", KeyType::kShare, At(&C::trace_share),
      [](const std::string& text) { return ParseNumberValue(text); },
      [](double share) { return WriteNumber(share); });
  key.low = 0;
  key.high = 1;
  key.check = [](const C& config) -> Status {
    const double share = config.trace_share;
    if (share >= 0 && share <= 1) return absl::OkStatus();
    return WrongRange(WriteNumber(share), "number", "0", "1");
  };
  return key;
}

std::vector<ConfigKey> LogKeys() {
  ConfigKey levels = MakeKey("log_levels", KeyType::kLevels, At(&C::log_levels));
  levels.read = [](const std::string& key, const YAML::Node& node, C* config) {
    return ReadLogLevels(key, node, &config->log_levels);
  };
  levels.write = [](const C& config) { return WriteTexts(config.log_levels); };
  levels.choices = LogLevelNames();
  return {
      ChoiceKey("log_level", At(&C::log_level), LogLevelNames())
          .Flag("--log-level")
          .Reloads()
          .Says("Lowest level of messages that the server writes to standard error."),
      std::move(levels).Reloads().Says(
          "Different levels for some modules, such as `{store: debug, grpc: error}`: api, audit, "
          "auth, config, engine, frontier, grpc, indexnow, ops, ports, server, store. `freshet "
          "log-level` changes these until the next start."),
      ChoiceKey("log_format", At(&C::log_format), {"text", "json"})
          .Flag("--log-format")
          .Says(
              "The log has one line for each event: as text for people, or as JSON for programs."),
      TraceKey().Says("Share of messages with results, signals or pages that the server traces: "
                      "the log says how long each stage took. 0: none, 1: all."),
      TextKey("audit_log", At(&C::audit_log))
          .Says("File with one line of JSON for each thing that an admin has changed, or was "
                "refused. Empty means `audit.jsonl` in `data_dir`."),
      CountKey("audit_log_bytes", At(&C::audit_log_bytes), 1 << 16, int64_t{1} << 40)
          .Says("Size in bytes at which the server renames the audit log and begins a new one. The "
                "server keeps four older files."),
  };
}

}  // namespace

std::vector<ConfigKey> ServerKeys() {
  std::vector<ConfigKey> keys = {
      TextKey("data_dir", At(&C::data_dir))
          .Flag("--data-dir")
          .Says("Directory of the store; only one server at a time can use it. A relative path "
                "starts at the working directory."),
      TextKey("listen", At(&C::listen))
          .Flag("--listen")
          .Says("Address of the gRPC port, for workers, ingesters and operators. Port 0 means any "
                "free port."),
      TextKey("http_listen", At(&C::http_listen))
          .Flag("--http-listen")
          .Says("Address of the HTTP port, for `/metrics`, `/healthz`, `/readyz` and the console."),
      FlagKey("insecure", At(&C::insecure))
          .Flag("--insecure")
          .Says("Lets the server listen for other machines without TLS or without identities."),
      CountKey("shards", At(&C::shards), 1, limits::kMaxShards)
          .Flag("--shards")
          .Says("Number of threads that share the pages by their hosts. It can change at each "
                "start; each shard then learns its model anew."),
      ChoiceKey("durability", At(&C::durability), {"sync", "wal", "none"})
          .Flag("--durability")
          .Says("Acknowledged data survives a power cut with `sync`, and a crash of the server "
                "with `wal`. With `none` a crash loses the data of the last moments."),
  };
  std::vector<ConfigKey> logs = LogKeys();
  std::move(logs.begin(), logs.end(), std::back_inserter(keys));
  keys.push_back(
      NamesKey("http.names", At(&C::http_names))
          .Says("Further host names by which clients use the HTTP port without TLS and without an "
                "identity, such as `freshet.example.org`. Addresses, `localhost`, the host of "
                "`http_listen` and names of private networks need no entry."));
  keys.push_back(
      CountKey("http.max_connections", At(&C::max_http_connections), 1, limits::kMaxHttpConnections)
          .Says("Maximum number of connections to the HTTP port. A further connection replaces the "
                "one that has been without a request longest."));
  keys.push_back(
      SpanKey("shutdown.grace", At(&C::shutdown_grace), Duration(), Duration::Seconds(600))
          .Says("How long the server still accepts results after somebody has asked it to stop."));
  return keys;
}

}  // namespace freshet
