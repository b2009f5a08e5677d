// The lessons (core/estimate/lessons.h) of one crawl: about the ages of pages, and about the bursts
// and sources whose signals the crawl shows to be true or false.
#ifndef FRESHET_CORE_ESTIMATE_CRAWL_LESSONS_H_
#define FRESHET_CORE_ESTIMATE_CRAWL_LESSONS_H_

#include "core/base/units.h"

namespace freshet {

class Bursts;
class Quarantine;
struct CrawlObservation;
struct Lessons;
struct PagePosterior;
struct PageRecord;
struct PageState;

// The kappa of a signal after its burst has multiplied its odds by e^shift. `weight` is the kappa
// without the burst.
[[nodiscard]] double ShiftedWeight(double weight, double shift);
// The highest kappa among the signals of the interval that ended with the crawl.
[[nodiscard]] double ToldWeight(const PageState& state, const CrawlObservation& observation,
                                const PagePosterior& posterior);
// The staleness of the page at state.carried_at.
[[nodiscard]] double StalenessOf(const PageRecord& page, const PagePosterior& posterior,
                                 Duration day);

// In the functions below, `posterior` is the posterior of the page when it was crawled, and `day`
// is as in EstimatorOptions.
//
// CountAges adds to the counts of the age curve (core/estimate/operational_time.h). If the crawl
// found a silent change, the page's age at the change is known only to lie between its ages at the
// two crawls. `told_weight` is the result of ToldWeight.
void CountAges(const PageRecord& page, const CrawlObservation& observation,
               const PagePosterior& posterior, double told_weight, Duration day, Lessons& lessons);
// LearnBursts learns about the bursts that the page waits in. With this crawl, the page stops
// waiting in them.
void LearnBursts(const PageRecord& page, const PagePosterior& posterior, bool page_changed,
                 Duration day, const Bursts& bursts, Lessons& lessons);
// LearnSources learns about the sources that signalled the page.
void LearnSources(const PageRecord& page, const CrawlObservation& observation,
                  const PagePosterior& posterior, Duration day, const Quarantine& quarantine,
                  Lessons& lessons);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_CRAWL_LESSONS_H_
