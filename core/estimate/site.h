// The model of a site: the spread of its pages' change rates, the recall and the false signals of
// each source, and the clustering of events. Most real pages are seen only a few times, so nearly
// all knowledge about a page comes from this model (docs/model.md, "The default estimator").
//
// The method is parametric empirical Bayes (Robbins 1956; Efron and Morris 1973; for this
// Gamma-Poisson form Gelman et al., "Bayesian Data Analysis", section 2.7). A page has a change
// rate Delta and, for each class k of signals, a rate nu_k of false signals. Both are drawn from
// gamma distributions that belong to the site. The recall lambda_k is the same for all pages of the
// site. Precision is not pooled. It is lambda_k Delta/(lambda_k Delta + nu_k), which differs
// between pages by factors of a hundred if a source signals all pages alike.
//
// Times are in operational days, and rates are per operational day.
#ifndef FRESHET_CORE_ESTIMATE_SITE_H_
#define FRESHET_CORE_ESTIMATE_SITE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/estimate/life.h"
#include "core/estimate/operational_time.h"
#include "core/model/signal.h"

namespace freshet {

// The gamma distribution of a rate over pages. Both numbers are finite and > 0.
// Value type, thread-compatible.
struct RatePrior {
  double mean = 0.002;
  double shape = 0.5;
};

// The parameters of one class of signals at a site. Value type, thread-compatible.
struct ClassModel {
  SourceClass source_class;
  double recall = 0.15;                    // lambda_k, in [0, 1)
  RatePrior false_rate = {.mean = 0.001};  // distribution of nu_k over pages
  // Fading evidence: signals in crawled intervals, and how many of them are believed true.
  double signals = 0;
  double truth = 0;
};

// The share of changes that no class of `classes` reports. At most one class of a source reports
// each change, and sources report independently. The share is in [kMinUnsignalled, 1], because a
// page must never seem to need no crawl.
inline constexpr double kMinUnsignalled = 0.001;
[[nodiscard]] double UnsignalledShare(std::span<const ClassModel> classes);

// The current model of one site. Value type, thread-compatible.
class SiteModel {
 public:
  SiteModel() = default;
  // `classes` must be in order of source_class, each once.
  SiteModel(const RatePrior& prior, const AgeCurve& curve, const LifeModel& life,
            std::vector<ClassModel> classes);

  [[nodiscard]] const RatePrior& prior() const { return prior_; }
  [[nodiscard]] const AgeCurve& curve() const { return curve_; }
  [[nodiscard]] const LifeModel& life() const { return life_; }
  // The models of all classes that have signalled pages of the site.
  [[nodiscard]] std::span<const ClassModel> classes() const { return classes_; }
  // nullptr = the class never signalled the site.
  [[nodiscard]] const ClassModel* Find(SourceClass source_class) const;
  // Share of changes that no class signals.
  [[nodiscard]] double unsignalled() const { return unsignalled_; }
  // Bytes on the heap.
  [[nodiscard]] size_t Bytes() const { return classes_.capacity() * sizeof(ClassModel); }
  // The sum of the recalls: the number of true signals per change.
  [[nodiscard]] double told() const { return told_; }

 private:
  RatePrior prior_;
  AgeCurve curve_;
  LifeModel life_;
  std::vector<ClassModel> classes_;
  double unsignalled_ = 1;
  double told_ = 0;
};

// Returns true if pages that were estimated by the model `was` must be estimated again by the model
// `is`, because some number differs between the two models by more than 2%. Smaller differences do
// not matter: they change the rate of a page by at most a few times 2%, which is less than the
// uncertainty of the rate.
[[nodiscard]] bool MovedNotably(const SiteModel& was, const SiteModel& is);

// Fading counts of the events and crawls of a site, from which its age curve and its life model are
// learned. Value type, thread-compatible.
struct SiteCounts {
  AgeCounts ages;
  LifeCounts lives;

  void Add(const SiteCounts& other) {
    ages.Add(other.ages);
    lives.Add(other.lives);
  }
  void Fade(double factor) {
    ages.Fade(factor);
    lives.Fade(factor);
  }
};

// SerialiseSite writes a model and its counts as one line of text without a line end, and ParseSite
// reads it. `host` is empty for the model of all hosts. For other text, ParseSite returns
// InvalidArgument and changes nothing.
[[nodiscard]] std::string SerialiseSite(const std::string& host, const SiteModel& site,
                                        const SiteCounts& counts);
[[nodiscard]] Status ParseSite(std::string_view line, std::string* host, SiteModel* site,
                               SiteCounts* counts);

// These write and read the counts of a slot. A slot line is never a valid site line.
[[nodiscard]] std::string SerialiseSlot(Slot slot, const SiteCounts& counts);
[[nodiscard]] bool IsSlotLine(std::string_view line);
[[nodiscard]] Status ParseSlot(std::string_view line, Slot* slot, SiteCounts* counts);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_SITE_H_
