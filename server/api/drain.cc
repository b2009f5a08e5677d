#include "server/api/drain.h"

#include <functional>

#include "core/base/text.h"
#include "fmt/format.h"
#include "server/api/cluster_status.h"
#include "server/api/faults.h"
#include "server/api/fleet_view.h"
#include "server/api/standby_roster.h"

namespace freshet {
namespace {

using DrainCall = UnaryCall<v1::DrainNodeRequest, v1::DrainNodeResponse>;

// Returns true if this server should end: it runs on the node, and a standby is ready. Adds this
// division to the response if the server runs on the node.
bool DrainOwn(const ServerContext& context, const std::string& node,
              v1::DrainNodeResponse* response) {
  if (context.cluster().node != node) return false;
  v1::DrainedDivision& own = *response->add_divisions();
  own.set_division(context.router.division().division);
  const std::vector<v1::FleetStandby> standbys = context.standbys.All(context.clock.Now());
  for (const v1::FleetStandby& standby : standbys) own.add_standbys(standby.node());
  const std::string why_not = WhyNotDrained(node, standbys);
  if (!why_not.empty()) own.set_refused(why_not);
  return why_not.empty();
}

}  // namespace

std::string WhyNotDrained(const std::string& node, const std::vector<v1::FleetStandby>& standbys) {
  bool any = false;
  for (const v1::FleetStandby& standby : standbys) {
    // A standby that has never reached the end of the log cannot take over.
    if (!standby.has_behind()) continue;
    any = true;
    if (standby.node() == node) {
      return fmt::format(
          "its standby at {} belongs to the same node and could take over: stop it first",
          standby.address());
    }
    if (!standby.ready()) {
      return fmt::format(
          "standby {} could take over but has not read the whole log yet: wait for it, or stop it",
          standby.node());
    }
  }
  if (!any) {
    return "no server could take over: no standby with cluster.address has read the whole log";
  }
  return "";
}

void DrainNode(const ServerContext& context, DrainCall* call) {
  if (context.cluster == nullptr) return call->Answer(OfNoCluster());
  const std::string node = call->request().node();
  const Status valid = ValidateText("node", node, StandbyRoster::kMostBytes);
  if (node.empty() || !valid.ok()) {
    return call->Answer(GrpcStatusOf(node.empty() ? InvalidArgument("node: is empty") : valid));
  }
  const bool ends = DrainOwn(context, node, call->response());
  // The call is answered before the port closes.
  const std::function<void()> end = context.end;
  if (ends) call->NoteChange();
  call->Answer(grpc::Status::OK);
  if (ends) end();
}

}  // namespace freshet
