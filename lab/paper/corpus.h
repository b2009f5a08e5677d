// Generates the pages of the experiments, with the distributions that the papers report for their
// own pages, which are not public.
#ifndef FRESHET_LAB_PAPER_CORPUS_H_
#define FRESHET_LAB_PAPER_CORPUS_H_

#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "core/model/crawl_value.h"

namespace freshet {

enum class CorpusSignals : uint8_t {
  kComplete,  // only complete signals
  kNoisy,     // complete and noisy signals
};

// Draws pages independently, with a day as the unit of time:
//   importance    log-normal, median 50, sigma 1.5, within 1 .. 100,000: 97.7% are below 1,000
//   change rate   log-normal, median once in four days, sigma 1, within 0.01 .. 10
//   signals       4% of the pages have complete signals (recall 1, none false). With kNoisy, half
//                 of the other pages have noisy signals: recall uniform on (0, 1), precision
//                 uniform on (0.1, 1). All remaining pages have no signals.
// Precondition: pages >= 1.
[[nodiscard]] std::vector<PaperRates> DrawCorpus(int pages, CorpusSignals signals, Random random);

// Returns nu for a source of this precision: the rate of false signals that come in addition to
// `recall` x `change_rate` true ones. Precondition: precision > 0.
[[nodiscard]] inline double FalseSignalRate(double change_rate, double recall, double precision) {
  return recall * change_rate * (1 / precision - 1);
}

}  // namespace freshet

#endif  // FRESHET_LAB_PAPER_CORPUS_H_
