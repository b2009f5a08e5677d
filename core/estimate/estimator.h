// Turns observations of pages into the rates that the scheduler uses, and learns across pages. One
// Estimator belongs to one shard (or one simulation). Every time is an argument.
#ifndef FRESHET_CORE_ESTIMATE_ESTIMATOR_H_
#define FRESHET_CORE_ESTIMATE_ESTIMATOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/estimate/bursts.h"
#include "core/estimate/estimator_options.h"
#include "core/estimate/lessons.h"
#include "core/estimate/page_aging.h"
#include "core/estimate/quarantine.h"
#include "core/estimate/signal_windows.h"
#include "core/estimate/site_table.h"
#include "core/model/signal.h"

namespace freshet {

struct CrawlObservation;
struct PageEstimate;
struct PagePosterior;
struct PageRecord;
struct PageSpec;
struct PageState;

// Owner thread only, except where a comment says otherwise.
class Estimator {
 public:
  explicit Estimator(const EstimatorOptions& options);
  Estimator(const Estimator&) = delete;

  // The rates and the staleness of `page` as of `now`, from its statistics, its signals and the
  // current site model. The staleness is computed anew, because the worth of past signals changes
  // with every crawl of the page and with every epoch of its site. A known change rate or complete
  // signals in the spec win over estimates. All results are finite and >= 0, except that
  // signal_weight and the staleness may be infinite. A page without any observation gets the prior.
  // The second function also uses the lessons of the batch so far.
  [[nodiscard]] PageEstimate Estimate(const PageRecord& page, Instant now) const;
  [[nodiscard]] PageEstimate Estimate(const PageRecord& page, Instant now,
                                      const Lessons& lessons) const;

  [[nodiscard]] const PageAging& aging() const { return aging_; }
  // The models of sites, as of the last epoch or start.
  [[nodiscard]] const SiteTable& sites() const { return sites_; }
  // The windows that place signals in bursts.
  [[nodiscard]] const SignalWindows& windows() const { return windows_; }
  // A crawl of a page may change the worth of signals of other pages in its burst. TakeReweighed
  // hands out these pages.
  [[nodiscard]] const Bursts& bursts() const { return bursts_; }
  [[nodiscard]] Bursts& bursts() { return bursts_; }
  [[nodiscard]] const Quarantine& quarantine() const { return quarantine_; }
  [[nodiscard]] Quarantine& quarantine() { return quarantine_; }

  // Bookkeeping of an event: call it after PageAging::Advance to the event, and before other
  // changes of the state. Changes beyond the page are staged in `lessons`, and functions that take
  // `lessons` see them.
  //
  // RecordCrawl: a successful crawl fetched at `seen.fetched` after `seen.elapsed`.
  // Appends to the page's statistics with state.exposure as the exposure of the interval (the owner
  // then sets it to 0 with the staleness), corrects the evidence and moves `last_event` if the
  // crawl found a silent change. Call Estimate afterwards. An observation that is not newer than
  // the last one is ignored.
  void RecordCrawl(PageRecord& page, const CrawlObservation& seen, Lessons& lessons) const;
  // RecordLateCrawl: a crawl whose result came too late to replace the copy of the page. The
  // statistics keep it until the next crawl, whose interval covers the same time.
  void RecordLateCrawl(PageRecord& page, const CrawlObservation& seen,
                       const Lessons& lessons) const;
  // RecordSignal: an applied signal of the poll `poll` (0 = alone), with a change at `changed`; the
  // owner then adds it to the state's signals. Changes only the state: its burst and, where the
  // signal is more likely true than not, `last_event` and with it the rates. Call Estimate
  // afterwards, once for all signals of the page at one instant. `judge`, if needed, becomes the
  // posterior before the first of them, by which all are judged; the owner drops it with that
  // estimate.
  void RecordSignal(PageRecord& page, SourceClass source_class, uint64_t poll, Instant changed,
                    Instant now, Lessons& lessons, std::unique_ptr<PagePosterior>& judge) const;

