// Turns what was observed of pages into the rates that the scheduler uses, and learns across pages.
// One Estimator belongs to one shard (or one simulation). Every time is an argument.
#ifndef FRESHET_CORE_ESTIMATE_ESTIMATOR_H_
#define FRESHET_CORE_ESTIMATE_ESTIMATOR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/page.h"

namespace freshet {

enum class EstimatorKind : uint8_t {
  kDefault,  // docs/model.md, "The default estimator": pooled over pages
  kMle,      // per page: unsignalled rate and signal weight by maximum likelihood
  kChoGm,    // per page: change rate alone, signals ignored
};

struct EstimatorOptions {
  EstimatorKind kind = EstimatorKind::kDefault;
  // The length of a day. Half-lives and age edges are counted in days, so that accelerated time
  // needs this one number only.
  Duration day = Duration::Days(1);
};

// What is believed of one page.
struct PageEstimate {
  PageRates rates;
  double low = 0;  // 95% interval of the change rate, per second
  double high = 0;
  double observations = 0;  // effective number of crawl intervals behind it, after fading
};

// What the signals of one (source, burst class) have proved worth.
struct SourceTrust {
  SourceClass source_class;
  double signals = 0;        // effective number counted, after fading
  double precision = 0;      // probability that a signal stands for a change
  double precision_low = 0;  // 95% interval
  double precision_high = 0;
  double recall = 0;  // share of all changes that this class signals
};

// Owner thread only.
class Estimator {
 public:
  explicit Estimator(EstimatorOptions options);
  ~Estimator();
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  // The rates of `page` as of `now`, from its statistics, its signals and the current site model.
  // A known change rate or complete signals in the spec win over estimates. Always finite and >= 0
  // but for signal_weight, which may be infinite. A page without any observation gets the prior.
  [[nodiscard]] PageEstimate Estimate(const PageRecord& page, Instant now) const;

  // The rates that a page nobody has crawled is valued at: those in its state, but for what its
  // signals have said, age included. Its value is importance over change rate, and signals are
  // evidence of changes: there is no copy yet that they could make staler, and they must not make
  // the first crawl worth less. Needs nothing but the fixed-width state, carried to the instant.
  [[nodiscard]] PageRates RatesBeforeFirstCrawl(const PageState& state) const;

  // kappa of one more signal of this class for a page in this state: what the scheduler adds to
  // the staleness. >= 0, may be infinite (complete signals).
  [[nodiscard]] double SignalWeight(const PageSpec& spec, const PageState& state,
                                    SourceClass source_class) const;

  // Carries the staleness of `state` and the estimator's sums in it to `now` through every age edge
  // in between, and leaves the rates that are in force at `now`. No-op for now <= carried_at. Needs
  // nothing but the fixed-width state.
  void Advance(PageState& state, Instant now) const;
  // The next instant after carried_at at which Advance would change the rates; infinite: never.
  [[nodiscard]] Instant NextEdge(const PageState& state) const;

  // Bookkeeping of an event, called after Advance to the event and before the rest of the state is
  // changed by it.
  //
  // RecordCrawl: a successful crawl fetched at `observation.fetched` after `observation.elapsed`.
  // Appends to the page's statistics with state.exposure as the exposure of the interval (the owner
  // then sets it to 0 with the staleness), corrects the evidence and moves `last_event` where the
  // crawl found a change that no signal had told of. Call Estimate afterwards. An observation that
  // is not newer than the last one is ignored.
  void RecordCrawl(PageRecord& page, const CrawlObservation& observation);
  // RecordSignal: an applied signal of the poll `poll` (zero: alone). Changes the state alone: its
  // staleness, its burst and sums, `last_event` and, for the new age, its rates. No Estimate is
  // needed; the epochs make what it proves count in full.
  void RecordSignal(PageRecord& page, SourceClass source_class, uint64_t poll, Instant now);

  // Bursts (core/estimate/bursts.h). A crawl of one page of a burst may change what the signals of
  // its other pages are worth: those are handed out here, at most `max` a call, and Reweigh brings
  // the staleness of one up to date; false if there is nothing to change.
  void TakeReweighed(size_t max, std::vector<PageNumber>* pages);
  [[nodiscard]] bool has_reweighed() const;
  [[nodiscard]] bool Reweigh(PageState& state) const;
  // At start-up, for every stored page: the bursts it waits in.
  void RestoreSignals(std::span<const BurstSignal> bursts, PageNumber page);

  // An epoch: BeginEpoch, Collect every page once (in any order, in slices), FinishEpoch, which
  // makes the learned model current; then the owner re-estimates every page. A second BeginEpoch
  // drops an unfinished one.
  void BeginEpoch(Instant now);
  void Collect(const PageRecord& page);
  void FinishEpoch();

  // The current model, for the store; and back. InvalidArgument for text of another version.
  [[nodiscard]] std::string SerialiseModel() const;
  [[nodiscard]] Status RestoreModel(std::string_view text);

  // Trust in every source class that has sent anything, for the trust report.
  [[nodiscard]] std::vector<SourceTrust> Trust() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_ESTIMATOR_H_
