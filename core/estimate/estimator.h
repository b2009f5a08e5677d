// Turns observations of pages into the rates that the scheduler uses, and learns across pages. One
// Estimator belongs to one shard (or one simulation). It reads no clock: every time is an argument.
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
  // current site model. The staleness is computed from scratch, because the value of past signals
  // changes with every crawl of the page and every epoch of its site. A known change rate or
  // complete signals in the spec take precedence over estimates. All results are finite and >= 0,
  // except that signal_weight and the staleness can be infinite. A page without observations gets
  // the prior. The second overload also uses the lessons of the batch so far.
  [[nodiscard]] PageEstimate Estimate(const PageRecord& page, Instant now) const;
  [[nodiscard]] PageEstimate Estimate(const PageRecord& page, Instant now,
                                      const Lessons& lessons) const;

  [[nodiscard]] const PageAging& aging() const { return aging_; }
  // The models of sites, as of the last epoch or start.
  [[nodiscard]] const SiteTable& sites() const { return sites_; }
  // The windows that assign signals to bursts.
  [[nodiscard]] const SignalWindows& windows() const { return windows_; }
  // A crawl of a page can change the value of signals of other pages in its burst. TakeReweighed
  // returns these pages.
  [[nodiscard]] const Bursts& bursts() const { return bursts_; }
  [[nodiscard]] Bursts& bursts() { return bursts_; }
  [[nodiscard]] const Quarantine& quarantine() const { return quarantine_; }
  [[nodiscard]] Quarantine& quarantine() { return quarantine_; }

  // Bookkeeping of an event. Call these functions after PageAging::Advance has carried the state to
  // the event, and before the state is changed in any other way. Changes beyond the page are staged
  // in `lessons`, and functions that take `lessons` see them.
  //
  // RecordCrawl: a successful crawl that was fetched at `seen.fetched`, `seen.elapsed` after the
  // previous crawl. It is appended to the page's statistics, with state.exposure as the exposure of
  // the interval (the owner then resets the exposure and the staleness to 0). RecordCrawl also
  // corrects the evidence, and moves `last_event` if the crawl found a silent change. Call Estimate
  // afterwards. An observation that is not newer than the last one is ignored.
  void RecordCrawl(PageRecord& page, const CrawlObservation& seen, Lessons& lessons) const;
  // RecordLateCrawl: a crawl whose result came too late to replace the copy of the page. The
  // statistics keep it until the next crawl, whose interval covers the same time.
  void RecordLateCrawl(PageRecord& page, const CrawlObservation& seen,
                       const Lessons& lessons) const;
  // RecordSignal: an accepted signal of the poll `poll` (0 = it came alone), for a change at
  // `changed`. The owner then adds it to the state's signals. Only the state changes: its burst
  // and, if the signal is more likely true than not, `last_event` and the rates. Call Estimate
  // afterwards, once for all signals of the page at one instant. All these signals are judged by
  // the posterior before the first of them. RecordSignal stores this posterior in `judge` if
  // needed; the owner drops it after that Estimate.
  void RecordSignal(PageRecord& page, SourceClass source_class, uint64_t poll, Instant changed,
                    Instant now, Lessons& lessons, std::unique_ptr<PagePosterior>& judge) const;

  // Makes the lessons of a batch current, once the batch is committed. Batches do not overlap.
  // Between the first event of a batch and this call, do not finish an epoch or restore a model.
  void Install(Lessons&& lessons);

  // Copies the present shifts of the page's bursts into its state. False = no shift has changed;
  // otherwise call Estimate.
  [[nodiscard]] bool Reweigh(PageState& state, const Lessons& lessons) const;

  // An epoch: call BeginEpoch, then Collect for every page once (in any order, in slices), then
  // EndCollecting, Learn and FinishEpoch, which makes the learned model current. The owner then
  // re-estimates the pages of the slots whose models have moved. A second BeginEpoch drops an
  // unfinished epoch.
  //
  // Pages can be divided by slot among several estimators. `all` is then the sum of all their
  // sites().Sums(). Given the same instants, each learns exactly what a single estimator would have
  // learned (core/estimate/site_table.h).
  void BeginEpoch(Instant now);
  void Collect(const PageRecord& page);
  // Collects the page, carries its state to `now`, and returns the result of Estimate. This
  // evaluates the evidence once, instead of once in Collect and once in Estimate. nullopt = no
  // epoch has ended yet, so Estimate would know only defaults. In that case, LearnedSites::moved of
  // this epoch contains the slots of all collected pages.
  [[nodiscard]] std::optional<PageEstimate> CollectAndEstimate(PageRecord& page, Instant now);
  void EndCollecting();
  // Learn and sites().Sums() take a long time, so they may run on another thread between
  // EndCollecting and FinishEpoch. Meanwhile the owner may call all functions except BeginEpoch,
  // Collect and RestoreModel. Learn stops early once `stop` is set; its result is then useless.
  [[nodiscard]] LearnedSites Learn(const EpochSums& all, const std::atomic<bool>& stop) const;
  void FinishEpoch(LearnedSites learned);
  // EndCollecting, Learn and FinishEpoch in one call, for a single estimator.
  void FinishEpoch();

  // SerialiseModel writes the current model for the store, and RestoreModel reads it back. Not OK:
  // InvalidArgument for text that this release does not read.
  [[nodiscard]] std::string SerialiseModel() const;
  [[nodiscard]] Status RestoreModel(std::string_view text);

 private:
  [[nodiscard]] double Days(Duration d) const { return d.seconds() / options_.day.seconds(); }
  // Returns true if the page is estimated together with other pages of its site.
  [[nodiscard]] bool Pools(const PageSpec& spec) const;
  [[nodiscard]] PageEstimate EstimateAlone(const PageRecord& page, Instant now) const;
  // The estimate from `posterior`. `number` is the site of the page.
  [[nodiscard]] PageEstimate EstimateOf(const PageRecord& page, uint16_t number,
                                        const PagePosterior& posterior, Instant now) const;
  [[nodiscard]] bool Collects(const PageRecord& page) const;
  // Collects a page whose state was carried to `mark_`, and returns its posterior at `mark_`.
  // `number` is the site of the page; the call can change it.
  PagePosterior CollectCarried(const PageRecord& page, uint16_t* number);
  [[nodiscard]] double FadeOfEpoch() const;
  [[nodiscard]] PagePosterior Posterior(const SiteModel& site, const PageRecord& page, Instant now,
                                        const Lessons& lessons) const;
  [[nodiscard]] PagePosterior Posterior(const PageRecord& page, Instant now,
                                        const Lessons& lessons) const;
  // Returns `mark_`. If `mark_` is none, no event has been installed yet, and the result is the
  // instant of the batch's first event. If the batch has no earlier event, this is `now`.
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
  // Ages before `mark_` have been counted. After a start of the process, earlier exposure and
  // events are unknown, and are left out.
  Instant mark_;
  Instant last_mark_;
  bool collecting_ = false;
};

// Records a signal of a change at `changed`, before the last crawl. The signal counts in the
// interval of the change, which would otherwise seem to end in a silent change. False = that
// interval is no longer stored.
bool RecordLateSignal(PageRecord& page, SourceClass source_class, Instant changed);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_ESTIMATOR_H_
