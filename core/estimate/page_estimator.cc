#include "core/estimate/page_estimator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "boost/math/distributions/gamma.hpp"
#include "core/base/limits.h"
#include "core/model/page.h"

namespace freshet {
namespace {

constexpr double kMinRate = 1e-9;  // per day
constexpr double kMaxRate = limits::kMaxChangesPerDay;
constexpr double kMinChance = 1e-9;
constexpr double kMinInformation = 1e-3;
constexpr int kMaxSteps = 60;
// A step of expectation-maximisation is lengthened to the zero of the secant through the last two
// steps, by at most this factor. Expectation-maximisation then needs only a third as many steps.
constexpr double kLongest = 8;
constexpr double kTolerance = 1e-4;

// A crawl interval, with one weight for each pace at which evidence fades.
struct Interval {
  double exposure;  // operational days
  double signalled_weight;
  double unsignalled_weight;
  double false_weight;
  double recall_weight;
  const SignalCounts* signals;
};

// The classes of a page by their packed number, and the data that one step of the maximisation
// needs.
struct Classes {
  std::array<int16_t, kSourceClasses> position;
  absl::InlinedVector<double, 6> precision;     // lambda Delta/gamma
  absl::InlinedVector<double, 6> weight;        // kappa
  absl::InlinedVector<double, 6> surely_false;  // signals before crawls that found no change
  absl::InlinedVector<double, 6> open;          // signals since the last crawl
};

// An interval that ended in a change, given the rates of a step.
struct Split {
  double s;
  double chance;       // p = 1 - e^-s
  double unsignalled;  // expected unsignalled changes
};

// The Split for `own` expected unsignalled changes if the exponent of the interval is `s`.
Split SplitOf(double own, double s) {
  const double chance = s < 40 ? std::max(-std::expm1(-s), kMinChance) : 1;
  return {.s = s, .chance = chance, .unsignalled = std::min(own / chance, 1 + own)};
}

// The expected number of true signals among `count` signals with this precision, in an interval
// that ended in a change. `chance` is the probability of a change in the interval.
double TruthOf(int count, double precision, double chance) {
  return count * std::min(1.0, precision / chance);
}

double DaysOf(double seconds, Duration day) { return seconds / day.seconds(); }

// The mean weight 2^-(age/half-life) of events that came at a constant pace in the last `days`.
double EvenFading(double days, double half_life) {
  const double x = days / half_life * M_LN2;
  return x < 1e-6 ? 1 : -std::expm1(-x) / x;
}

// The lengthened step. `moved` is the length of the previous step.
double Accelerated(double step, double step_before, double moved) {
  const double slope = (step - step_before) / moved;
  if (!(slope < -1 / kLongest)) return 2 * step;
  return std::clamp(-step / slope, -std::abs(kLongest * step), std::abs(kLongest * step));
}

// The evidence of an interval about silent changes has the weight e^(-kDoubt sum kappa n).
constexpr double kDoubt = 6;

// A shift of a page's rate: the page has become active or quiet. Evidence about the rate from
// before `since` counts with `weight`.
struct RateShift {
  Instant since;
  double weight = 1;
  [[nodiscard]] bool found() const { return weight < 1; }
};

// A rate counts as shifted if the log likelihood gains at least kShiftGain. Evidence from before
// the shift counts with kShiftWeight.
constexpr double kShiftGain = 6;
constexpr double kShiftWeight = 0.05;
constexpr double kClustered = 1;

class Maximisation {
 public:
  Maximisation(const SiteModel& site, const PageStatistics& statistics, const PageState& state,
               Instant now, Duration day, const RateShift& shift = {})
      : site_(site), now_(now), day_(day), recent_(statistics.recent), shift_(shift) {
    told_ = site.told();
    untold_ = site.unsignalled();
    classes_.position.fill(-1);
    for (const ClassModel& model : site.classes()) AddClass(model);
    AddOld(statistics, state, now);
    for (const CrawlObservation& observation : statistics.recent) AddInterval(observation, now);
    AddOpen(state, now);
    for (PageClass& page_class : result_.classes) {
      if (!page_class.seen) page_class.false_rate = FalseRate(page_class);
    }
  }

