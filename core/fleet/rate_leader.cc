#include "core/fleet/rate_leader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"

namespace freshet {
namespace {

// Reported elasticities are clamped to these limits.
constexpr double kLeastElasticity = 0.25;
constexpr double kMostElasticity = 4;
constexpr double kUnknownElasticity = 1;
// Used rates are smoothed over kUseRounds. The smoothed rate shows how much a node can use,
// provided that the node's granted rate allowed at least kTellingCrawls crawls in these rounds.
constexpr double kUseRounds = 10;
constexpr double kTellingCrawls = 20;
// A shorter mean, over kRecentRounds, shows early which nodes use their whole rate again, for
// example after workers return. A node counts as one of them if it uses kTakesAll of its rate. Its
// rate can then grow to kBackAgain times its use.
constexpr double kRecentRounds = 2;
constexpr double kTakesAll = 0.95;
constexpr double kBackAgain = 2;
// A node that uses less than this share of its rate counts as unable to use its whole rate.
constexpr double kUsesAll = 0.8;
// A node that lacks pages or workers can get this many times its use, so that it can recover.
constexpr double kHeadroom = 1.25;
// The share of the way to its target that a rate moves in one round. The effect of a new rate shows
// in the node's reports after one or two rounds, and reports are smoothed over several rounds.
constexpr double kDamping = 0.2;
// The largest factor by which a rate rises or falls in one round, except from very low rates.
constexpr double kMostStep = 2;
// Rounds between two small cuts of a node's rate. By then, random errors have largely averaged out.
constexpr uint64_t kPatience = 10;
// The lowest expected rate of a node, as a share of the mean rate.
constexpr double kLeastExpected = 1e-6;
// Lower rates, per second, count as 0, because divisions by them could overflow.
constexpr double kLeastRate = 1e-9;
// The largest factor by which the leader corrects a node's reported demand, in either direction.
constexpr double kMostFactor = 1e3;

Rate WorthSharing(Rate rate) {
  return rate >= Rate() && rate.per_second() < kLeastRate ? Rate() : rate;
}

double FactorOf(double rate, double expected) {
  return std::clamp(rate / expected, 1 / kMostFactor, kMostFactor);
}

double ShareOfRounds(double rounds) { return -std::expm1(-1 / rounds); }

}  // namespace

RateLeader::RateLeader(const FleetRateOptions& options, uint64_t term, Rate rate, Instant now)
    : options_(options), term_(term), book_(options, term, WorthSharing(rate), now) {}

void RateLeader::SetRate(Rate rate) { book_.SetRate(WorthSharing(rate)); }

Status RateLeader::Refuse(const RateReport& report, Instant now) const {
  RETURN_IF_ERROR(Validate(report));
  if (report.held.term > 0 && report.held.node != report.node) {
    return InvalidArgument(
        "held: the leader gave this share of the crawl rate to another node, not to the sender");
  }
  if (report.held.term == term_ && report.held.number > book_.last_number()) {
    return InvalidArgument(
        "held: share number {} of the crawl rate is unknown: the leader has not given that number "
        "yet",
        report.held.number);
  }
  const auto late = [](const char* why) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "sent: {}", why);
  };
  if (options_.places > 0) {
    if (report.place >= options_.places) {
      return InvalidArgument(
          "place: {} is not the number of a division; there are {} divisions, counted from 0",
          report.place, options_.places);
    }
    const auto place = places_.find(report.place);
    if (place != places_.end() && report.node < place->second.node) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition, "node: another has its place");
    }
  }
  if (report.sent > now + options_.clock_bound) return late("in the future; is a clock wrong?");
  if (report.sent + options_.silence + options_.clock_bound < now) return late("too long ago");
  const auto known = nodes_.find(report.node);
  if (known == nodes_.end() && nodes_.size() >= kMaxFleetNodes) {
    return MakeStatus(absl::StatusCode::kResourceExhausted, "node: there are {} already",
                      kMaxFleetNodes);
  }
  if (known != nodes_.end() && report.number <= known->second.report.number) {
    return late("a later report was heard");
  }
  return {};
}

void RateLeader::Acknowledge(const RateReport& report, Instant now) {
  if (report.held.term > term_) figures_.deposed = true;
  if (report.held.term == term_) book_.Acknowledge(report.node, report.held.number);
  RateGrant held = report.held;
  held.node = report.node;
  if (held.term < term_) book_.Adopt(held, report.sent, now);
}

