// Keys of servers that share one log.
#include <algorithm>
#include <cctype>

#include "core/base/id_limits.h"
#include "core/base/wrong_value.h"
#include "server/base/host_port.h"
#include "server/config/key_makers.h"

namespace freshet {
namespace {

using C = ServerConfig;
using Cluster = ClusterConfig;

// Kafka allows 249 characters in the name of a topic. The rest is left for suffixes that Freshet
// appends.
constexpr size_t kMaxNameBytes = 200;

bool MayName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

Status CheckName(const std::string& name) {
  if (name.size() > kMaxNameBytes) {
    return InvalidArgument("has {} bytes, and at most {} are allowed", name.size(), kMaxNameBytes);
  }
  if (std::all_of(name.begin(), name.end(), MayName) && name != "." && name != "..") {
    return absl::OkStatus();
  }
  return InvalidArgument("{}", WrongValue(name, "a name of letters, digits, '-', '_' and '.'"));
}

Status CheckAddress(const std::string& address) {
  if (address.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const HostPort parts, ParseHostPort(address));
  if (parts.host != "0.0.0.0" && parts.host != "::") return absl::OkStatus();
  return InvalidArgument(
      "{} only works for listening: give an address at which other servers can reach this server",
      address);
}

ConfigKey PropertiesKey() {
  const auto at = At(&C::cluster, &Cluster::properties);
  ConfigKey key = MakeKey("cluster.properties", KeyType::kTexts, at);
  key.read = [at](const std::string& its, const YAML::Node& node, C* config) {
    return ReadTexts(its, node, &at(config));
  };
  key.write = [at](const C& config) {
    std::map<std::string, std::string> shown = at(&config);
    for (auto& [name, value] : shown) {
      const bool secret = name.find("password") != std::string::npos ||
                          name.find("secret") != std::string::npos || name.ends_with(".pem") ||
                          name.ends_with(".jaas.config") || name == "sasl.oauthbearer.config";
      if (secret) value = "(hidden)";
    }
    return WriteTexts(shown);
  };
  return key;
}

}  // namespace

std::vector<ConfigKey> ClusterKeys() {
  const auto in = [](auto field) { return At(&C::cluster, field); };
  ConfigKey name = TextKey("cluster.name", in(&Cluster::name));
  name.check = [](const C& config) { return CheckName(config.cluster.name); };
  ConfigKey node = TextKey("cluster.node", in(&Cluster::node));
  node.check = [](const C& config) { return CheckName(config.cluster.node); };
  ConfigKey address = TextKey("cluster.address", in(&Cluster::address));
  address.check = [](const C& config) { return CheckAddress(config.cluster.address); };
  return {
      std::move(name).Says("Name of the cluster and of its topics (`<name>.changes`, "
                           "`<name>.fleet`). Empty: no cluster."),
      TextKey("cluster.brokers", in(&Cluster::brokers))
          .Says("Addresses of the Kafka brokers: `host:port`, separated by commas."),
      std::move(node).Says(
          "Name of this server in Kafka and in `freshet fleet`. Empty: the name of the machine."),
      std::move(address).Says("Address (`host:port`) at which the other servers reach this gRPC "
                              "port; set it on all servers. A standby then forwards calls to the "
                              "active server. Empty: a standby does not listen."),
      TextKey("cluster.tls_ca", in(&Cluster::tls_ca))
          .Says("PEM file of the authority that signs the certificates of the cluster's servers. "
                "Empty: the authorities of the system."),
      CountKey("cluster.divisions", in(&Cluster::divisions), 1, limits::kSlots)
          .Says("Number of divisions that share the pages by their hosts: equal on all servers, "
                "and never changed."),
      CountKey("cluster.division", in(&Cluster::division), 0, limits::kSlots - 1)
          .Says("Division of this server, counted from 0. With `cluster.address` the server "
                "forwards items of other divisions; otherwise it refuses them."),
      CountKey("cluster.replication", in(&Cluster::replication), -1, 100)
          .Says(
              "Replicas of the topics that this server makes. -1: as the brokers are configured."),
      SpanKey("cluster.silence", in(&Cluster::silence), kSecond, Duration::Seconds(300))
          .Says("A standby takes over after this time without a sign of the active server. Brokers "
                "accept no value below `group.min.session.timeout.ms`, usually 6s."),
      FlagKey("cluster.hot_standby", in(&Cluster::hot_standby))
          .Says("Whether a standby keeps all pages in memory, so that it takes over faster."),
      SpanKey("cluster.handover", in(&Cluster::handover), Duration(), Duration::Seconds(600))
          .Says("Longest time that an ending server stays active while its standbys (with "
                "`cluster.address`) load the pages."),
      PropertiesKey().Says("Settings of Kafka's client librdkafka that Freshet does not set, such "
                           "as `{security.protocol: SASL_SSL}`."),
  };
}

}  // namespace freshet