  // Estimates a page with complete signals: every signal is a change, and every change is
  // signalled.
  PagePosterior RunComplete() {
    double signals = old_signalled_;
    for (const double open : classes_.open) signals += open_signalled_ * open;
    for (const CrawlObservation& observation : recent_) {
      signals += Fading(now_ - observation.fetched, kSignalledHalfLifeDays, day_) *
                 observation.signals.Total();
    }
    const RatePrior& prior = site_.prior();
    result_.changes = signals;
    result_.exposure = signalled_exposure_;
    result_.shape = prior.shape + signals;
    result_.mean = std::clamp(result_.shape / (prior.shape / prior.mean + signalled_exposure_),
                              kMinRate, kMaxRate);
    result_.unsignalled = 0;
    result_.false_exposure = 0;
    result_.even_rate = result_.mean;
    result_.classes.clear();
    return std::move(result_);
  }

  // Estimates a page with a known change rate. All evidence is then about signals.
  PagePosterior RunWith(double rate) {
    rate_ = std::clamp(rate, kMinRate, kMaxRate);
    result_.unsignalled = untold_;
    Expect();
    Finish();
    result_.teaches_rate = false;
    result_.mean = rate;
    return std::move(result_);
  }

  // Estimates a page. If `shift` is not nullptr, it receives the shift of the page's rate; if there
  // seems to be none, found() is false.
  PagePosterior Run(RateShift* shift = nullptr) {
    double log_rate = std::log(std::clamp(site_.prior().mean, kMinRate, kMaxRate));
    double log_before = 0;
    double step_before = 0;
    result_.unsignalled = untold_;
    for (int i = 0; i < kMaxSteps; ++i) {
      rate_ = std::exp(log_rate);
      Expect();
      const double step =
          std::log(std::clamp((site_.prior().shape + signalled_ + unsignalled_) / Exposure(),
                              kMinRate, kMaxRate)) -
          log_rate;
      if (std::abs(step) < kTolerance) break;
      const double next =
          log_rate + (i == 0 ? step : Accelerated(step, step_before, log_rate - log_before));
      log_before = log_rate;
      step_before = step;
      log_rate = std::clamp(next, std::log(kMinRate), std::log(kMaxRate));
    }
    Expect();
    if (shift != nullptr) *shift = FindShift();
    Finish();
    return std::move(result_);
  }

 private:
  int AddClass(const ClassModel& model) {
    const int position = static_cast<int>(result_.classes.size());
    classes_.position[model.source_class.packed()] = static_cast<int16_t>(position);
    result_.classes.push_back({.source_class = model.source_class,
                               .recall = model.recall,
                               .false_rate = model.false_rate.mean,
                               .prior = model.false_rate});
    for (auto* column :
         {&classes_.precision, &classes_.weight, &classes_.surely_false, &classes_.open}) {
      column->push_back(0);
    }
    return position;
  }
  // The position of a class. A class that is new to the site gets the defaults.
  size_t Position(SourceClass source_class) {
    int position = classes_.position[source_class.packed()];
    if (position < 0) {
      const ClassModel unknown{.source_class = source_class};
      position = AddClass(unknown);
      told_ += unknown.recall;
      untold_ *= 1 - unknown.recall;
    }
    result_.classes[static_cast<size_t>(position)].seen = true;
    return static_cast<size_t>(position);
  }

  void AddOld(const PageStatistics& statistics, const PageState& state, Instant now) {
    const double fade = Fading(now - state.carried_at, kSignalledHalfLifeDays, day_);
    old_signalled_ = state.evidence * fade;
    signalled_exposure_ = DaysOf(state.evidence_exposure, day_) * fade;
    const double known = (now - state.first_seen).seconds() / day_.seconds();
    const double even = known * EvenFading(known, kSignalledHalfLifeDays);
    if (signalled_exposure_ > 0 && even > 0) even_ = even / signalled_exposure_;
    if (shift_.found()) {
      const double days = std::max(0.0, (now - shift_.since).seconds() / day_.seconds());
      const double recent =
          std::min(signalled_exposure_, days * EvenFading(days, kSignalledHalfLifeDays));
      signalled_exposure_ = recent + shift_.weight * (signalled_exposure_ - recent);
      old_signalled_ *= shift_.weight;
    }
    evened_ = 2 / (1 + Fading(now - state.first_seen, kSignalledHalfLifeDays, day_));
    if (statistics.recent.empty()) return;
    const double since = shift_.weight * Fading(now - statistics.recent.front().fetched,
                                                kUnsignalledHalfLifeDays, day_);
    old_unsignalled_ = statistics.old_changes * since;
    unsignalled_exposure_ = DaysOf(statistics.old_exposure, day_) * since;
  }