void RateLeader::TakePlace(const RateReport& report) {
  if (options_.places == 0) return;
  const auto [it, created] = places_.try_emplace(report.place, Place{.node = report.node});
  const NodeId before = std::exchange(it->second.node, report.node);
  if (before == report.node) return;
  it->second.answered = false;
  book_.Release(before);
  const auto known = nodes_.find(before);
  if (known == nodes_.end()) return;
  Node node = known->second;
  node.report.number = 0;
  nodes_.erase(known);
  nodes_.emplace(report.node, node);
}

void RateLeader::CountPlaces(const RateReport& report) {
  if (options_.places == 0 || !book_.quiet() || report.held.term != term_) return;
  places_[report.place].answered = true;
  const bool all =
      places_.size() == options_.places &&
      std::all_of(places_.begin(), places_.end(), [](auto& p) { return p.second.answered; });
  if (all) book_.EndQuiet();
}

Status RateLeader::Hear(const RateReport& report, Instant now) {
  RETURN_IF_ERROR(Refuse(report, now));
  TakePlace(report);
  Acknowledge(report, now);
  CountPlaces(report);
  const auto [it, created] = nodes_.try_emplace(report.node);
  Node& node = it->second;
  const Rate held = report.held.until > report.sent ? report.held.rate : Rate();
  const double obeys = WorthSharing(held).per_second();
  if (created && obeys > 0) {
    // The grant of an earlier leader that the node obeys is all that this leader can know of what
    // the earlier leader had learned.
    node.granted = node.obeyed = obeys;
    node.use = node.recent = {.used = report.used.per_second(), .had = obeys};
  }
  // If a report has no price or demand, the previous one is kept.
  const double price = report.price > 0 ? report.price : node.report.price;
  const auto demand = report.demand ? report.demand : node.report.demand;
  node.report = report;
  node.report.price = price;
  node.report.demand = demand;
  node.heard = now;
  // Over the first few reports, the smoothed use is the plain mean, because there is no earlier
  // value.
  node.reports = std::min(node.reports + 1, kUseRounds);
  const double least_share = 1 / node.reports;
  // Since its last report, the node obeyed the grant of that report and the present one. It
  // certainly had the lower rate of the two.
  const Use seen = {.used = report.used.per_second(), .had = std::min(node.obeyed, obeys)};
  node.use.Learn(seen, std::max(ShareOfRounds(kUseRounds), least_share));
  node.recent.Learn(seen, std::max(ShareOfRounds(kRecentRounds), least_share));
  node.obeyed = obeys;
  return {};
}

void RateLeader::ExpectRates(const std::vector<Part>& parts) const {
  double pages = 0;
  for (const Part& part : parts) pages += static_cast<double>(part.node->report.pages);
  const double rate = book_.rate().per_second();
  const double least = kLeastExpected * std::max(rate, 1e-9) / static_cast<double>(parts.size());
  for (const Part& part : parts) {
    Node& node = *part.node;
    const bool by_demand = node.report.demand.has_value();
    const double by_pages = pages > 0 ? rate * static_cast<double>(node.report.pages) / pages : 0;
    node.expected = std::max(least, by_demand ? node.report.demand->rate.per_second() : by_pages);
    if (node.fitted && node.by_demand == by_demand) continue;
    // The node's granted rate is the only evidence for the error of `expected`.
    if (node.granted > 0) node.factor = FactorOf(node.granted, node.expected);
    node.fitted = true;
    node.by_demand = by_demand;
  }
}

double RateLeader::MostOf(const Node& node, double mean) const {
  if (node.report.pages == 0) return 0;
  const double at_once = static_cast<double>(node.report.credit) / options_.round.seconds();
  // Without credit, the node's workers can take no more pages than they take now.
  double most = node.use.used * (node.report.credit == 0 ? 1.0 + options_.dead_band : kHeadroom);
  most += at_once;
  const double could = node.use.had * options_.round.seconds() * node.reports;
  if (could >= kTellingCrawls && node.use.used < kUsesAll * node.use.had) {
    // Here credit does not limit the node: it hands out fewer pages than its workers would take,
    // because its hosts are not free or it has few pages.
    const bool takes_all = node.recent.used >= kTakesAll * node.recent.had;
    const double takes = std::max(node.use.used * kHeadroom,
                                  node.recent.used * (takes_all ? kBackAgain : kHeadroom));
    const double tried = std::max(takes, options_.probing_share * mean);
    most = std::min(most, tried);
  }
  return most;
}

