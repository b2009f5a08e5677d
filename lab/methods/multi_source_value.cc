#include "lab/methods/multi_source_value.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/model/gamma.h"
#include "core/model/ncis_value.h"
#include "core/model/signal_term.h"

namespace freshet {
namespace {

constexpr double kTruncation = 1e-13;

// Returns the sources that affect s. Sources of equal weight are merged. The heaviest come first,
// which keeps the search shallow.
std::vector<SourceRates> UsefulSources(std::vector<SourceRates> sources) {
  std::sort(sources.begin(), sources.end(), [](const SourceRates& a, const SourceRates& b) {
    return a.signal_weight > b.signal_weight;
  });
  std::vector<SourceRates> useful;
  for (const SourceRates& source : sources) {
    if (source.signal_rate == 0 || source.signal_weight == 0) continue;
    if (!useful.empty() && useful.back().signal_weight == source.signal_weight) {
      useful.back().signal_rate += source.signal_rate;
    } else {
      useful.push_back(source);
    }
  }
  return useful;
}

// Returns the largest number of signals |n| that matters (truncation of EvaluateMultiSource).
double LargestCount(const SignalOdds& odds, double s, int terms) {
  const double last = terms == kAllTerms ? HUGE_VAL : terms - 1.0;
  const double x = odds.odds * s;
  if (std::isinf(x)) return last;
  const SignalTerm first = EvaluateSignalTerm(odds, 0, s);
  const double enough = kTruncation * std::min(first.reached, first.fresh / -std::expm1(-s));
  double m = std::floor(x);
  const double stride = std::max(1.0, std::floor(std::sqrt(x)));
  // For j > m >= x each term is at most x/(j + 2) times the one before, so a geometric series
  // bounds their sum.
  while (m < last && RegularizedR(m + 1, x) / (1 - x / (m + 3)) > enough) m += stride;
  return std::min(m, last);
}

// Walks all count vectors depth first, one source after the other.
class VectorSum {
 public:
  VectorSum(const std::vector<SourceRates>& sources, double total_rate, const SignalOdds& odds,
            double s, double largest)
      : sources_(sources), total_rate_(total_rate), odds_(odds), s_(s), largest_(largest) {}

  // Sums over all vectors. Returns false if there are too many. Counts them first, which takes a
  // tenth of the time of the sum.
  bool Run() {
    if (!Visit(0, 0, 0, 1)) return false;
    counting_ = false;
    return Visit(0, 0, 0, 1);
  }

  [[nodiscard]] double fresh() const { return fresh_; }
  [[nodiscard]] double reached() const { return reached_; }
  [[nodiscard]] size_t vectors() const { return vectors_; }

 private:
  // Visits all count vectors whose first `source` counts are fixed. These counts sum to `count`,
  // weigh `weight` together, and have the multinomial probability `share`. Returns false if there
  // are too many vectors.
  bool Visit(size_t source, double count, double weight, double share) {
    if (source == sources_.size()) return Add(count, weight, share);
    const SourceRates& rates = sources_[source];
    for (double n = 0; count + n <= largest_; ++n) {
      if (n > 0) {
        share *= rates.signal_rate / total_rate_ * (count + n) / n;
        weight += rates.signal_weight;
        if (!(weight <= s_) || std::isinf(weight)) break;
      }
      if (!Visit(source + 1, count + n, weight, share)) return false;
    }
    return true;
  }

  bool Add(double count, double weight, double share) {
    if (counting_) return ++vectors_ <= kMaxCountVectors;
    const SignalTerm term = EvaluateSignalTerm(odds_, count, s_ - weight);
    fresh_ += share * std::exp(-weight) * term.fresh;
    reached_ += share * term.reached;
    return true;
  }

