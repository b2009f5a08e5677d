// Carries the state of pages forward in time: their staleness, their age and their rates, by the
// models of their sites (core/estimate/site.h).
#ifndef FRESHET_CORE_ESTIMATE_PAGE_AGING_H_
#define FRESHET_CORE_ESTIMATE_PAGE_AGING_H_

#include <cmath>
#include <cstdint>

#include "core/base/units.h"
#include "core/estimate/estimator_options.h"
#include "core/estimate/site_table.h"
#include "core/model/page_rates.h"

namespace freshet {

struct Lessons;
struct PageRecord;
struct PageState;

// A signal counts as an event of operational time if it is more likely true than not, which means
// that its kappa is above this.
inline constexpr double kCredibleWeight = M_LN2;

// Needs only the fixed-width state of a page, unless a comment says otherwise. Owner thread only.
class PageAging {
 public:
  // `sites` must outlive this object.
  PageAging(const EstimatorOptions& options, const SiteTable& sites)
      : day_(options.day), dies_(options.kind == EstimatorKind::kDefault), sites_(sites) {}

  // Carries the staleness of `state` and the estimator's sums in it to `now`, through all age edges
  // in between, and sets the rates that hold at `now`. No-op if now <= carried_at.
  void Advance(PageState& state, Instant now) const;
  // The next instant after carried_at at which Advance would change the rates; infinite = never.
  [[nodiscard]] Instant NextEdge(const PageState& state) const;
  // Restarts the age of the page at `event`, unless the page has had a later event.
  void StartAge(PageState& state, Instant event, Instant now) const;

  // The rates by which a page is valued before its first crawl. They are the rates of its state
  // without the effects of signals, including their effect on the page's age. The value is
  // importance over change rate. Signals are evidence of changes, and would therefore lower the
  // value. They must not, because there is no copy yet that could become stale. Precondition: the
  // state is carried to the current instant.
  [[nodiscard]] PageRates RatesBeforeFirstCrawl(const PageState& state) const;

  // The probability that the page exists at `at` if it shows no sign of life until then
  // (core/estimate/life.h). It is 1 for a page that was never crawled, and for the classic
  // estimators.
  [[nodiscard]] double AliveChance(const PageState& state, Instant at) const;
  // c of core/estimate/life.h: a page that has been gone for T comes back at the rate c/T.
  [[nodiscard]] double Returns(const PageState& state) const;
  // Both functions add to the evidence of how long pages live (core/estimate/life.h). CountCrawl
  // counts a crawl at `fetched` that found the page or, if `found` is false, found it gone. Call it
  // before this result is written to the state. CountLook counts a crawl of a page that had been
  // gone for `gone`; `waited` of this time has passed since the previous crawl.
  void CountCrawl(const PageRecord& page, Instant fetched, bool found, Lessons& lessons) const;
  void CountLook(const PageRecord& page, Duration gone, Duration waited, bool returned,
                 Lessons& lessons) const;

 private:
  [[nodiscard]] const SiteModel& Site(uint16_t number) const { return sites_.model(number); }
  [[nodiscard]] double Days(Duration d) const { return d.seconds() / day_.seconds(); }
  // Multiplies the rates of `state` by the ratio of the age curve at `bin` to the curve at the
  // page's present age bin.
  void MoveToBin(PageState& state, uint8_t bin) const;
  // Moves the sums of `state` forward by `dt`, with operational time at the pace `level`.
  void Carry(PageState& state, Duration dt, double level) const;

  const Duration day_;
  const bool dies_;  // false = all pages live for ever (classic estimators)
  const SiteTable& sites_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_PAGE_AGING_H_
