// What all pages of a site teach: how rates of change are spread over pages, what each class of
// signals is worth, and how events cluster. Real pages are mostly seen a few times only, so nearly
// all that is known of one comes from here (docs/model.md, "The default estimator").
//
// The method is parametric empirical Bayes (Robbins 1956; Efron and Morris 1973; for this
// Gamma-Poisson form Gelman et al., "Bayesian Data Analysis", section 2.7): the change rate of a
// page is drawn from a gamma distribution whose mean and shape maximise the marginal likelihood,
// a negative binomial, of what all pages showed. Precision and recall come from an
// expectation-maximisation step an epoch (Dempster, Laird and Rubin 1977; run along with new data:
// Cappe and Moulines 2009) for the noisy-or model of a crawl interval,
//
//   P(changed) = 1 - e^-s,  s = (1 - recall) Delta x + sum_k kappa_k n_k,  kappa_k = -ln(1 - p_k),
//
// with x the operational time, n_k the signals of class k and p_k their precision.
//
// Times are in days of EstimatorOptions.day, rates per such day.
#ifndef FRESHET_CORE_ESTIMATE_SITE_H_
#define FRESHET_CORE_ESTIMATE_SITE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/estimate/operational_time.h"
#include "core/model/signal.h"

namespace freshet {

// Gamma distribution of change rates over pages. Value type, thread-compatible. Both finite, > 0.
struct RatePrior {
  double mean = 0.01;  // per operational day
  double shape = 0.5;
};

// What one class of signals has proved worth. Value type, thread-compatible.
struct ClassTrust {
  double signals = 0;      // effective number in crawled intervals, after fading
  double precision = 0.5;  // in (0, 1)
  double recall = 0;       // share of all changes that this class signals
};

// No source is believed to tell of more than this share of all changes: a page would never be
// crawled again.
inline constexpr double kMaxRecall = 0.99;

// The current model of one site. Value type, thread-compatible.
class SiteModel {
 public:
  using Classes = std::array<ClassTrust, kSourceClasses>;

  SiteModel() : SiteModel(RatePrior(), AgeCurve(), Classes()) {}
  SiteModel(const RatePrior& prior, const AgeCurve& curve, const Classes& classes);

  [[nodiscard]] const RatePrior& prior() const { return prior_; }
  [[nodiscard]] const AgeCurve& curve() const { return curve_; }
  [[nodiscard]] const ClassTrust& trust(SourceClass source_class) const {
    return classes_[source_class.packed()];
  }
  // Share of changes that some class signals, in [0, kMaxRecall].
  [[nodiscard]] double recall() const { return recall_; }
  // gamma/Delta = sum_k recall_k/p_k.
  [[nodiscard]] double signals_per_change() const { return signals_per_change_; }
  // The same over the classes that are no mass edits.
  [[nodiscard]] double burst_signals_per_change() const { return burst_signals_per_change_; }
  // kappa_k = -ln(1 - p_k).
  [[nodiscard]] double Weight(SourceClass source_class) const {
    return weights_[source_class.packed()];
  }

 private:
  RatePrior prior_;
  AgeCurve curve_;
  Classes classes_;
  // What follows from the classes.
  std::array<double, kSourceClasses> weights_;
  double recall_ = 0;
  double signals_per_change_ = 0;
  double burst_signals_per_change_ = 0;
};

// What one page showed, for the fit of the rate prior: (expected) changes in an exposure. Value
// type, thread-compatible.
struct RateSample {
  double changes = 0;   // >= 0
  double exposure = 0;  // operational days, >= 0
};

// The gamma prior that maximises the negative binomial likelihood
//   sum_i ln [Gamma(a + c_i)/Gamma(a) (b/(b + x_i))^a (x_i/(b + x_i))^c_i],  a = shape, b = a/mean,
// with the weak information of one page of `base` added to both moments. Samples without exposure
// count nothing; without any other, or any change, the mean falls towards zero as it should.
// O(samples), about 100 evaluations each.
[[nodiscard]] RatePrior FitRatePrior(const std::vector<RateSample>& samples, const RatePrior& base);

// Sums of one site in one epoch. Value type, thread-compatible. Bounded: keeps an evenly spaced
// subset of at most limits::kMaxPriorSamples pages.
class SiteLearner {
 public:
  struct ClassSums {
    double signals = 0;  // in crawled intervals
    double truth = 0;    // expected number among them that stand for a change
  };

  void AddPage(const RateSample& sample);
  void AddUnsignalled(double changes) { unsignalled_ += changes; }
  void AddSignals(SourceClass source_class, double signals, double truth);

  [[nodiscard]] uint64_t pages() const { return pages_; }
  // How much the base of a fit counts: little where it is a mere default, more where it is the
  // model of the whole shard.
  enum class Strength : uint8_t { kWeak, kStrong };
  // The new model: fits of the sums, shrunk to `base`. `counts` are the age counts of the site.
  [[nodiscard]] SiteModel Fit(const SiteModel& base, const AgeCounts& counts,
                              Strength strength) const;

 private:
  std::array<ClassSums, kSourceClasses> classes_{};
  double unsignalled_ = 0;
  uint64_t pages_ = 0;
  uint64_t stride_ = 1;
  std::vector<RateSample> samples_;
};

// A model and the counts of its curve as one line of text without a line end, and back. `host` is
// empty for the whole shard. InvalidArgument, and nothing changed, for anything else.
[[nodiscard]] std::string SerialiseSite(const std::string& host, const SiteModel& site,
                                        const AgeCounts& counts);
[[nodiscard]] Status ParseSite(std::string_view line, std::string* host, SiteModel* site,
                               AgeCounts* counts);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_SITE_H_
