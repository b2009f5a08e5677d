#include "core/estimate/host_trust.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "core/estimate/estimator.h"

namespace freshet {
namespace {

// One call of WorstHosts::Look checks this many sites, or this many parts of the quarantine
// (core/estimate/quarantine.h). Either is a few hundred sources.
constexpr size_t kSitesALook = 256;
constexpr size_t kPartsALook = 8;

// The sort key of hosts and sources, the worst first. It is used within one shard and over all
// shards.
auto Standing(bool quarantined, double precision_high, const std::string& host,
              const uint8_t& source) {
  return std::tuple(!quarantined, precision_high, std::tie(host, source));
}
auto StandingOf(const HostTrust& trust) {
  return Standing(trust.lately.quarantined(), trust.precision_high, trust.host, trust.source);
}

}  // namespace

bool IsWorse(const HostTrust& a, const HostTrust& b) { return StandingOf(a) < StandingOf(b); }

std::vector<SourceTrust> TrustIn(const SiteTable& sites) {
  std::vector<SourceTrust> all;
  for (const ClassModel& model : sites.model(0).classes()) {
    if (!(model.signals > 0)) continue;
    SourceTrust out;
    out.source_class = model.source_class;
    out.signals = model.signals;
    out.truth = model.truth;
    out.recall = model.recall;
    SetPrecision(model.signals, model.truth, &out);
    all.push_back(out);
  }
  return all;
}

void WorstHosts::Add(const Row& row) {
  HostTrust trust;
  SetPrecision(row.signals, row.truth, &trust);
  const bool quarantined = row.lately != nullptr && row.lately->quarantined();
  const auto standing = Standing(quarantined, trust.precision_high, row.host, row.source);
  if (max_ == 0 || (worst_.size() >= max_ && standing >= StandingOf(worst_.front()))) return;
  trust.host = row.host;
  trust.source = row.source;
  trust.signals = row.signals;
  trust.recall = std::min(1.0, row.recall);
  if (row.lately != nullptr) trust.lately = *row.lately;
  if (worst_.size() >= max_) {
    std::pop_heap(worst_.begin(), worst_.end(), IsWorse);
    worst_.pop_back();
  }
  worst_.push_back(std::move(trust));
  std::push_heap(worst_.begin(), worst_.end(), IsWorse);
}

void WorstHosts::LookAtSite(const Estimator& shard, uint16_t number) {
  const std::string& host = shard.sites().host(number);
  if (host.empty()) return;
  std::optional<Row> row;
  for (const ClassModel& model : shard.sites().model(number).classes()) {
    const uint8_t source = model.source_class.source();
    if (!sources_.test(source) || !(model.signals > 0)) continue;
    // The classes of a source are adjacent.
    if (row && row->source != source) Add(*std::exchange(row, std::nullopt));
    if (!row) {
      row.emplace(
          Row{.host = host, .source = source, .lately = shard.quarantine().Find(host, source, {})});
    }
    row->signals += model.signals;
    row->truth += model.truth;
    row->recall += model.recall;
  }
  if (row) Add(*row);
}

void WorstHosts::LookAtStanding(const Estimator& shard, const SourceStanding& standing) {
  if (!sources_.test(standing.source)) return;
  const uint16_t number = shard.sites().NumberOf(standing.host);
  const auto& classes = shard.sites().model(number).classes();
  const bool has_model =
      number != 0 && std::any_of(classes.begin(), classes.end(), [&](const ClassModel& model) {
        return model.source_class.source() == standing.source && model.signals > 0;
      });
  if (has_model) return;
  Add({.host = standing.host,
       .source = standing.source,
       .signals = standing.signals,
       .truth = standing.proved,
       .lately = &standing});
}

bool WorstHosts::Look(const Estimator& shard) {
  if (max_ == 0) return false;
  if (!host_.empty()) {
    LookAtSite(shard, shard.sites().NumberOf(host_));
    for (size_t source = 0; source < sources_.size(); ++source) {
      const auto* standing = shard.quarantine().Find(host_, static_cast<uint8_t>(source), {});
      if (standing != nullptr) LookAtStanding(shard, *standing);
    }
    return false;
  }
  const size_t end = next_ + (of_sites_ ? kSitesALook : kPartsALook);
  const size_t all = of_sites_ ? shard.sites().number_limit() : Quarantine::kParts;
  for (; next_ < std::min(end, all); ++next_) {
    if (of_sites_) {
      LookAtSite(shard, static_cast<uint16_t>(next_));
    } else {
      shard.quarantine().ForEach(
          next_, [&](const SourceStanding& standing) { LookAtStanding(shard, standing); });
    }
  }
  if (next_ < all) return true;
  next_ = 0;
  of_sites_ = !of_sites_;
  return !of_sites_;
}

std::vector<HostTrust> WorstHosts::Take() {
  std::sort_heap(worst_.begin(), worst_.end(), IsWorse);
  return std::exchange(worst_, {});
}

}  // namespace freshet
