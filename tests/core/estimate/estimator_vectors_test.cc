// Tests every classic estimator with 300 histories that were solved with 40 digits
// (tests/vectors/estimators.json).
#include <cmath>
#include <string>
#include <vector>

#include "core/estimate/cho_gm.h"
#include "core/estimate/mle.h"
#include "core/estimate/signals.h"
#include "gtest/gtest.h"
#include "tests/core/estimate/estimator_cases.h"

namespace freshet {
namespace {

TEST(EstimatorVectors, AllCasesAreThere) { EXPECT_EQ(Cases().size(), 300u); }

TEST(EstimatorVectors, ChoGmAgreesWithTheReference) {
  for (const json& c : Cases()) {
    const Observations observations = Load(c);
    const json& expected = c["est"];
    const RateEstimate smoothed = EstimateChoGm(observations);
    ExpectNear(smoothed.change_rate, expected["mle_smoothed"], c, 1e-12);
    EXPECT_EQ(smoothed.status, EstimateStatus::kOk);
    const RateEstimate plain = EstimateChoGm(observations, 0);
    if (expected["mle_plain_status"] == "inf") {
      EXPECT_EQ(plain.status, EstimateStatus::kAllChanged);
      EXPECT_EQ(plain.change_rate, HUGE_VAL);
    } else {
      ExpectNear(plain.change_rate, expected["mle_plain"], c, 1e-12);
    }
  }
}

TEST(EstimatorVectors, MleAgreesWithTheReference) {
  for (const json& c : Cases()) {
    const Observations observations = Load(c);
    const json& expected = c["est"];
    const SignalEstimate estimate = EstimateMle(observations);
    EXPECT_EQ(EstimateStatusName(estimate.status), expected["ak_status"].get<std::string>())
        << "case " << c["id"];
    if (!expected["alpha"].is_null()) {
      ExpectNear(estimate.unsignalled_rate, expected["alpha"], c, 1e-10);
    }
    if (!expected["kappa"].is_null()) {
      ExpectNear(estimate.signal_weight[0], expected["kappa"], c, 1e-10);
    }
    if (expected.contains("ak_loglik") && !expected["ak_loglik"].is_null()) {
      ExpectNear(MleLogLikelihood(observations, estimate.unsignalled_rate, estimate.signal_weight),
                 expected["ak_loglik"], c, 1e-12);
    }
  }
}

TEST(EstimatorVectors, SignalQualityAgreesWithTheReference) {
  int seen = 0;
  for (const json& c : Cases()) {
    const Observations observations = Load(c);
    const json& expected = c["est"];
    const NaiveQuality naive = NaiveSignalQuality(observations, 0);
    if (!expected["naive_precision"].is_null()) {
      ExpectNear(naive.precision, expected["naive_precision"], c);
    } else {
      EXPECT_TRUE(std::isnan(naive.precision));
    }
    if (!expected["naive_recall"].is_null()) {
      ExpectNear(naive.recall, expected["naive_recall"], c);
    } else {
      EXPECT_TRUE(std::isnan(naive.recall));
    }
    if (!expected.contains("precision_hat") || expected["precision_hat"].is_null()) continue;
    ++seen;
    const SignalEstimate estimate = EstimateMle(observations);
    const double gamma = SignalRate(observations, 0);
    const SignalQuality quality =
        QualityOf(MleChangeRate(observations, estimate), gamma, estimate.signal_weight[0]);
    ExpectNear(quality.signal_rate, expected["gamma_hat"], c, 1e-12);
    ExpectNear(quality.precision, expected["precision_hat"], c);
    if (expected["recall_hat"].is_null()) {
      EXPECT_TRUE(std::isnan(quality.recall));
    } else {
      ExpectNear(quality.recall, expected["recall_hat"], c);
    }
  }
  EXPECT_GT(seen, 100);
}

}  // namespace
}  // namespace freshet
