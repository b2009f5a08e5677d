#include "tools/sim/paper/corpus.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr double kCompleteShare = 0.04;
constexpr double kNoisyShare = 0.5;  // of the others

// By Box and Muller, one of the two.
double LogNormal(double median, double sigma, Random& random) {
  const double radius = std::sqrt(-2 * std::log1p(-random.Uniform()));
  return median * std::exp(sigma * radius * std::cos(2 * std::numbers::pi * random.Uniform()));
}

}  // namespace

std::vector<PaperRates> DrawCorpus(int pages, CorpusSignals signals, Random random) {
  CHECK(pages >= 1, "{} pages", pages);
  std::vector<PaperRates> drawn(static_cast<size_t>(pages));
  for (PaperRates& page : drawn) {
    page.importance = std::clamp(LogNormal(50, 1.5, random), 1.0, 1e5);
    page.change_rate = std::clamp(LogNormal(0.25, 1, random), 0.01, 10.0);
    const double kind = random.Uniform();
    const double recall = random.Uniform();
    const double precision = random.Uniform(0.1, 1);
    if (kind < kCompleteShare) {
      page.recall = 1;
    } else if (signals == CorpusSignals::kNoisy &&
               kind < kCompleteShare + (1 - kCompleteShare) * kNoisyShare) {
      page.recall = recall;
      page.false_signal_rate = FalseSignalRate(page.change_rate, recall, precision);
    }
  }
  return drawn;
}

}  // namespace freshet
