// Learns what the pages of a site share from what each of them showed in one epoch.
//
// Partial pooling over the tree defaults -> all hosts -> host -> page (Gelman and Hill 2006): what
// is learned of a host is drawn to what all hosts show, with the weight of some ten changes; what
// all hosts show of a class of signals, to defaults, with the weight of three. A host of one page
// is then all but the same as all, one of ten thousand pages is all but itself, and nothing is to
// be set between.
#ifndef FRESHET_CORE_ESTIMATE_SITE_LEARNER_H_
#define FRESHET_CORE_ESTIMATE_SITE_LEARNER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/estimate/page_estimator.h"
#include "core/estimate/rate_samples.h"
#include "core/estimate/site.h"
#include "core/model/page_number.h"

namespace freshet {

inline constexpr double kMaxShape = 50;  // beyond, rates are all but equal
// The gamma prior that maximises the negative binomial likelihood
//   sum_i ln [Gamma(a + c_i)/Gamma(a) (b/(b + x_i))^a (x_i/(b + x_i))^c_i],  a = shape, b = a/mean,
// with the weak information of one page of `base` added to both moments. Samples without exposure
// count nothing; without any other, or any change, the mean falls towards zero as it should.
// The shape is at most `max_shape`. O(samples), about 100 evaluations each.
[[nodiscard]] RatePrior FitRatePrior(const std::vector<RateSample>& samples, const RatePrior& base,
                                     double max_shape = kMaxShape);
// The same with the shape given, and as many pages of exactly the mean of `base` added as `pages`
// says.
[[nodiscard]] RatePrior FitRateMean(const std::vector<RateSample>& samples, const RatePrior& base,
                                    double pages);

// Sums over the pages of one site in one epoch. Value type, thread-compatible. Bounded: keeps a
// sample of at most `max_samples` pages for the rate prior.
class SiteLearner {
 public:
  // Of all classes together.
  struct PageSums {
    double told = 0;
    double expected = 0;
    double untold = 0;
    double untold_exposure = 0;
    double false_exposure = 0;
    uint64_t pages = 0;

    void Add(const PageSums& other);
  };
  struct ClassSums {
    SourceClass source_class;
    double signals = 0;
    double truth = 0;
    double false_signals = 0;
    // Over the hosts that use the class:
    double changes = 0;
    double false_exposure = 0;
    // Mean and mean logarithm of the pages' false rates, as multiples of their site's mean.
    double pages = 0;
    double ratio = 0;
    double log_ratio = 0;
    bool seen = false;  // some page was signalled by it, lately at least
    // Digamma of the shape that pages without signals of the class have in common, for speed.
    double unseen_shape = 0;
    double unseen_digamma = 0;

    void Add(const ClassSums& other);
  };

  explicit SiteLearner(size_t max_samples) : samples_(max_samples) {}

  // Drops all, and keeps the memory of samples for the next: what thousands of sites free takes a
  // while.
  void Clear();
  // Pages whose rate is known, or whose signals are complete, teach what they can.
  void Add(const PagePosterior& page, PageNumber number);
  // The sums of a whole host, to those of several.
  void AddHost(const SiteLearner& host);
  // Those of several hosts to those of more. None of these adds samples: EpochSums has its own.
  void AddSums(const SiteLearner& hosts);
  void AddSums(const PageSums& hosts) { sums_.Add(hosts); }
  void AddSums(const ClassSums& hosts) { SumsOf(hosts.source_class).Add(hosts); }

  [[nodiscard]] uint64_t pages() const { return sums_.pages; }
  [[nodiscard]] const PageSums& sums() const { return sums_; }
  // In order of class, each once.
  [[nodiscard]] std::span<const ClassSums> classes() const { return classes_; }
  [[nodiscard]] const RateSamples& samples() const { return samples_; }
  // On the heap.
  [[nodiscard]] size_t Bytes() const {
    return classes_.capacity() * sizeof(ClassSums) + samples_.Bytes();
  }
  // The model of all hosts, whose sums these are, and that of one.
  [[nodiscard]] SiteModel FitAll(const std::vector<RateSample>& samples, const AgeCurve& curve,
                                 const LifeModel& life = {}) const;
  [[nodiscard]] SiteModel FitHost(const SiteModel& all, const AgeCurve& curve,
                                  const LifeModel& life = {}) const;

 private:
  ClassSums& SumsOf(SourceClass source_class);
  // Changes in crawled intervals; `untold` is the share that nobody tells of.
  [[nodiscard]] double Changes(double untold) const { return sums_.told + untold * sums_.expected; }
  // That share, drawn to `base` with the weight of `strength` changes.
  [[nodiscard]] double Untold(double base, double strength) const;

  std::vector<ClassSums> classes_;  // in order of class
  PageSums sums_;
  RateSamples samples_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_SITE_LEARNER_H_
