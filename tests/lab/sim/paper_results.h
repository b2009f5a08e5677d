// Reads values from results of the papers' experiments, for tests.
#ifndef FRESHET_TESTS_LAB_SIM_PAPER_RESULTS_H_
#define FRESHET_TESTS_LAB_SIM_PAPER_RESULTS_H_

#include <cmath>
#include <string>

#include "gtest/gtest.h"
#include "lab/paper/paper.h"

namespace freshet {

inline PaperResult PlayExperiment(const std::string& name, const PaperOptions& options) {
  StatusOr<PaperResult> result = PlayPaper(name, options, [](const PaperProgress&) {});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : PaperResult{};
}

inline const PaperPoint& PointOf(const PaperResult& result, const std::string& series, double x) {
  for (const PaperSeries& one : result.series) {
    if (one.name != series) continue;
    for (size_t i = 0; i < result.x.size(); ++i) {
      if (std::abs(result.x[i] - x) < 1e-9) return one.points[i];
    }
  }
  ADD_FAILURE() << series << " at " << x << ": not in " << result.name;
  static const PaperPoint kNothing;
  return kNothing;
}

inline double MeanAt(const PaperResult& result, const std::string& series, double x) {
  return PointOf(result, series, x).value.mean;
}

}  // namespace freshet

#endif  // FRESHET_TESTS_LAB_SIM_PAPER_RESULTS_H_
