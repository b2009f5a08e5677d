// Observations of a page that sends no signals, for tests of estimators.
#ifndef FRESHET_TESTS_CORE_ESTIMATE_WITHOUT_SIGNALS_H_
#define FRESHET_TESTS_CORE_ESTIMATE_WITHOUT_SIGNALS_H_

#include <utility>
#include <vector>

#include "core/estimate/observation.h"
#include "gtest/gtest.h"

namespace freshet {

// Each item is the time since the last crawl, and whether the page had changed.
inline Observations WithoutSignals(const std::vector<std::pair<double, bool>>& items) {
  Observations observations(0);
  for (const auto& [elapsed, changed] : items) {
    EXPECT_TRUE(observations.Add(elapsed, {}, changed).ok());
  }
  return observations;
}

}  // namespace freshet

#endif  // FRESHET_TESTS_CORE_ESTIMATE_WITHOUT_SIGNALS_H_
