// The lessons of one crawl: about the ages of pages, and about the bursts and sources whose signals
// the crawl shows to be true or false.
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
// The highest kappa among the signals of the interval that the crawl ends.
[[nodiscard]] double ToldWeight(const PageState& state, const CrawlObservation& observation,
                                const PagePosterior& posterior);
// The staleness of the page at state.carried_at.
[[nodiscard]] double StalenessOf(const PageRecord& page, const PagePosterior& posterior,
                                 Duration day);

// In the functions below, `posterior` is the posterior of the page when it was crawled, and `day`
// is as in EstimatorOptions.
//
// CountAges counts silent changes. Only crawls find them, so the page's age at the change is known
// only to lie between its ages at two crawls.
void CountAges(const PageRecord& page, const CrawlObservation& observation,
               const PagePosterior& posterior, double told_weight, Duration day, Lessons& lessons);
// Teaches the bursts that the page waits in. The page leaves them with this crawl.
void LearnBursts(const PageRecord& page, const PagePosterior& posterior, bool page_changed,
                 Duration day, const Bursts& bursts, Lessons& lessons);
// Teaches the sources that signalled the page.
void LearnSources(const PageRecord& page, const CrawlObservation& observation,
                  const PagePosterior& posterior, Duration day, const Quarantine& quarantine,
                  Lessons& lessons);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_CRAWL_LESSONS_H_
