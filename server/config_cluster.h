// The section `cluster` of a configuration: servers that share one log on Kafka, of which one
// serves and the others stand by (docs/cluster.md).
#ifndef FRESHET_SERVER_CONFIG_CLUSTER_H_
#define FRESHET_SERVER_CONFIG_CLUSTER_H_

#include <map>
#include <string>

#include "core/base/units.h"
#include "core/fleet/slot_division.h"
#include "fmt/format.h"

namespace freshet {

// Value type, thread-compatible.
struct ClusterConfig {
  std::string name;     // empty: this server is alone, and its disk is the truth
  std::string brokers;  // of Kafka: host:port, with commas between them
  std::string node;     // what this server is called; empty: the name of the machine
  // Where the other servers reach the gRPC port of this one, host:port; port 0: that of `listen`.
  // Empty: a server that stands by takes no calls.
  std::string address;
  std::string
      tls_ca;  // PEM of who signs the servers' certificates; empty: whom the system believes
  // Servers share the pages out where there are several divisions: those of one have the pages of
  // its hosts, and a log and a turn of their own.
  int divisions = 1;
  int division = 0;      // of this server
  int replication = -1;  // of topics that are made; -1: as the brokers are configured
  // After so long without a word from the server that serves another one does.
  Duration silence = Duration::Seconds(6);
  // A server that stands by has all pages in memory, as the one that serves, at any time.
  bool hot_standby = false;
  // A server that is to end goes on for so long, at most, while its standbys load them.
  Duration handover = Duration::Seconds(20);
  std::map<std::string, std::string> properties;  // of Kafka's client

  [[nodiscard]] bool configured() const { return !name.empty(); }
  [[nodiscard]] SlotDivision slots() const {
    return {.divisions = static_cast<uint32_t>(divisions),
            .division = static_cast<uint32_t>(division)};
  }
  // What the cluster of a division is called, as the one that its topics and its metrics are of.
  // Servers that share the pages out otherwise have another log: none ever reads what it would take
  // for its own.
  [[nodiscard]] std::string NameOf(uint32_t its_division) const {
    return divisions == 1 ? name : fmt::format("{}-{}-of-{}", name, its_division, divisions);
  }
};

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_CLUSTER_H_