  void AddInterval(const CrawlObservation& observation, Instant now) {
    const Duration age = now - observation.fetched;
    // One exponential suffices for all four weights, because the longest half-life is a multiple of
    // each of the others.
    static_assert(kSignalledHalfLifeDays * 10 == kUnsignalledHalfLifeDays &&
                  kRecallHalfLifeDays * 8 == kUnsignalledHalfLifeDays &&
                  kFalseHalfLifeDays * 5 == kSignalledHalfLifeDays);
    const double w = Fading(age, kUnsignalledHalfLifeDays, day_);
    const double w2 = w * w;
    const double w8 = w2 * w2 * w2 * w2;
    const double w10 = w8 * w2;
    Interval interval{
        .exposure = DaysOf(observation.exposure, day_),
        .signalled_weight = w10,
        .unsignalled_weight = w,
        .false_weight = w10 * w10 * w10 * w10 * w10,
        .recall_weight = w8,
        .signals = &observation.signals,
    };
    if (shift_.found() && observation.fetched <= shift_.since) {
      interval.signalled_weight *= shift_.weight;
      interval.unsignalled_weight *= shift_.weight;
    }
    result_.observations += interval.unsignalled_weight;
    crawled_exposure_ += interval.recall_weight * interval.exposure;
    unsignalled_exposure_ += interval.unsignalled_weight * interval.exposure;
    result_.false_exposure += interval.false_weight * interval.exposure;
    for (const SignalCounts::Entry& entry : observation.signals.entries()) {
      if (entry.count == 0) continue;
      const size_t k = Position(entry.source_class);
      result_.classes[k].signals += interval.recall_weight * entry.count;
      if (!observation.changed) classes_.surely_false[k] += interval.false_weight * entry.count;
    }
    (observation.changed ? changed_ : unchanged_).push_back(interval);
  }

  // Adds the signals since the last crawl, as if they had come at a constant pace.
  void AddOpen(const PageState& state, Instant now) {
    const Instant since = state.crawled() ? state.last_crawl : state.first_seen;
    const double days = std::max(0.0, (now - since).seconds() / day_.seconds());
    const double exposure = state.crawled() ? DaysOf(state.exposure, day_) : days;
    open_exposure_ = exposure;
    open_signalled_ = EvenFading(days, kSignalledHalfLifeDays);
    open_false_ = EvenFading(days, kFalseHalfLifeDays);
    result_.false_exposure += exposure * open_false_;
    for (const SignalCounts::Entry& entry : state.signals.entries()) {
      if (entry.count > 0) classes_.open[Position(entry.source_class)] += entry.count;
    }
  }

  // The weight of the prior, in operational days without a change.
  double PriorDays() const { return site_.prior().shape / site_.prior().mean; }
  double Exposure() const {
    return PriorDays() + told_ * signalled_exposure_ + result_.unsignalled * unsignalled_exposure_;
  }

  // alpha x: the expected unsignalled changes in an interval.
  double OwnOf(const Interval& interval) const {
    return result_.unsignalled * rate_ * interval.exposure;
  }
  // `s` plus the signal terms of the interval.
  double WithSignals(double s, const Interval& interval) const {
    for (const SignalCounts::Entry& entry : interval.signals->entries()) {
      if (entry.count > 0) s += entry.count * classes_.weight[At(entry.source_class)];
    }
    return s;
  }
  Split SplitOfInterval(const Interval& interval) const {
    const double own = OwnOf(interval);
    return SplitOf(own, WithSignals(own, interval));
  }
  size_t At(SourceClass source_class) const {
    return static_cast<size_t>(classes_.position[source_class.packed()]);
  }

