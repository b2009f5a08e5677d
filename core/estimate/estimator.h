// Turns what was observed of pages into the rates that the scheduler uses, and learns across pages.
// One Estimator belongs to one shard (or one simulation). Every time is an argument.
#ifndef FRESHET_CORE_ESTIMATE_ESTIMATOR_H_
#define FRESHET_CORE_ESTIMATE_ESTIMATOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/estimate/estimator_options.h"
#include "core/estimate/trust.h"
#include "core/model/page_number.h"
#include "core/model/page_rates.h"
#include "core/model/signal.h"

namespace freshet {

struct BurstSignal;
struct CrawlObservation;
class EpochSums;
struct LearnedSites;
struct Lessons;
struct PageEstimate;
struct PageRecord;
struct PageState;
struct PlacedSignal;
struct QuarantineNews;

// Owner thread only, but for what says otherwise.
class Estimator {
 public:
  explicit Estimator(EstimatorOptions options);
  ~Estimator();
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  // The rates of `page` as of `now`, from its statistics, its signals and the current site model,
  // and its staleness: what it is worth to have been signalled changes with every crawl of the page
  // and, at an epoch, of its site. A known change rate or complete signals in the spec win over
  // estimates. Always finite and >= 0 but for signal_weight and the staleness, which may be
  // infinite. A page without any observation gets the prior. The second goes by what the batch so
  // far has taught, too.
  [[nodiscard]] PageEstimate Estimate(const PageRecord& page, Instant now) const;
  [[nodiscard]] PageEstimate Estimate(const PageRecord& page, Instant now,
                                      const Lessons& lessons) const;

  // The rates that a page nobody has crawled is valued at: those in its state, but for what its
  // signals have said, age included. Its value is importance over change rate, and signals are
  // evidence of changes: there is no copy yet that they could make staler, and they must not make
  // the first crawl worth less. Needs nothing but the fixed-width state, carried to the instant.
  [[nodiscard]] PageRates RatesBeforeFirstCrawl(const PageState& state) const;

  // The probability that the page is there at `at`, if there is no sign of life of it by then; 1
  // for one that was never crawled, and for the classic estimators. Needs nothing but the
  // fixed-width state. core/estimate/life.h.
  [[nodiscard]] double AliveChance(const PageState& state, Instant at) const;
  // c of core/estimate/life.h: a page that has been gone for T comes back at the rate c/T.
  [[nodiscard]] double Returns(const PageState& state) const;

  // Carries the staleness of `state` and the estimator's sums in it to `now` through every age edge
  // in between, and leaves the rates that are in force at `now`. No-op for now <= carried_at. Needs
  // nothing but the fixed-width state.
  void Advance(PageState& state, Instant now) const;
  // The next instant after carried_at at which Advance would change the rates; infinite: never.
  [[nodiscard]] Instant NextEdge(const PageState& state) const;

  // Bookkeeping of an event, called after Advance to the event and before the rest of the state is
  // changed by it. What it changes beyond the page is staged in `lessons`, by which the functions
  // that take them go.
  //
  // RecordCrawl: a successful crawl fetched at `observation.fetched` after `observation.elapsed`.
  // Appends to the page's statistics with state.exposure as the exposure of the interval (the owner
  // then sets it to 0 with the staleness), corrects the evidence and moves `last_event` where the
  // crawl found a change that no signal had told of. Call Estimate afterwards. An observation that
  // is not newer than the last one is ignored.
  void RecordCrawl(PageRecord& page, const CrawlObservation& observation, Lessons& lessons) const;
  // RecordLateCrawl: a crawl that did not become the copy of the page. Its interval counts until
  // the next crawl, whose own holds it.
  void RecordLateCrawl(PageRecord& page, const CrawlObservation& observation,
                       const Lessons& lessons) const;
  // RecordGone: a crawl at `now` found that the page is gone; call before the state says so.
  // RecordLook: so did, or did not, one of a page that had been gone for `gone`, `waited` of that
  // since the crawl before. Both teach how pages live (core/estimate/life.h).
  void RecordGone(const PageRecord& page, Instant now, Lessons& lessons) const;
  void RecordLook(const PageRecord& page, Duration gone, Duration waited, bool returned,
                  Lessons& lessons) const;
  // PlaceSignal: the class of a signal that came with the poll `poll` (zero: none) of `pages` pages
  // of the host, and the burst that it is recorded with. Once a signal.
  // RecordSignal: an applied signal of the poll `poll` (zero: alone), which told of a change at
  // `changed`; the owner then adds it to the state's signals. Changes the state alone: its burst
  // and, where the signal is more likely true than not, `last_event` and with it the rates. Call
  // Estimate afterwards.
  [[nodiscard]] PlacedSignal PlaceSignal(const std::string& host, uint8_t source, uint64_t poll,
                                         uint32_t pages, Instant now, Lessons& lessons) const;
  void RecordSignal(PageRecord& page, SourceClass source_class, uint64_t poll, Instant changed,
                    Instant now, Lessons& lessons) const;