  const std::vector<SourceRates>& sources_;
  const double total_rate_;
  const SignalOdds odds_;
  const double s_;
  const double largest_;
  bool counting_ = true;
  double fresh_ = 0;
  double reached_ = 0;
  size_t vectors_ = 0;
};

// Returns the outcome of a page that has no signals, or whose signals do not matter.
MultiSourceOutcome PlainOutcome(const MultiSourcePage& page, double s) {
  PageRates rates;
  rates.unsignalled_rate = page.unsignalled_rate;
  const ThresholdOutcome threshold = EvaluateThreshold(rates, s);
  rates.change_rate = page.unsignalled_rate;
  const ValueParameters plain =
      MakeValueParameters({PolicyKind::kGreedy, 1}, page.importance, rates);
  return {.value = CrawlValue(plain, s),
          .interval = threshold.interval,
          .fresh_time = threshold.fresh_time,
          .vectors = 1};
}

}  // namespace

double MultiSourcePage::Ceiling() const {
  double rate = unsignalled_rate;
  for (const SourceRates& source : sources) {
    rate += source.signal_rate * -std::expm1(-source.signal_weight);
  }
  return rate == 0 ? 0 : importance / rate;
}

MultiSourcePage MultiSourceFromPaper(double importance, double change_rate,
                                     const std::vector<PaperSource>& sources) {
  MultiSourcePage page{importance, change_rate, {}};
  for (const PaperSource& source : sources) {
    const PageRates rates =
        RatesFromPaper({importance, change_rate, source.recall, source.false_signal_rate});
    page.unsignalled_rate *= 1 - source.recall;
    page.sources.push_back({rates.signal_rate, rates.signal_weight});
  }
  return page;
}

PageRates PooledRates(double change_rate, const std::vector<PaperSource>& sources) {
  PageRates pooled;
  pooled.change_rate = change_rate;
  pooled.unsignalled_rate = change_rate;
  double true_rate = 0;
  double false_rate = 0;
  for (const PaperSource& source : sources) {
    pooled.unsignalled_rate *= 1 - source.recall;
    true_rate += source.recall * change_rate;
    false_rate += source.false_signal_rate;
  }
  pooled.signal_rate = true_rate + false_rate;
  pooled.signal_weight = SignalWeight(true_rate, false_rate);
  pooled.staleness_rate = pooled.unsignalled_rate;
  return pooled;
}

StatusOr<MultiSourceOutcome> EvaluateMultiSource(const MultiSourcePage& page, double s, int terms) {
  CHECK(s >= 0 && (std::isfinite(s) || terms != kAllTerms), "s = {}", s);
  const std::vector<SourceRates> sources = UsefulSources(page.sources);
  double gamma = 0;
  for (const SourceRates& source : sources) gamma += source.signal_rate;
  if (s == 0 || page.Ceiling() == 0) return MultiSourceOutcome{};
  if (gamma <= 1e-18 * page.unsignalled_rate) return PlainOutcome(page, s);
  const double total = page.unsignalled_rate + gamma;
  const SignalOdds odds{gamma / page.unsignalled_rate, gamma / total,
                        page.unsignalled_rate / total};
  VectorSum sum(sources, gamma, odds, s, LargestCount(odds, s, terms));
  if (!sum.Run()) {
    if (terms == kAllTerms) return EvaluateMultiSourceOnGrid(page, s);
    return MakeStatus(absl::StatusCode::kOutOfRange,
                      "the value of a page with {} sources at staleness {} cannot be computed: "
                      "there are more than {} combinations of signal counts",
                      sources.size(), s, kMaxCountVectors);
  }
  MultiSourceOutcome outcome;
  outcome.value = page.importance / gamma * sum.fresh();
  outcome.interval = sum.reached() / gamma;
  outcome.fresh_time = sum.fresh() / gamma + std::exp(-s) * outcome.interval;
  outcome.vectors = sum.vectors();
  return outcome;
}

StatusOr<double> MultiSourceValue(const MultiSourcePage& page, double s, int terms) {
  if (terms == kAllTerms && s >= kSaturatedStaleness) return page.Ceiling();
  ASSIGN_OR_RETURN(const MultiSourceOutcome outcome, EvaluateMultiSource(page, s, terms));
  return outcome.value;
}

}  // namespace freshet