PriceShare RateLeader::ShareOf(const Node& node, double mean) const {
  PriceShare share;
  share.usual = node.expected * node.factor;
  share.price = node.report.price;
  double damping = 1;
  if (node.granted > 0) {
    damping = kDamping;
    share.usual = node.granted * std::pow(share.usual / node.granted, damping);
  }
  const double elasticity =
      node.report.demand ? -node.report.demand->elasticity : kUnknownElasticity;
  share.exponent =
      damping * options_.gain / std::clamp(elasticity, kLeastElasticity, kMostElasticity);
  const double settled = std::max(node.granted, mean);
  share.most = std::min({book_.rate().per_second(), settled * kMostStep, MostOf(node, mean)});
  share.least = std::max(options_.probing_share * mean, node.granted / kMostStep);
  share.least = std::min(share.least, share.most);
  return share;
}

void RateLeader::Split(std::vector<Part>& parts) {
  const double rate = book_.rate().per_second();
  const double mean = rate / static_cast<double>(std::max<size_t>(1, parts.size()));
  std::vector<PriceShare> shares;
  for (const Part& part : parts) shares.push_back(ShareOf(*part.node, mean));
  const PriceSplit split = SplitByPrice(shares, rate, figures_.price);
  for (size_t i = 0; i < parts.size(); ++i) {
    const double granted = parts[i].node->granted;
    const double wanted = split.rates[i];
    // If the cut is small, the node keeps its rate: others can use the freed rate only after this
    // node has answered.
    const bool small = wanted < granted && wanted > granted * (1 - options_.dead_band);
    const bool keep =
        small && granted <= shares[i].most && (rounds_ + parts[i].id.value()) % kPatience != 0;
    parts[i].wanted = keep ? granted : wanted;
  }
  TakeFigures(parts, shares, split);
}

void RateLeader::TakeFigures(const std::vector<Part>& parts, const std::vector<PriceShare>& shares,
                             const PriceSplit& split) {
  figures_.price = split.price;
  figures_.price_gap = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const PriceShare& share = shares[i];
    const bool free = split.rates[i] > share.least && split.rates[i] < share.most;
    if (!free || share.price <= 0 || split.price <= 0) continue;
    const double gap = std::abs(share.price / split.price - 1);
    figures_.price_gap = std::max(figures_.price_gap, gap);
  }
}

void RateLeader::GrantOne(const Part& part, double rate, Instant now,
                          std::vector<RateGrant>* grants) {
  const Rate allowed = book_.Allowed(part.id);
  // The node might hold a higher grant of an earlier leader, which this grant would replace.
  if (allowed == Rate() && book_.quiet() && !book_.Unbound(part.id)) return;
  const Rate granted = std::min(allowed, Rate::PerSecond(rate));
  grants->push_back(book_.Grant(part.id, granted, now));
  Node& node = *part.node;
  node.granted = WorthSharing(granted).per_second();
  if (node.granted <= 0) return;
  const double share = ShareOfRounds(options_.memory.seconds() / options_.round.seconds());
  const double factor = FactorOf(node.granted, node.expected);
  node.factor *= std::pow(factor / node.factor, share);
}

std::vector<RateGrant> RateLeader::GrantAll(std::vector<Part>& parts, Instant now) {
  std::vector<RateGrant> grants;
  // Nodes whose rate does not exceed their claim take nothing from the free rate.
  double more = 0;
  std::vector<const Part*> rising;
  for (const Part& part : parts) {
    const double claim = book_.Claim(part.id).per_second();
    if (part.wanted > claim) {
      rising.push_back(&part);
      more += part.wanted - claim;
    } else {
      GrantOne(part, part.wanted, now, &grants);
    }
  }
  const double free = book_.Free().per_second();
  const double share = more > free ? free / more : 1;
  for (const Part* part : rising) {
    const double claim = book_.Claim(part->id).per_second();
    GrantOne(*part, claim + share * (part->wanted - claim), now, &grants);
  }
  return grants;
}

std::vector<RateGrant> RateLeader::Round(Instant now) {
  book_.Expire(now);
  ++rounds_;
  std::vector<Part> parts;
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    const bool silent = it->second.heard + options_.silence < now;
    if (!silent) parts.push_back({it->first, &it->second, 0});
    // The silent node's data can be dropped, because the book still has the grants that the node
    // might obey. If nodes have places, the data is kept: the next node of the place inherits what
    // was learned.
    if (silent && options_.places == 0) {
      it = nodes_.erase(it);
    } else {
      ++it;
    }
  }
  std::vector<RateGrant> grants;
  if (!figures_.deposed && !parts.empty()) {
    ExpectRates(parts);
    Split(parts);
    grants = GrantAll(parts, now);
  }
  figures_.nodes = parts.size();
  figures_.refusing = static_cast<size_t>(std::count_if(
      parts.begin(), parts.end(), [](const Part& part) { return part.node->report.refuses; }));
  figures_.claimed = book_.Claimed();
  figures_.rate = book_.rate();
  figures_.quiet = book_.quiet();
  return grants;
}

}  // namespace freshet