  double Truth(const SignalCounts::Entry& entry, double chance) const {
    return TruthOf(entry.count, classes_.precision[At(entry.source_class)], chance);
  }

  [[nodiscard]] double FalseRate(const PageClass& page_class) const {
    const RatePrior& prior = page_class.prior;
    return (prior.shape + page_class.false_signals) /
           (prior.shape / prior.mean + result_.false_exposure);
  }

  // Computes the expectations under the current rates, and the false rates that follow from them.
  void Expect() {
    signalled_ = old_signalled_;
    unsignalled_ = old_unsignalled_;
    for (size_t k = 0; k < result_.classes.size(); ++k) {
      PageClass& page_class = result_.classes[k];
      // No interval has signals of this class, so its false rate is the same in every step.
      if (!page_class.seen) continue;
      classes_.weight[k] = page_class.Weight(rate_);
      const double told = page_class.recall * rate_;
      classes_.precision[k] = told / (told + page_class.false_rate);
      const double truth = classes_.open[k] * classes_.precision[k];
      signalled_ += open_signalled_ * truth;
      page_class.false_signals =
          classes_.surely_false[k] + open_false_ * (classes_.open[k] - truth);
    }
    for (const Interval& interval : changed_) {
      const Split split = SplitOfInterval(interval);
      unsignalled_ += interval.unsignalled_weight * split.unsignalled;
      for (const SignalCounts::Entry& entry : interval.signals->entries()) {
        if (entry.count == 0) continue;
        const double truth = Truth(entry, split.chance);
        signalled_ += interval.signalled_weight * truth;
        result_.classes[At(entry.source_class)].false_signals +=
            interval.false_weight * (entry.count - truth);
      }
    }
    for (PageClass& page_class : result_.classes) {
      if (!page_class.seen) continue;
      page_class.false_rate = FalseRate(page_class);
    }
  }

  // The expected changes in an interval that ended in a change.
  double ChangesIn(const CrawlObservation& observation) const {
    const Interval interval{.exposure = DaysOf(observation.exposure, day_),
                            .signals = &observation.signals};
    const Split split = SplitOfInterval(interval);
    double changes = split.unsignalled;
    for (const SignalCounts::Entry& entry : observation.signals.entries()) {
      if (entry.count > 0) changes += Truth(entry, split.chance);
    }
    return changes;
  }

  // Finds the kept crawl with the highest log likelihood ratio of a change point (Hinkley 1970).
  // The ratio is c ln(c/e) - c + e if there were c changes since that crawl and e were expected. If
  // c is larger, e is raised by up to one change, because changes come in clusters.
  RateShift FindShift() const {
    RateShift best;
    double most = kShiftGain;
    double changes = 0;
    for (size_t k = 0; k < result_.classes.size(); ++k) {
      changes += classes_.open[k] * classes_.precision[k];
    }
    double exposure = told_ * open_exposure_;
    const auto consider = [&](Instant since) {
      double expected = rate_ * exposure;
      if (changes > expected) expected = std::min(changes, expected + kClustered);
      double gain = expected - changes;
      if (changes > 0) gain += changes * std::log(changes / expected);
      if (gain <= most) return;
      most = gain;
      best = {.since = since, .weight = kShiftWeight};
    };
    for (auto it = recent_.rbegin(); it != recent_.rend(); ++it) {
      if (it == recent_.rbegin() || it->changed) consider(it->fetched);
      exposure += (told_ + result_.unsignalled) * DaysOf(it->exposure, day_);
      if (!it->changed) continue;
      changes += ChangesIn(*it);
      consider(it->fetched - it->elapsed);
    }
    return best;
  }

  // -d2/d(ln Delta)2 of the log likelihood of an interval that ended in a change, including its
  // signals.
  double Information(const Interval& interval) const {
    const double own = OwnOf(interval);
    const double s = WithSignals(own, interval);
    double slope = own;  // ds/d ln Delta
    double doubt = 0;    // sum n q (1 - q)
    for (const SignalCounts::Entry& entry : interval.signals->entries()) {
      if (entry.count == 0) continue;
      const size_t k = At(entry.source_class);
      slope += entry.count * classes_.precision[k];
      doubt += entry.count * classes_.precision[k] * (1 - classes_.precision[k]);
    }
    const double weight =
        interval.signals->empty() ? interval.unsignalled_weight : interval.signalled_weight;
    if (!(s < 40)) return -weight * doubt;
    const double growth = std::max(std::expm1(s), kMinChance);
    const double curved = slope * slope * (growth + 1) / (growth * growth);
    return weight * (curved - (own + doubt) / growth - doubt);
  }

