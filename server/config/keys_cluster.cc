// Servers that share one log.
#include <algorithm>
#include <cctype>

#include "core/base/limits.h"
#include "core/base/wrong_value.h"
#include "server/base/host_port.h"
#include "server/config/key_makers.h"

namespace freshet {
namespace {

using C = ServerConfig;
using Cluster = ClusterConfig;

// Of Kafka's names of topics, less what is appended.
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
      "{} is an address to listen at; other servers cannot reach this server at it", address);
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
                          name.ends_with(".jaas.config");
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
      std::move(name).Says(
          "Name of the cluster: its topics are `<name>.changes` and `<name>.fleet`, with divisions "
          "`<name>-<division>-of-<divisions>.changes` and so on. Empty: this server is not in a "
          "cluster."),
      TextKey("cluster.brokers", in(&Cluster::brokers))
          .Says("Addresses of the Kafka brokers: `host:port`, separated by commas."),
      std::move(node).Says("Name of this server in Kafka, in `freshet fleet` and in `freshet fleet "
                           "drain NODE`. Empty means the name of the machine."),
      std::move(address).Says("Address at which the other servers reach the gRPC port of this "
                              "server, `host:port`; set it on all servers. A standby then forwards "
                              "calls to the active server. Empty: a standby does not listen."),
      TextKey("cluster.tls_ca", in(&Cluster::tls_ca))
          .Says(
              "PEM file of the authority that signs the certificates of the cluster's servers, "
              "which connect to each other as clients. Empty means the authorities of the system."),
      CountKey("cluster.divisions", in(&Cluster::divisions), 1, limits::kSlots)
          .Says("Number of divisions that share the pages by their hosts: equal on all servers, "
                "and never changed. Each division has its own log and standbys."),
      CountKey("cluster.division", in(&Cluster::division), 0, limits::kSlots - 1)
          .Says("Division of this server, counted from 0. If `cluster.address` is set, the server "
                "sends items of other divisions on to these divisions; otherwise it refuses them."),
      CountKey("cluster.replication", in(&Cluster::replication), -1, 100)
          .Says("Number of brokers that keep each row of topics that this server makes. -1: as the "
                "brokers are configured."),
      SpanKey("cluster.silence", in(&Cluster::silence), kSecond, Duration::Seconds(300))
          .Says(
              "A standby takes over when it has heard nothing of the active server for this time. "
              "Brokers accept no value below their `group.min.session.timeout.ms`, usually 6s."),
      FlagKey("cluster.hot_standby", in(&Cluster::hot_standby))
          .Says("Whether a standby keeps all pages in memory, so that it takes over equally fast "
                "with any number of pages. Otherwise it loads the pages when the active server is "
                "silent or about to end."),
      SpanKey("cluster.handover", in(&Cluster::handover), Duration(), Duration::Seconds(600))
          .Says("Longest time that a server that is about to end waits until its standbys (with "
                "`cluster.address`) have loaded the pages. Meanwhile it stays active."),
      PropertiesKey().Says("Settings of Kafka's client, such as `{security.protocol: SASL_SSL}`: "
                           "any setting of librdkafka that Freshet does not set itself."),
  };
}

}  // namespace freshet
