#include "server/config_limits.h"

#include <utility>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "server/config.h"
#include "server/config/written.h"
#include "yaml-cpp/yaml.h"

namespace freshet {

Status ReadItemRates(const std::string& key, const YAML::Node& node,
                     std::map<std::string, double>* rates) {
  rates->clear();
  return ReadScalars(
      key, node, "sources to numbers",
      [&](const std::string& name, const std::string& text) -> Status {
        if (name.empty()) return InvalidArgument("{}: every source needs a name", key);
        RETURN_IF_ERROR(WithKey(key, ValidateText("source", name, limits::kMaxSourceNameBytes)));
        const StatusOr<double> rate = ParseItemRate(text);
        RETURN_IF_ERROR(WithKey(key + "." + name, rate.status()));
        rates->try_emplace(name, *rate);
        return absl::OkStatus();
      });
}

std::vector<LimitInForce> LimitsOf(const ServerConfig& config) {
  const auto number = [](auto most) { return static_cast<double>(most); };
  std::vector<LimitInForce> all = {
      {"connections", number(config.max_connections)},
      {"connections_per_client", number(config.max_connections_per_client)},
      {"connection_idle", config.max_connection_idle.seconds()},
      {"connection_age", config.max_connection_age.seconds()},
      {"connection_grace", config.connection_grace.seconds()},
      {"streams", number(config.max_streams)},
      {"streams_per_client", number(config.max_streams_per_client)},
      {"streams_per_connection", number(config.max_streams_per_connection)},
      {"metadata_bytes", number(config.max_metadata_bytes)},
      {"message_bytes", number(config.max_message_bytes)},
      {"message_items", number(config.max_message_items)},
      {"url_bytes", number(config.max_url_bytes)},
      {"unacknowledged_bytes", number(config.max_unacked_bytes)},
      {"list_write_timeout", config.list_write_timeout.get().seconds()},
      {"items_per_second_per_client", config.items_per_second_per_client},
      {"items_per_second_per_source", config.items_per_second_per_source},
      {"hosts", number(config.max_hosts)},
      {"pages_per_host", number(config.max_pages_per_host)},
      {"workers", number(config.max_workers)},
      {"max_credit", number(config.max_credit)},
      {"max_open_leases", number(config.max_open_leases)},
      {"max_newcomer_leases", number(config.max_newcomer_leases)},
      {"forced_share", config.forced_share},
      {"http_connections", number(config.max_http_connections)}};
  std::erase_if(all, [](const LimitInForce& limit) { return limit.most == 0; });
  return all;
}

}  // namespace freshet