  void Finish() {
    double information = told_ * signalled_exposure_ * rate_;
    double settled_exposure = unsignalled_exposure_;  // exposure of intervals without a change
    for (size_t k = 0; k < result_.classes.size(); ++k) {
      const double q = classes_.precision[k];
      information -= open_signalled_ * classes_.open[k] * q * (1 - q);
    }
    for (const Interval& interval : changed_) {
      information += Information(interval);
      settled_exposure -= interval.unsignalled_weight * interval.exposure;
      AddRecall(interval);
    }
    information += result_.unsignalled * std::max(settled_exposure, 0.0) * rate_;
    FitRatePair(information);
    const double of_prior = PriorDays() * rate_;
    information = std::max(information, 0.0);
    result_.mean = rate_;
    result_.expected_changes = rate_ * crawled_exposure_;
    for (const Interval& interval : unchanged_) {
      result_.untold_exposure +=
          interval.recall_weight * Unexplained(interval) * rate_ * interval.exposure;
    }
    const double seen_days = Exposure() - PriorDays();
    result_.even_rate = rate_ * (PriorDays() + seen_days) / (PriorDays() + seen_days * even_);
    result_.shape = std::max(information + of_prior, kMinInformation);
  }

  // Sets the Poisson count and exposure that represent the data. Both are the expected values,
  // reduced by the missing information, so that they have the score of the data. If most
  // information were missing, this reduction would extrapolate far beyond the rates of the data. So
  // at most half of the information counts as missing. A fading sum whose weights have fallen from
  // 1 to w varies less than a count with the same mean, by the factor (1 + w)/2. Without a
  // correction for this, all rates would seem alike.
  void FitRatePair(double information) {
    constexpr double kLeastShare = 0.5;
    const double exposure = Exposure() - PriorDays();
    if (!(exposure > 0)) return;
    const double share = std::clamp(information / (exposure * rate_), 0.0, 1.0);
    const double step = std::max(share, kLeastShare);
    const double rate = rate_ + ((signalled_ + unsignalled_) / exposure - rate_) / step;
    const double signalled = told_ * signalled_exposure_ / exposure;
    result_.exposure = share * exposure * (1 + signalled * (evened_ - 1));
    result_.changes = std::max(0.0, rate) * result_.exposure;
  }

  // The weight of an interval's evidence about silent changes. If the signals of an interval
  // explain much, a signalled change cannot be told from a silent one. Outcomes would then confirm
  // any believed recall, and a wrong one would never be corrected.
  double Unexplained(const Interval& interval) const {
    return std::exp(-kDoubt * WithSignals(0, interval));
  }

  void AddRecall(const Interval& interval) {
    const Split split = SplitOfInterval(interval);
    double told = 0;  // changes signalled by the source that signalled most
    for (const SignalCounts::Entry& entry : interval.signals->entries()) {
      if (entry.count == 0) continue;
      result_.classes[At(entry.source_class)].truth +=
          interval.recall_weight * Truth(entry, split.chance);
      double of_source = 0;
      for (const SignalCounts::Entry& other : interval.signals->entries()) {
        const bool same = other.source_class.source() == entry.source_class.source();
        if (other.count > 0 && same) of_source += Truth(other, split.chance);
      }
      told = std::max(told, of_source);
    }
    result_.told_changes += interval.recall_weight * told;
    // Adds a count and its expectation. Together they have the score and the information of this
    // interval about the logarithm of the silent share. Both are nearly 0 if signals explain the
    // change.
    const double own = OwnOf(interval);
    if (!(split.s < 40)) return;
    const double gain = split.s < 1e-9 ? 1 : own / std::expm1(split.s);
    const double fall = split.s < 1e-9 ? split.s / 2 : own / split.chance - 1;
    const double expected = gain * std::max(fall, 0.0);
    const double weight = interval.recall_weight * Unexplained(interval);
    result_.untold_changes += weight * (gain + expected);
    result_.untold_exposure += weight * expected / result_.unsignalled;
  }

