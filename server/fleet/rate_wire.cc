#include "server/fleet/rate_wire.h"

#include "core/base/limits.h"
#include "server/api/from_proto.h"
#include "server/api/to_proto.h"

namespace freshet {

void ToProto(const RateGrant& grant, v1::RateGrant* out) {
  out->set_node(grant.node.value());
  out->set_term(grant.term);
  out->set_number(grant.number);
  out->set_rate_per_second(grant.rate.per_second());
  if (!grant.until.is_none()) ToProto(grant.until, out->mutable_until());
}

StatusOr<RateGrant> FromProto(const v1::RateGrant& grant) {
  RateGrant out{.node = NodeId(grant.node()),
                .term = grant.term(),
                .number = grant.number(),
                .rate = Rate::PerSecond(grant.rate_per_second())};
  if (grant.has_until()) {
    ASSIGN_OR_RETURN(out.until, FromProto(grant.until()));
  }
  return out;
}

void ToProto(const FleetTotal& total, v1::FleetCrawlRate* out) {
  out->set_per_second(total.rate.per_second());
  ToProto(total.told, out->mutable_told());
}

StatusOr<FleetTotal> FromProto(const v1::FleetCrawlRate& total) {
  const double rate = total.per_second();
  if (!(rate >= 0 && rate <= limits::kMaxCrawlsPerSecond)) {
    return InvalidArgument("crawl_rate.per_second: {} is not from 0 to {:.0f}", rate,
                           limits::kMaxCrawlsPerSecond);
  }
  ASSIGN_OR_RETURN(const Instant told, FromProto(total.told()));
  return FleetTotal{Rate::PerSecond(rate), told};
}

void ToProto(const RateReport& report, v1::ShareRateRequest* out) {
  out->set_node(report.node.value());
  out->set_division(report.place);
  out->set_number(report.number);
  ToProto(report.sent, out->mutable_sent());
  ToProto(report.held, out->mutable_held());
  out->set_price(report.price);
  if (report.demand) {
    out->set_demand_per_second(report.demand->rate.per_second());
    out->set_elasticity(report.demand->elasticity);
  }
  out->set_used_per_second(report.used.per_second());
  out->set_credit(report.credit);
  out->set_pages(report.pages);
  out->set_refuses(report.refuses);
}

StatusOr<RateReport> FromProto(const v1::ShareRateRequest& request) {
  RateReport report{.node = NodeId(request.node()),
                    .place = request.division(),
                    .number = request.number(),
                    .price = request.price(),
                    .used = Rate::PerSecond(request.used_per_second()),
                    .credit = request.credit(),
                    .pages = request.pages(),
                    .refuses = request.refuses()};
  ASSIGN_OR_RETURN(report.sent, FromProto(request.sent()));
  ASSIGN_OR_RETURN(report.held, FromProto(request.held()));
  if (request.has_demand_per_second()) {
    report.demand = {Rate::PerSecond(request.demand_per_second()), request.elasticity()};
  }
  return report;
}

}  // namespace freshet