  // Takes over the lessons of a batch, once it is committed. Batches come one after the other.
  // Between a batch and this call, finish no epoch and restore no model.
  void Install(Lessons&& lessons);

  // Updates the bursts of a page; false = no change, else call Estimate.
  [[nodiscard]] bool Reweigh(PageState& state, const Lessons& lessons) const;

  // An epoch: BeginEpoch, Collect every page once (in any order, in slices), EndCollecting, Learn,
  // FinishEpoch, which makes the learned model current; then the owner re-estimates the pages of
  // the slots whose models have moved. A second BeginEpoch drops an unfinished one.
  //
  // Pages may be divided by slot among several estimators. `all` is then the sum of all their
  // sites().Sums(). Each learns exactly what one alone would have learned
  // (core/estimate/site_table.h), given the same instants.
  void BeginEpoch(Instant now);
  void Collect(const PageRecord& page);
  // Collects, carries the state of `page` to `now` and returns the result of Estimate: one look at
  // the evidence serves both. nullopt = no epoch has ended yet, so Estimate would know only
  // defaults; FinishEpoch then moves the models of all slots.
  [[nodiscard]] std::optional<PageEstimate> CollectAndEstimate(PageRecord& page, Instant now);
  void EndCollecting();
  // This and sites().Sums() take long. Between EndCollecting and FinishEpoch they may run on
  // another thread while the owner may call all but BeginEpoch, Collect and RestoreModel. Learn
  // breaks off once `stop` is set; its result is then useless.
  [[nodiscard]] LearnedSites Learn(const EpochSums& all, const std::atomic<bool>& stop) const;
  void FinishEpoch(LearnedSites learned);
  // EndCollecting, Learn and FinishEpoch in one go, for a single estimator.
  void FinishEpoch();

  // Writes the current model for the store, and reads it back. InvalidArgument for text of another
  // version.
  [[nodiscard]] std::string SerialiseModel() const;
  [[nodiscard]] Status RestoreModel(std::string_view text);

 private:
  [[nodiscard]] double Days(Duration d) const { return d.seconds() / options_.day.seconds(); }
  // Whether the page is estimated with others of its site.
  [[nodiscard]] bool Pools(const PageSpec& spec) const;
  [[nodiscard]] PageEstimate EstimateAlone(const PageRecord& page, Instant now) const;
  // The estimate from `posterior`; `number` is the site of the page.
  [[nodiscard]] PageEstimate EstimateOf(const PageRecord& page, uint16_t number,
                                        const PagePosterior& posterior, Instant now) const;
  [[nodiscard]] bool Collects(const PageRecord& page) const;
  // Collects a page whose state was carried to `mark_`, and returns its posterior at `mark_`.
  // `number`: the site of the page, in and out.
  PagePosterior CollectCarried(const PageRecord& page, uint16_t* number);
  [[nodiscard]] double FadeOfEpoch() const;
  [[nodiscard]] PagePosterior Posterior(const SiteModel& site, const PageRecord& page, Instant now,
                                        const Lessons& lessons) const;
  [[nodiscard]] PagePosterior Posterior(const PageRecord& page, Instant now,
                                        const Lessons& lessons) const;
  // Returns `mark_`. The first event ever sets the mark to `now`.
  [[nodiscard]] Instant Mark(Instant now, Lessons& lessons) const;
  void Forget(PageRecord& page, const PagePosterior& posterior) const;

  const Lessons none_;
  const EstimatorOptions options_;
  SiteTable sites_;
  PageAging aging_{options_, sites_};
  SignalWindows windows_;
  Bursts bursts_;
  Quarantine quarantine_;
  std::string quarantine_text_;  // as of EndCollecting
  // Age exposure before `mark_` has been collected. After a start, exposure and events from before
  // are unknown and left out.
  Instant mark_;
  Instant last_mark_;
  bool collecting_ = false;
};

// Records a signal of a change at `changed`, before the last crawl. The signal counts in the
// interval of the change, which otherwise would seem to end in a silent change. False = that
// interval is not kept.
bool RecordLateSignal(PageRecord& page, SourceClass source_class, Instant changed);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_ESTIMATOR_H_
