// Learns the model of a site from its pages in one epoch.
//
// Partial pooling over the tree defaults -> all hosts -> host -> page (Gelman and Hill 2006): the
// model of a host is drawn to that of all hosts, with the weight of some ten changes; the model of
// all hosts for a class of signals to defaults, with the weight of three. So a host of one page has
// nearly the model of all, a host of ten thousand pages nearly its own, and nothing needs tuning
// between.
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
// FitRatePrior with the shape of `base`, and with `pages` pages of exactly the mean of `base`
// added.
[[nodiscard]] RatePrior FitRateMean(const std::vector<RateSample>& samples, const RatePrior& base,
                                    double pages);

// Sums over the pages of one site in one epoch. Value type, thread-compatible. Bounded: keeps a
// sample of at most `max_samples` pages for the rate prior.
class SiteLearner {
 public:
  // Sums over all classes together.
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
    bool seen = false;  // the class has signalled a page, now or lately
    // Digamma of the shape that pages without signals of the class have in common, for speed.
    double unseen_shape = 0;
    double unseen_digamma = 0;

    void Add(const ClassSums& other);
  };

  explicit SiteLearner(size_t max_samples) : samples_(max_samples) {}

  // Drops all sums, and keeps the memory of samples for the next epoch: freeing it for thousands of
  // sites takes a while.
  void Clear();
  // Adds a page. Pages of known rate or with complete signals teach the rest of the model.
  void Add(const PagePosterior& page, PageNumber number);
  // Adds the sums of a whole host to these sums of several hosts.
  void AddHost(const SiteLearner& host);
  // Adds the sums of several hosts. Neither this nor AddHost adds samples: EpochSums has its own.
  void AddSums(const SiteLearner& hosts);
  void AddSums(const PageSums& hosts) { sums_.Add(hosts); }
  void AddSums(const ClassSums& hosts) { SumsOf(hosts.source_class).Add(hosts); }

  [[nodiscard]] uint64_t pages() const { return sums_.pages; }
  [[nodiscard]] const PageSums& sums() const { return sums_; }
  // The sums in order of class, each once.
  [[nodiscard]] std::span<const ClassSums> classes() const { return classes_; }
  [[nodiscard]] const RateSamples& samples() const { return samples_; }
  // Bytes on the heap.
  [[nodiscard]] size_t Bytes() const {
    return classes_.capacity() * sizeof(ClassSums) + samples_.Bytes();
  }
  // FitAll: the model of all hosts, from the sums of all. FitHost: the model of one host, from its
  // sums.
  [[nodiscard]] SiteModel FitAll(const std::vector<RateSample>& samples, const AgeCurve& curve,
                                 const LifeModel& life = {}) const;
  [[nodiscard]] SiteModel FitHost(const SiteModel& all, const AgeCurve& curve,
                                  const LifeModel& life = {}) const;

 private:
  ClassSums& SumsOf(SourceClass source_class);
  // Changes in crawled intervals; `untold` is the share that no source signals.
  [[nodiscard]] double Changes(double untold) const { return sums_.told + untold * sums_.expected; }
  // The silent share, drawn to `base` with the weight of `strength` changes.
  [[nodiscard]] double Untold(double base, double strength) const;

  std::vector<ClassSums> classes_;  // in order of class
  PageSums sums_;
  RateSamples samples_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_SITE_LEARNER_H_
