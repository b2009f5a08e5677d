// Learns the model of a site from its pages in one epoch.
//
// Partial pooling over the tree defaults -> all hosts -> host -> page (Gelman and Hill 2006). The
// model of a host is drawn towards that of all hosts, with the weight of about ten changes. The
// model of all hosts for a class of signals is drawn towards the defaults, with the weight of three
// changes. A host with one page therefore has nearly the model of all hosts, and a host with ten
// thousand pages nearly its own model. Nothing in between needs tuning.
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

inline constexpr double kMaxShape = 50;  // above this, rates are almost equal
// The gamma prior that maximises the negative binomial likelihood
//   sum_i ln [Gamma(a + c_i)/Gamma(a) (b/(b + x_i))^a (x_i/(b + x_i))^c_i],  a = shape, b = a/mean,
// plus the weak information of one page with the rate of `base`. Samples without exposure are
// ignored. If no sample has exposure, the result is `base`. If no sample has a change, the mean
// falls towards zero, as it should. The shape is at most `max_shape`. O(samples), with about 100
// evaluations per sample.
[[nodiscard]] RatePrior FitRatePrior(const std::vector<RateSample>& samples, const RatePrior& base,
                                     double max_shape = kMaxShape);
// FitRatePrior with the shape of `base`, and with `pages` added pages that have exactly the mean of
// `base`.
[[nodiscard]] RatePrior FitRateMean(const std::vector<RateSample>& samples, const RatePrior& base,
                                    double pages);

// Sums over the pages of one site in one epoch. Bounded: keeps a sample of at most `max_samples`
// pages for the rate prior. Value type, thread-compatible.
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
    // `pages`: the number of pages. Each page's false rate is taken as a multiple of its site's
    // mean. `ratio` and `log_ratio`: the sums of these multiples and of their logarithms.
    double pages = 0;
    double ratio = 0;
    double log_ratio = 0;
    bool seen = false;  // the class has signalled some page, at least recently
    // Cache: the digamma of the shape that all pages without signals of the class share.
    double unseen_shape = 0;
    double unseen_digamma = 0;

    void Add(const ClassSums& other);
  };

  explicit SiteLearner(size_t max_samples) : samples_(max_samples) {}

  // Removes all sums, but keeps the memory of samples for the next epoch, because freeing it for
  // thousands of sites takes a long time.
  void Clear();
  // Adds a page. A page with a known rate adds nothing to the samples of rates. A page with
  // complete signals adds only its rate, and nothing about sources.
  void Add(const PagePosterior& page, PageNumber number);
  // Adds the sums of a whole host to these sums over several hosts.
  void AddHost(const SiteLearner& host);
  // Adds the sums over several hosts. Neither AddSums nor AddHost adds samples, because EpochSums
  // has its own.
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
  // FitAll: the model of all hosts, from the sums over all hosts. FitHost: the model of one host,
  // from its own sums.
  [[nodiscard]] SiteModel FitAll(const std::vector<RateSample>& samples, const AgeCurve& curve,
                                 const LifeModel& life = {}) const;
  [[nodiscard]] SiteModel FitHost(const SiteModel& all, const AgeCurve& curve,
                                  const LifeModel& life = {}) const;

 private:
  ClassSums& SumsOf(SourceClass source_class);
  // The number of changes in crawled intervals. `untold` is the share that no source signals.
  [[nodiscard]] double Changes(double untold) const { return sums_.told + untold * sums_.expected; }
  // The silent share, drawn towards `base` with the weight of `strength` changes.
  [[nodiscard]] double Untold(double base, double strength) const;

  std::vector<ClassSums> classes_;  // sorted by class
  PageSums sums_;
  RateSamples samples_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_SITE_LEARNER_H_
