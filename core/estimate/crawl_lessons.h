// The lessons of one crawl: about the ages of pages, and about the bursts and sources whose signals
// it proves true or false.
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

// The kappa of a signal whose odds a burst moves by e^shift.
[[nodiscard]] double ShiftedWeight(double weight, double shift);
// The highest kappa of the signals in the interval that the crawl ends.
[[nodiscard]] double ToldWeight(const PageState& state, const CrawlObservation& observation,
                                const PagePosterior& posterior);
// The staleness of the page at the instant to which it is carried.
[[nodiscard]] double StalenessOf(const PageRecord& page, const PagePosterior& posterior,
                                 Duration day);

// In all of these `posterior` is that of the page when it was crawled, and `day` as in
// EstimatorOptions.
//
// Counts silent changes, which only crawls find: at an unknown age between two crawls.
void CountAges(const PageRecord& page, const CrawlObservation& observation,
               const PagePosterior& posterior, double told_weight, Duration day, Lessons& lessons);
// Teaches the bursts of the page, which waits in them no more.
void LearnBursts(const PageRecord& page, const PagePosterior& posterior, bool page_changed,
                 Duration day, const Bursts& bursts, Lessons& lessons);
// Teaches the sources that signalled the page.
void LearnSources(const PageRecord& page, const CrawlObservation& observation,
                  const PagePosterior& posterior, Duration day, const Quarantine& quarantine,
                  Lessons& lessons);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_CRAWL_LESSONS_H_
