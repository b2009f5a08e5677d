#include "core/fleet/grant_holder.h"

#include <tuple>

#include "core/base/check.h"

namespace freshet {

GrantHolder::GrantHolder(NodeId node, const FleetRateOptions& options)
    : longest_(options.lifetime + options.clock_bound) {
  CHECK(Validate(options).ok());
  held_.node = node;
}

Status GrantHolder::Take(const RateGrant& grant, Instant now) {
  RETURN_IF_ERROR(Validate(grant));
  if (grant.node != held_.node) {
    return InvalidArgument("node: {} is not {}", grant.node.value(), held_.node.value());
  }
  if (grant == held_) return {};
  if (std::tie(grant.term, grant.number) <= std::tie(held_.term, held_.number)) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "share {} of the crawl rate (leader term {}) is refused: it is not newer "
                      "than share {} (term {}), which is in use",
                      grant.number, grant.term, held_.number, held_.term);
  }
  if (grant.until <= now || grant.until > now + longest_) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "until: is {:.3f} s from now, but must be above 0 s and at most {:.3f} s; is "
                      "a clock wrong?",
                      (grant.until - now).seconds(), longest_.seconds());
  }
  held_ = grant;
  return {};
}

Rate GrantHolder::rate(Instant now) const { return now < held_.until ? held_.rate : Rate(); }

}  // namespace freshet
