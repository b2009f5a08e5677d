// Servers that share one log.
#include <algorithm>
#include <cctype>

#include "core/base/limits.h"
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
    return InvalidArgument("has {} bytes, at most {} may be", name.size(), kMaxNameBytes);
  }
  if (std::all_of(name.begin(), name.end(), MayName) && name != "." && name != "..") {
    return absl::OkStatus();
  }
  return InvalidArgument("'{}' is more than letters, digits, '-', '_' and '.'", name);
}

Status CheckAddress(const std::string& address) {
  if (address.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const HostPort parts, ParseHostPort(address));
  if (parts.host != "0.0.0.0" && parts.host != "::") return absl::OkStatus();
  return InvalidArgument("{} is where to listen, and not where others reach this server", address);
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
          "Name of the cluster: its topics are `<name>.changes` and `<name>.fleet`. Empty: this "
          "server is alone, and its disk is the truth. With divisions they are "
          "`<name>-<division>-of-<divisions>.changes` and so on."),
      TextKey("cluster.brokers", in(&Cluster::brokers))
          .Says("Brokers of Kafka, `host:port` with commas between them."),
      std::move(node).Says(
          "Name of this server at Kafka, in `freshet fleet` and `freshet fleet drain NODE`. "
          "Empty is the name of the machine."),
      std::move(address).Says(
          "Address at which the other servers reach this one's gRPC port, `host:port`; set it "
          "on all. A standby then takes calls and lets the active server answer them. Empty: a "
          "standby does not listen."),
      TextKey("cluster.tls_ca", in(&Cluster::tls_ca))
          .Says("PEM file of the authority that signs the certificates of the cluster's servers, "
                "which are then clients of each other. Empty: the authorities of the system."),
      CountKey("cluster.divisions", in(&Cluster::divisions), 1, limits::kSlots)
          .Says("Number of divisions over which pages are shared out, by their hosts: the same "
                "on all servers, and for ever. Each division has a log and standbys of its own."),
      CountKey("cluster.division", in(&Cluster::division), 0, limits::kSlots - 1)
          .Says("Division of this server, from 0 on. It sends items of other divisions on to "
                "them, with `cluster.address`, or refuses them."),
      CountKey("cluster.replication", in(&Cluster::replication), -1, 100)
          .Says("How many brokers keep each row of topics that this server makes. -1: as the "
                "brokers are configured."),
      SpanKey("cluster.silence", in(&Cluster::silence), kSecond, Duration::Seconds(300))
          .Says("A standby takes over after so long without a word from the active server. "
                "Brokers take no less than their `group.min.session.timeout.ms`, usually 6s."),
      FlagKey("cluster.hot_standby", in(&Cluster::hot_standby))
          .Says("Whether a standby keeps all pages in memory, so that it takes over equally fast "
                "with any number of pages. If not, it loads them once the active server is "
                "silent, or is to end."),
      SpanKey("cluster.handover", in(&Cluster::handover), Duration(), Duration::Seconds(600))
          .Says("Longest time that a server that is to end goes on serving, until its standbys "
                "(with `cluster.address`) have loaded the pages."),
      PropertiesKey().Says(
          "Settings of Kafka's client, such as `{security.protocol: SASL_SSL}`: any of "
          "librdkafka that Freshet does not set itself."),
  };
}

}  // namespace freshet
