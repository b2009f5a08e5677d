#include "lab/paper/corpus.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "lab/sim/log_normal.h"

namespace freshet {
namespace {

constexpr double kCompleteShare = 0.04;
constexpr double kNoisyShare = 0.5;  // of the pages without complete signals

}  // namespace

std::vector<PaperRates> DrawCorpus(int pages, CorpusSignals signals, Random random) {
  CHECK(pages >= 1, "{} pages", pages);
  std::vector<PaperRates> drawn(static_cast<size_t>(pages));
  for (PaperRates& page : drawn) {
    page.importance = std::clamp(50 * LogNormal(random, 1.5), 1.0, 1e5);
    page.change_rate = std::clamp(0.25 * LogNormal(random, 1), 0.01, 10.0);
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
