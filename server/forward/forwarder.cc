#include "server/forward/forwarder.h"

#include <set>
#include <string>
#include <utility>

#include "server/api/service_names.h"
#include "server/config.h"

namespace freshet {

Forwarder::Forwarder(const ServerConfig& config, size_t connections, Door& door, Clock& clock,
                     ForwardCounters& counters, CallForwarder::Find find, ForwardOptions options)
    : calls_(config, door, clock, counters, std::move(find), std::move(options)),
      request_ids_(clock.Now()),
      health_({.config = config,
               .clock = clock,
               .streams = calls_.streams(),
               .calls = call_stats_,
               .authoriser = door.authoriser(),
               .request_ids = request_ids_}),
      port_(config, connections, door, clock) {
  switchboard_.Add(health_.Methods());
  switchboard_.SetRest(calls_.service());
}

StatusOr<int> Forwarder::Start() {
  ASSIGN_OR_RETURN(const int port, port_.Start(switchboard_));
  RETURN_IF_ERROR(calls_.Start([this](bool serving) { TellHealth(serving); },
                               [this](const std::set<Peer>& peers) {
                                 port_.Cut(peers);
                                 port_.Allow(calls_.streams().stats().calls);
                               }));
  return port;
}

void Forwarder::Stop() {
  calls_.Stop();
  health_.EndWatches();
  port_.Stop();
}

void Forwarder::TellHealth(bool serving) {
  for (const std::string& name : ServiceNames()) health_.Set(name, serving);
  health_.SetAll(serving);
}

}  // namespace freshet
