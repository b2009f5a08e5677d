// Keys of the process: its store, addresses and logs.
#include "core/base/id_limits.h"
#include "server/base/limits.h"
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
          .Says("Lowest level of messages in the log."),
      std::move(levels).Reloads().Says("Different levels for some modules, such as `{store: debug, "
                                       "grpc: error}`. `freshet log-level` lists the modules."),
      ChoiceKey("log_format", At(&C::log_format), {"text", "json"})
          .Flag("--log-format")
          .Says("Form of the lines in the log: text for people, or JSON for programs."),
      TraceKey().Says(
          "Share of messages for which the log says how long each stage took. 0: none, 1: all."),
      TextKey("audit_log", At(&C::audit_log))
          .Says("File of the audit log, with a line of JSON for each entry. Empty: `audit.jsonl` "
                "in `data_dir`."),
      CountKey("audit_log_bytes", At(&C::audit_log_bytes), 1 << 16, int64_t{1} << 40)
          .Says("Size in bytes at which the server begins a new audit log. The server keeps four "
                "older files."),
  };
}

}  // namespace

std::vector<ConfigKey> ServerKeys() {
  std::vector<ConfigKey> keys = {
      TextKey("data_dir", At(&C::data_dir))
          .Flag("--data-dir")
          .Says("Directory of the store, for one server at a time."),
      TextKey("listen", At(&C::listen))
          .Flag("--listen")
          .Says("Address of the gRPC port. Port 0 means any free port."),
      TextKey("http_listen", At(&C::http_listen))
          .Flag("--http-listen")
          .Says("Address of the HTTP port, for metrics, health and the console."),
      FlagKey("insecure", At(&C::insecure))
          .Flag("--insecure")
          .Says("Lets the server listen for other machines without TLS or identities."),
      CountKey("shards", At(&C::shards), 1, limits::kMaxShards)
          .Flag("--shards")
          .Says("Number of threads that share the pages by their hosts. After a change each shard "
                "learns its model anew."),
      ChoiceKey("durability", At(&C::durability), {"sync", "wal", "none"})
          .Flag("--durability")
          .Says("Acknowledged data survives a power cut with `sync`, only a crash of the server "
                "with `wal`, and neither with `none`."),
  };
  std::vector<ConfigKey> logs = LogKeys();
  std::move(logs.begin(), logs.end(), std::back_inserter(keys));
  keys.push_back(NamesKey("http.names", At(&C::http_names))
                     .Says("Further host names by which clients without an identity can use the "
                           "HTTP port without TLS (docs/console.md)."));
  keys.push_back(
      CountKey("http.max_connections", At(&C::max_http_connections), 1, limits::kMaxHttpConnections)
          .Says("Maximum number of HTTP connections. A further connection replaces the one that "
                "has been idle longest."));
  keys.push_back(
      SpanKey("shutdown.grace", At(&C::shutdown_grace), Duration(), Duration::Seconds(600))
          .Says("How long the server still accepts results while it stops."));
  return keys;
}

}  // namespace freshet
