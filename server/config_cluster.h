// The section `cluster` of a configuration: servers that share a log on Kafka. One of them serves,
// and the others are standbys. A cluster can have several divisions, each with a log and servers of
// this kind (docs/cluster.md).
#ifndef FRESHET_SERVER_CONFIG_CLUSTER_H_
#define FRESHET_SERVER_CONFIG_CLUSTER_H_

#include <map>
#include <string>

#include "core/base/units.h"
#include "core/fleet/slot_division.h"
#include "fmt/format.h"

namespace freshet {

// The settings of the section. Value type, thread-compatible.
struct ClusterConfig {
  std::string name;     // empty = a single server, whose disk is the source of truth
  std::string brokers;  // Kafka's brokers: host:port, separated by commas
  std::string node;     // name of this server; empty = the machine's name
  // The address, as host:port, at which other servers reach this server's gRPC port. Port 0 = the
  // port of `listen`. Empty = the server accepts no calls while it is a standby.
  std::string address;
  std::string tls_ca;  // PEM of the CA of the servers' certificates; empty = the system's CAs
  // The number of divisions into which the pages are partitioned by host. Each division has a
  // separate log and elects its own serving server.
  int divisions = 1;
  int division = 0;      // the division of this server
  int replication = -1;  // replicas of new topics; -1 = the brokers' setting
  // If the serving server has been silent for this long, a standby takes over.
  Duration silence = Duration::Seconds(6);
  // Whether standbys keep all pages loaded. They then take over faster, but need twice the memory.
  bool hot_standby = false;
  // The longest time that a stopping server continues to serve while its standbys load the pages.
  Duration handover = Duration::Seconds(20);
  std::map<std::string, std::string> properties;  // settings of Kafka's client

  [[nodiscard]] bool configured() const { return !name.empty(); }
  [[nodiscard]] SlotDivision slots() const {
    return {.divisions = static_cast<uint32_t>(divisions),
            .division = static_cast<uint32_t>(division)};
  }
  // The cluster name of a division, for topics and metrics. The name includes the number of
  // divisions, so a server that is configured with another number cannot read the log of this
  // division.
  [[nodiscard]] std::string NameOf(uint32_t its_division) const {
    return divisions == 1 ? name : fmt::format("{}-{}-of-{}", name, its_division, divisions);
  }
};

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_CLUSTER_H_
