#include "server/api/fleet_view.h"

#include <cstdint>
#include <string>
#include <utility>

#include "server/api/fleet_sums.h"
#include "server/api/rate_sharing.h"
#include "server/api/standby_roster.h"
#include "server/api/status.h"
#include "server/api/to_proto.h"
#include "server/config.h"

namespace freshet {
namespace {

using FleetCall = UnaryCall<v1::GetFleetRequest, v1::GetFleetResponse>;

v1::FleetDivision DescribeOwn(const ServerContext& context) {
  const ClusterStatus cluster = context.cluster();
  const ServerStatus status = GatherStatus(context);
  v1::FleetDivision own;
  own.set_division(context.router.division().division);
  own.set_node(cluster.node);
  if (!cluster.address.empty()) own.set_address(cluster.address);
  ToProto(status.started, own.mutable_serves_since());
  own.set_sure(cluster.sure);
  own.set_leads(cluster.rate.leads);
  own.set_pages(SumOf(status, &ShardCounters::pages));
  own.set_open_leases(SumOf(status, &ShardCounters::leases));
  own.set_crawl_rate_per_second(status.dispatch.rate.per_second());
  const double price =
      cluster.rate.shared ? cluster.rate.price : MostOf(status, &ShardSnapshot::price);
  if (price > 0) own.set_price(price);
  own.set_waiting_partitions(cluster.log.waiting);
  own.set_paused(status.dispatch.paused);
  for (v1::FleetStandby& standby : context.standbys.All(context.clock.Now())) {
    *own.add_standbys() = std::move(standby);
  }
  return own;
}

}  // namespace

grpc::Status OfNoCluster() {
  return {grpc::StatusCode::FAILED_PRECONDITION,
          "this server is of no cluster: cluster.name is not set"};
}

void ShowFleet(const ServerContext& context, FleetCall* call) {
  if (context.cluster == nullptr) return call->Answer(OfNoCluster());
  v1::GetFleetResponse& response = *call->response();
  response.set_cluster(context.config.cluster.name);
  response.set_crawl_rate_per_second(context.rates.total().per_second());
  const SlotDivision own = context.router.division();
  for (uint32_t i = 0; i < own.divisions; ++i) {
    if (i == own.division) {
      *response.add_divisions() = DescribeOwn(context);
    } else if (context.divisions == nullptr) {
      AddUnanswered(i,
                    MakeStatus(absl::StatusCode::kFailedPrecondition,
                               "cannot be reached: cluster.address is not set"),
                    &response);
    }
  }
  call->Answer(grpc::Status::OK);
}

}  // namespace freshet