  const SiteModel& site_;
  const Instant now_;
  const Duration day_;
  std::span<const CrawlObservation> recent_;
  const RateShift shift_;
  double open_exposure_ = 0;  // operational days since the last crawl
  PagePosterior result_;
  Classes classes_;
  absl::InlinedVector<Interval, limits::kMaxObservations> changed_;
  absl::InlinedVector<Interval, limits::kMaxObservations> unchanged_;
  double crawled_exposure_ = 0;  // exposure of all intervals, for the recall
  double even_ = 1;              // recent wall-clock time over recent operational time
  double evened_ = 1;  // variance of a count over the variance of a fading sum with the same mean
  double rate_ = 0;
  double told_ = 0;
  double untold_ = 1;
  double old_signalled_ = 0;
  double old_unsignalled_ = 0;
  double signalled_exposure_ = 0;
  double unsignalled_exposure_ = 0;
  double open_signalled_ = 1;
  double open_false_ = 1;
  double signalled_ = 0;    // C1 of docs/model.md, in this step
  double unsignalled_ = 0;  // C2
};

}  // namespace

double Fading(Duration elapsed, double half_life_days, Duration day) {
  if (elapsed <= Duration()) return 1;
  return std::exp2(-elapsed.seconds() / (half_life_days * day.seconds()));
}

double GammaQuantile(double mean, double shape, double probability) {
  return boost::math::quantile(boost::math::gamma_distribution<double>(shape, mean / shape),
                               probability);
}

double PageClass::Odds(double change_rate) const {
  constexpr double kLeastFalseRate = 1e-9;
  const double odds = recall * change_rate / std::max(false_rate, kLeastFalseRate);
  return shift == 0 ? odds : odds * std::exp(shift);
}

double PageClass::Weight(double change_rate) const { return std::log1p(Odds(change_rate)); }

const PageClass* PagePosterior::Find(SourceClass source_class) const {
  for (const PageClass& page_class : classes) {
    if (page_class.source_class == source_class) return &page_class;
  }
  return nullptr;
}

double PagePosterior::Weight(SourceClass source_class) const {
  if (const PageClass* found = Find(source_class)) return found->Weight(mean);
  const ClassModel unknown;
  return PageClass{.recall = unknown.recall, .false_rate = unknown.false_rate.mean}.Weight(mean);
}

PagePosterior EstimatePage(const SiteModel& site, const PageSpec& spec, const PageState& state,
                           const PageStatistics& statistics, Instant now, Duration day) {
  Maximisation maximisation(site, statistics, state, now, day);
  if (spec.known_change_rate.has_value()) {
    return maximisation.RunWith(spec.known_change_rate->per_second() * day.seconds());
  }
  if (spec.complete_signals) return maximisation.RunComplete();
  RateShift shift;
  PagePosterior posterior = maximisation.Run(&shift);
  if (!shift.found()) return posterior;
  return Maximisation(site, statistics, state, now, day, shift).Run();
}

OldEvidence EvidenceOf(const CrawlObservation& observation, const PagePosterior& posterior,
                       Duration day) {
  OldEvidence evidence;
  // With complete signals, all signals are true.
  if (posterior.unsignalled == 0)
    return {.signalled = static_cast<double>(observation.signals.Total())};
  if (!observation.changed) return evidence;
  const double own = posterior.unsignalled * posterior.mean * DaysOf(observation.exposure, day);
  double s = own;
  for (const SignalCounts::Entry& entry : observation.signals.entries()) {
    if (entry.count > 0) s += entry.count * posterior.Weight(entry.source_class);
  }
  const Split split = SplitOf(own, s);
  evidence.unsignalled = split.unsignalled;
  for (const SignalCounts::Entry& entry : observation.signals.entries()) {
    if (entry.count == 0) continue;
    const double precision = -std::expm1(-posterior.Weight(entry.source_class));
    evidence.signalled += TruthOf(entry.count, precision, split.chance);
  }
  return evidence;
}

}  // namespace freshet