  // RecordLateSignal: a signal that told of a change at `changed`, before the last crawl. It is
  // counted with the interval it belongs to, which would otherwise seem to have ended in a change
  // that nobody tells of. False: that interval is not kept.
  bool RecordLateSignal(PageRecord& page, SourceClass source_class, Instant changed) const;

  // Takes over what a batch has taught, once it is committed. Batches come one after the other, and
  // no epoch is finished and no model restored between a batch and this.
  void Install(Lessons&& lessons);

  // Bursts (core/estimate/bursts.h). A crawl of one page of a burst may change what the signals of
  // its other pages are worth: those are handed out here, at most `max` a call, and Reweigh brings
  // the bursts of one up to date; false if there is nothing to change, else call Estimate.
  void TakeReweighed(size_t max, std::vector<PageNumber>* pages);
  [[nodiscard]] bool has_reweighed() const;
  [[nodiscard]] bool Reweigh(PageState& state, const Lessons& lessons) const;
  // At start-up, for every stored page: the bursts it waits in.
  void RestoreSignals(std::span<const BurstSignal> bursts, PageNumber page);

  // An epoch: BeginEpoch, Collect every page once (in any order, in slices), EndCollecting, Learn,
  // FinishEpoch, which makes the learned model current; then the owner re-estimates the pages of
  // the slots whose models have moved. A second BeginEpoch drops an unfinished one.
  //
  // Pages may be divided by slot among several estimators. `all` is then the sum of what each has
  // collected, its own among them, and what they learn is exactly what one alone would have
  // (core/estimate/site_table.h), given the same instants.
  void BeginEpoch(Instant now);
  void Collect(const PageRecord& page);
  // The same, and carries the state of `page` to `now`, and says what Estimate would: one look at
  // the evidence does for both. nullopt: no epoch has ended yet, so that there is
  // nothing but defaults to estimate by; this one then has every slot moved.
  [[nodiscard]] std::optional<PageEstimate> CollectAndEstimate(PageRecord& page, Instant now);
  void EndCollecting();
  // These two take long. Between EndCollecting and FinishEpoch they may run on another thread while
  // the owner goes on with all but BeginEpoch, Collect and RestoreModel. Learn breaks off, with
  // something to be thrown away, once `stop` is set.
  [[nodiscard]] EpochSums Collected() const;
  [[nodiscard]] LearnedSites Learn(const EpochSums& all, const std::atomic<bool>& stop) const;
  void FinishEpoch(LearnedSites learned);
  // From EndCollecting on, in one go, alone.
  void FinishEpoch();

  // Sites that have a model, that of all included, and the memory that they take; as of the last
  // epoch, or start.
  struct SiteMemory {
    size_t models = 0;
    size_t bytes = 0;
  };
  [[nodiscard]] SiteMemory site_memory() const;

  // The current model, for the store; and back. InvalidArgument for text of another version.
  [[nodiscard]] std::string SerialiseModel() const;
  [[nodiscard]] Status RestoreModel(std::string_view text);

  // Trust in every source class that has sent anything, over all shards, for the trust report.
  [[nodiscard]] std::vector<SourceTrust> Trust() const;
  // The worst `max` of this shard's hosts and of these sources, in order of IsWorse; of `host`
  // alone, unless empty. O(sites and sources watched), some milliseconds where there are as many as
  // can be.
  [[nodiscard]] std::vector<HostTrust> TrustByHost(const std::string& host, SourceSet sources,
                                                   size_t max) const;

  // Quarantines that began or ended since the last call, the newest limits::kMaxQuarantineNews.
  [[nodiscard]] std::vector<QuarantineNews> TakeQuarantineNews();
  struct QuarantineCounts {
    size_t now = 0;
    uint64_t begun = 0;  // since the start
  };
  [[nodiscard]] QuarantineCounts quarantine_counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_ESTIMATOR_H_
