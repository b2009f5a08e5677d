#include "core/estimate/page_aging.h"

#include <algorithm>
#include <cmath>

#include "core/estimate/lessons.h"
#include "core/estimate/life.h"
#include "core/estimate/operational_time.h"
#include "core/estimate/page_estimator.h"
#include "core/model/page.h"

namespace freshet {

PageRates PageAging::RatesBeforeFirstCrawl(const PageState& state) const {
  PageRates rates = state.rates;
  if (rates.age_bin == kAgeless) return rates;
  // Signals are ignored, because there is no copy yet that could become stale. The value of signals
  // is also only an approximation. It must not rank the pages of sites with known source classes
  // below other pages.
  rates.unsignalled_rate = rates.change_rate;
  rates.signal_rate = rates.signal_weight = 0;
  if (state.signals.empty()) return rates;
  // Without crawls and signals, the posterior mean has a closed form.
  const SiteModel& site = Site(rates.site);
  const double day = day_.seconds();
  const RatePrior& prior = site.prior();
  const double exposure = site.told() * state.evidence_exposure / day;
  const double mean = prior.shape / (prior.shape / prior.mean + exposure);
  const int bin = AgeCurve::BinOf(std::max(0.0, Days(state.carried_at - state.first_seen)));
  const double factor = mean * site.curve().Ahead(bin) / day / rates.change_rate;
  if (!(factor < 1)) return rates;
  rates.change_rate *= factor;
  rates.unsignalled_rate *= factor;
  rates.staleness_rate *= factor;
  return rates;
}

Instant PageAging::NextEdge(const PageState& state) const {
  if (state.rates.age_bin >= kAgeBins - 1) return Instant::Infinite();
  // Exact to the microsecond.
  const double end = AgeCurve::EndOf(state.rates.age_bin) * day_.seconds();
  return state.last_event + Duration::FromSeconds(end);
}

void PageAging::MoveToBin(PageState& state, uint8_t bin) const {
  const AgeCurve& curve = Site(state.rates.site).curve();
  PageRates& rates = state.rates;
  const double ahead = curve.Ahead(bin) / curve.Ahead(rates.age_bin);
  rates.change_rate *= ahead;
  rates.unsignalled_rate *= ahead;
  rates.signal_rate *= ahead;
  rates.staleness_rate *= curve.Level(bin) / curve.Level(rates.age_bin);
  rates.age_bin = bin;
}

void PageAging::Carry(PageState& state, Duration dt, double level) const {
  state.carried_at = state.carried_at + dt;
  // A gone page does not change.
  if (state.gone) return;
  const double seconds = dt.seconds();
  state.staleness += state.rates.staleness_rate * seconds;
  state.exposure += level * seconds;
  const double half_life = kSignalledHalfLifeDays * day_.seconds();
  const double fade = std::exp2(-seconds / half_life);
  state.evidence = static_cast<float>(state.evidence * fade);
  state.evidence_exposure =
      static_cast<float>(state.evidence_exposure * fade + level * (1 - fade) * half_life / M_LN2);
}

void PageAging::Advance(PageState& state, Instant now) const {
  const AgeCurve& curve = Site(state.rates.site).curve();
  while (state.carried_at < now) {
    if (state.rates.age_bin == kAgeless) {
      Carry(state, now - state.carried_at, 1);
      return;
    }
    const Instant edge = NextEdge(state);
    const Instant end = std::min(edge, now);
    if (end > state.carried_at) {
      Carry(state, end - state.carried_at, curve.Level(state.rates.age_bin));
    }
    if (edge <= now) MoveToBin(state, static_cast<uint8_t>(state.rates.age_bin + 1));
  }
}

void PageAging::StartAge(PageState& state, Instant event, Instant now) const {
  if (event <= state.last_event) return;
  state.last_event = event;
  if (state.rates.age_bin == kAgeless) return;
  MoveToBin(state, static_cast<uint8_t>(AgeCurve::BinOf(std::max(0.0, Days(now - event)))));
}

double PageAging::AliveChance(const PageState& state, Instant at) const {
  const double silent = Days(at - std::max(state.last_crawl, state.last_event));
  if (!state.crawled() || !(silent > 0) || !dies_) return 1;
  // Signals without credibility are no sign of life.
  const bool believed = state.rates.signal_weight > kCredibleWeight;
  const double signs = believed ? state.rates.signal_rate * day_.seconds() : 0;
  return freshet::AliveChance(Site(state.rates.site).life().death_rate, signs, silent);
}

double PageAging::Returns(const PageState& state) const {
  return Site(state.rates.site).life().returns;
}

void PageAging::CountCrawl(const PageRecord& page, Instant fetched, bool found,
                           Lessons& lessons) const {
  const PageState& state = page.state;
  if (!state.crawled() || state.gone) return;
  lessons.sites.push_back({.site = state.rates.site,
                           .page = page.number,
                           .kind = SiteLesson::Kind::kCrawl,
                           .found = found,
                           .rate = AliveChance(state, fetched)});
}

void PageAging::CountLook(const PageRecord& page, Duration gone, Duration waited, bool returned,
                          Lessons& lessons) const {
  lessons.sites.push_back({.site = page.state.rates.site,
                           .page = page.number,
                           .kind = SiteLesson::Kind::kLook,
                           .found = returned,
                           .from = Days(waited),
                           .to = Days(gone)});
}

}  // namespace freshet
