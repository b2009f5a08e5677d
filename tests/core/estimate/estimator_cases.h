// The cases of tests/vectors/estimators.json: observations and the expected estimates.
#ifndef FRESHET_TESTS_CORE_ESTIMATE_ESTIMATOR_CASES_H_
#define FRESHET_TESTS_CORE_ESTIMATE_ESTIMATOR_CASES_H_

#include <cmath>
#include <fstream>
#include <string>

#include "core/estimate/observation.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace freshet {

using nlohmann::json;

inline const json& Cases() {
  static const json kCases = [] {
    std::ifstream in(FRESHET_SOURCE_DIR "/tests/vectors/estimators.json");
    return json::parse(in).at("cases");
  }();
  return kCases;
}

inline Observations Load(const json& c) {
  Observations observations(1);
  for (size_t i = 0; i < c["tau"].size(); ++i) {
    const double n = c["n"][i];
    EXPECT_TRUE(observations.Add(c["tau"][i], {&n, 1}, c["z"][i] == 1).ok());
  }
  return observations;
}

// Relative tolerance 1e-8 (as the vectors state), or absolute 1e-10 if the value is 0.
inline void ExpectNear(double actual, const json& expected, const json& c,
                       double tolerance = 1e-8) {
  ASSERT_FALSE(expected.is_null()) << "case " << c["id"];
  const double value = expected;
  EXPECT_NEAR(actual, value, value == 0 ? 1e-10 : tolerance * std::abs(value))
      << "case " << c["id"];
}

}  // namespace freshet

#endif  // FRESHET_TESTS_CORE_ESTIMATE_ESTIMATOR_CASES_H_
