#include "server/api/fleet_view.h"

#include <cstdint>
#include <string>
#include <utility>

#include "server/api/crawl_rate.h"
#include "server/api/over_divisions.h"
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
  own.set_pages(status.counters.pages);
  own.set_open_leases(status.counters.leases);
  own.set_crawl_rate_per_second(status.dispatch.rate.per_second());
  const double price = cluster.rate.shared ? cluster.rate.price : status.price;
  if (price > 0) own.set_price(price);
  own.set_waiting_partitions(cluster.log.waiting);
  own.set_paused(status.dispatch.paused);
  for (v1::FleetStandby& standby : context.standbys.All(context.clock.Now())) {
    *own.add_standbys() = std::move(standby);
  }
  return own;
}

// What another server says of its division, whatever it is that it says.
v1::FleetDivision DescribedBy(const DivisionAnswer& its) {
  v1::FleetDivision row;
  row.set_division(its.division);
  const StatusOr<v1::GetFleetResponse> said = ResponseIn<v1::GetFleetResponse>(its.answer);
  if (!said.ok()) {
    v1::UnansweredDivision unanswered;
    ToProto(its.division, said.status(), &unanswered);
    row.set_unanswered(unanswered.reason());
  } else if (said->divisions_size() != 1 || said->divisions(0).division() != its.division) {
    row.set_unanswered("its server describes another division");
  } else {
    row = said->divisions(0);
  }
  return row;
}

}  // namespace

grpc::Status OfNoCluster() {
  return {grpc::StatusCode::FAILED_PRECONDITION,
          "this server is of no cluster: cluster.name is not set"};
}

void ShowFleet(const ServerContext& context, FleetCall* call) {
  if (context.cluster == nullptr) return call->Answer(OfNoCluster());
  if (call->shown().sent_on) {
    *call->response()->add_divisions() = DescribeOwn(context);
    return call->Answer(grpc::Status::OK);
  }
  if (!call->TakePlace()) return call->Answer(UnreadStatus(PushOutcome::kFull));
  AskOtherDivisions(
      context, call->path(), call->shown(), SerialiseMessage(call->request()), kFleetViewPatience,
      [&context, call](const DivisionAnswers& answers) {
        v1::GetFleetResponse& response = *call->response();
        response.set_cluster(context.config.cluster.name);
        response.set_crawl_rate_per_second(CrawlRateOf(context).per_second());
        const SlotDivision own = context.router.division();
        for (uint32_t i = 0; i < own.divisions; ++i) response.add_divisions();
        *response.mutable_divisions(static_cast<int>(own.division)) = DescribeOwn(context);
        for (const DivisionAnswer& its : answers) {
          *response.mutable_divisions(static_cast<int>(its.division)) = DescribedBy(its);
        }
        call->Answer(grpc::Status::OK);
      });
}

}  // namespace freshet
