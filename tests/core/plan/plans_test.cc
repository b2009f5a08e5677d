// Tests properties of every plan: no exchange of crawls improves an optimal plan, degenerate input
// has a defined result, and the executor does not affect the plan.
#include <algorithm>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "core/plan/binary.h"
#include "core/plan/frontera.h"
#include "core/plan/lambda_crawl.h"
#include "core/plan/lds.h"
#include "core/plan/page_pass.h"
#include "core/plan/planner.h"
#include "gtest/gtest.h"
#include "tests/core/plan/plan_columns.h"

namespace freshet {
namespace {

// Returns pages over several decades. Every fifth has complete signals. Some have no importance or
// no changes.
PlanColumns RandomPages(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  PlanColumns columns;
  for (size_t i = 0; i < size; ++i) {
    columns.importance.push_back(random() % 17 == 0 ? 0 : std::exp(2 * normal(random)));
    columns.change_rate.push_back(random() % 23 == 0 ? 0 : std::exp(2 * normal(random)));
    columns.complete.push_back(random() % 5 == 0 ? 1 : 0);
  }
  return columns;
}

// Returns the crawls of page i per unit of time.
double Crawls(const PlanPages& pages, const RatePlan& plan, size_t i) {
  const double signalled =
      plan.probability.empty() ? 0 : plan.probability[i] * pages.change_rate[i];
  return plan.rate[i] + signalled;
}

// Returns the penalty of a page with `crawls` under the method's objective. Lower is better.
double Penalty(PlanMethod method, const PlanPages& pages, size_t i, double crawls) {
  const double mu = pages.importance[i];
  const double delta = pages.change_rate[i];
  if (mu == 0 || delta == 0) return 0;
  switch (method) {
    case PlanMethod::kLds:
      return crawls == 0 ? 0 : -mu / delta * crawls * -std::expm1(-delta / crawls);
    case PlanMethod::kFrontera:
      return crawls == 0 ? 0 : -mu * crawls * -std::expm1(-delta / crawls);
    case PlanMethod::kBlc:
    case PlanMethod::kBlcEps:
      return mu * delta / (delta + crawls);
    case PlanMethod::kLambdaCrawl:
    case PlanMethod::kLcComplete:
      if (pages.is_complete(i)) return -mu * std::log(std::min(1.0, crawls / delta));
      return mu * std::log1p(delta / crawls);
    default:
      return mu * std::log1p(delta / crawls);
  }
}

constexpr PlanMethod kOptimal[] = {PlanMethod::kLds,         PlanMethod::kFrontera,
                                   PlanMethod::kBlc,         PlanMethod::kBlcEps,
                                   PlanMethod::kLambdaCrawl, PlanMethod::kLcIncomplete};

TEST(Plans, NoExchangeBetweenTwoPagesImprovesAnOptimalPlan) {
  const PlanColumns columns = RandomPages(200, 1);
  const PlanPages pages = columns.pages();
  std::mt19937_64 random(2);
  for (const PlanMethod method : kOptimal) {
    for (const double crawl_rate : {0.01, 3.0, 100.0, 5000.0}) {
      const StatusOr<RatePlan> plan = MakePlan(method, pages, crawl_rate);
      ASSERT_TRUE(plan.ok());
      EXPECT_LT(plan->kkt_residual, 1e-10) << PlanMethodName(method) << " " << crawl_rate;
      EXPECT_NEAR(plan->used / crawl_rate, 1, 1e-12);
      const double floor = method == PlanMethod::kBlcEps ? 0.4 * crawl_rate / 200 : 0;
      for (int trial = 0; trial < 5000; ++trial) {
        const size_t from = random() % 200;
        const size_t to = random() % 200;
        const double spare = Crawls(pages, *plan, from) - floor;
        if (from == to || !(spare > 0)) continue;
        const double moved =
            spare * std::pow(10, -std::uniform_real_distribution<double>(0, 6)(random));
        const double before = Penalty(method, pages, from, Crawls(pages, *plan, from)) +
                              Penalty(method, pages, to, Crawls(pages, *plan, to));
        const double after = Penalty(method, pages, from, Crawls(pages, *plan, from) - moved) +
                             Penalty(method, pages, to, Crawls(pages, *plan, to) + moved);
        EXPECT_GE(after, before - 1e-12 * std::abs(before))
            << PlanMethodName(method) << " " << from << " -> " << to;
      }
    }
  }
}

TEST(Plans, SolvesCrawlRatesOverTwentyDecades) {
  const PlanColumns columns = RandomPages(500, 3);
  for (const PlanMethod method : AllPlanMethods()) {
    for (double crawl_rate = 1e-10; crawl_rate < 1e11; crawl_rate *= 7) {
      const StatusOr<RatePlan> plan = MakePlan(method, columns.pages(), crawl_rate);
      ASSERT_TRUE(plan.ok());
      double total = 0;
      for (size_t i = 0; i < 500; ++i) {
        const double crawls = Crawls(columns.pages(), *plan, i);
        ASSERT_TRUE(std::isfinite(crawls) && crawls >= 0) << PlanMethodName(method);
        total += crawls;
      }
      EXPECT_NEAR(total / plan->used, 1, 1e-12);
      if (method == PlanMethod::kLcComplete && plan->price == 0) {
        EXPECT_LT(plan->used, crawl_rate);
      } else {
        EXPECT_NEAR(total / crawl_rate, 1, 1e-11) << PlanMethodName(method) << " " << crawl_rate;
      }
    }
  }
}

// There are few pages, so that often all pages of a group have no importance or never change.
TEST(Plans, NeverUseMoreThanTheirRate) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> decades(-1, 1);
  const auto number = [&](double widest) {
    return random() % 3 == 0 ? 0 : std::pow(10, widest * decades(random));
  };
  for (int trial = 0; trial < 3000; ++trial) {
    PlanColumns columns;
    const double widest = trial % 2 == 0 ? 3 : 60;
    const size_t size = 1 + random() % 5;
    for (size_t i = 0; i < size; ++i) {
      columns.importance.push_back(number(widest));
      columns.change_rate.push_back(number(widest));
      columns.complete.push_back(random() % 2 == 0 ? 1 : 0);
    }
    const double crawl_rate = number(widest);
    for (const PlanMethod method : AllPlanMethods()) {
      const StatusOr<RatePlan> plan = MakePlan(method, columns.pages(), crawl_rate);
      ASSERT_TRUE(plan.ok());
      double total = 0;
      for (size_t i = 0; i < size; ++i) {
        const double crawls = Crawls(columns.pages(), *plan, i);
        ASSERT_GE(crawls, 0) << PlanMethodName(method) << " in trial " << trial;
        total += crawls;
      }
      ASSERT_LE(total, crawl_rate * (1 + 1e-11)) << PlanMethodName(method) << " in trial " << trial;
      ASSERT_NEAR(plan->used, total, 1e-11 * total) << PlanMethodName(method);
    }
  }
}

TEST(Plans, ApproximateSplitLeavesPagesThatNeverChangeWhatSignalsCannotUse) {
  const PlanColumns columns{{1e-3, 5, 1}, {0, 2, 3}, {0, 1, 1}};
  const StatusOr<RatePlan> scarce = PlanLambdaCrawlApprox(columns.pages(), 0.1);
  ASSERT_TRUE(scarce.ok());
  EXPECT_EQ(scarce->rate[0], 0);
  EXPECT_EQ(scarce->probability, PlanLambdaCrawl(columns.pages(), 0.1)->probability);
  EXPECT_NEAR(scarce->used, 0.1, 1e-13);
  const StatusOr<RatePlan> plenty = PlanLambdaCrawlApprox(columns.pages(), 7);
  ASSERT_TRUE(plenty.ok());
  EXPECT_EQ(plenty->rate[0], 2);
  EXPECT_EQ(plenty->probability, (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(plenty->used, 7);
}

TEST(Plans, SumsDoNotDependOnTheExecutor) {
  const PlanColumns columns = RandomPages(200'000, 4);
  PlanOptions two;
  two.parallel = [](size_t chunks, const std::function<void(size_t)>& body) {
    std::thread odd([&] {
      for (size_t i = 1; i < chunks; i += 2) body(i);
    });
    for (size_t i = 0; i < chunks; i += 2) body(i);
    odd.join();
  };
  for (const PlanMethod method : AllPlanMethods()) {
    const StatusOr<RatePlan> serial = MakePlan(method, columns.pages(), 1e5);
    const StatusOr<RatePlan> parallel = MakePlan(method, columns.pages(), 1e5, two);
    ASSERT_TRUE(serial.ok() && parallel.ok());
    EXPECT_EQ(serial->rate, parallel->rate) << PlanMethodName(method);
    EXPECT_EQ(serial->probability, parallel->probability);
    EXPECT_EQ(
        ComputePlanCosts(columns.pages(), *serial, CrawlTimesOf(method)).accuracy,
        ComputePlanCosts(columns.pages(), *parallel, CrawlTimesOf(method), two.parallel).accuracy);
    if (method == PlanMethod::kFronteraClustered) continue;
    // The search over all pages starts from the result for a sample.
    EXPECT_LE(serial->iterations, 12) << PlanMethodName(method);
  }
}

TEST(Plans, GiveUpWhereverTheyAreToldTo) {
  // Enough pages for several passes, one of them over a sample.
  const PlanColumns columns = RandomPages(5 * kPlanChunk, 5);
  for (const PlanMethod method : AllPlanMethods()) {
    size_t looks = 0;
    size_t allowed = SIZE_MAX;
    PlanOptions options;
    options.parallel = {SerialFor, [&] { return ++looks <= allowed; }};
    ASSERT_TRUE(MakePlan(method, columns.pages(), 1000, options).ok()) << PlanMethodName(method);
    const size_t all = looks;
    for (allowed = 0; allowed < all; allowed = allowed * 3 / 2 + 1) {
      looks = 0;
      const auto plan = MakePlan(method, columns.pages(), 1000, options);
      EXPECT_TRUE(absl::IsCancelled(plan.status()))
          << PlanMethodName(method) << " at look " << allowed << " of " << all;
      EXPECT_LE(looks, allowed + 40) << PlanMethodName(method) << ": a few empty passes";
    }
  }
}

TEST(Plans, NoPageIsAnEmptyPlan) {
  for (const PlanMethod method : AllPlanMethods()) {
    for (const double crawl_rate : {0.0, 10.0}) {
      const StatusOr<RatePlan> plan = MakePlan(method, PlanPages{}, crawl_rate);
      ASSERT_TRUE(plan.ok()) << PlanMethodName(method) << plan.status();
      EXPECT_TRUE(plan->rate.empty());
      EXPECT_EQ(plan->used, 0);
      EXPECT_TRUE(std::isnan(ComputePlanCosts(PlanPages{}, *plan, CrawlTimes::kPoisson).j_b));
    }
  }
}

TEST(Plans, OnePageGetsEverything) {
  for (const PlanMethod method : AllPlanMethods()) {
    if (method == PlanMethod::kLcComplete) continue;
    for (const double crawl_rate : {1e-6, 1.0, 1e6}) {
      const PlanColumns one{{2}, {3}, {}};
      const StatusOr<RatePlan> plan = MakePlan(method, one.pages(), crawl_rate);
      ASSERT_TRUE(plan.ok());
      EXPECT_NEAR(plan->rate[0] / crawl_rate, 1, 1e-12) << PlanMethodName(method);
    }
  }
}

TEST(Plans, EqualPagesGetEqualRates) {
  for (const PlanMethod method : AllPlanMethods()) {
    if (method == PlanMethod::kLcComplete) continue;
    for (const double crawl_rate : {1e-6, 7.0, 1e6}) {
      const PlanColumns equal{std::vector<double>(7, 0.3), std::vector<double>(7, 0.2), {}};
      const StatusOr<RatePlan> plan = MakePlan(method, equal.pages(), crawl_rate);
      ASSERT_TRUE(plan.ok());
      for (const double rate : plan->rate) {
        EXPECT_NEAR(rate * 7 / crawl_rate, 1, 1e-11) << PlanMethodName(method);
      }
    }
  }
}

TEST(Plans, RateZeroCrawlsNothingAtTheHighestPrice) {
  const PlanColumns columns{{2, 3, 0}, {4, 1, 1}, {0, 1, 0}};
  const std::vector<std::pair<PlanMethod, double>> prices = {
      {PlanMethod::kLds, 3},
      {PlanMethod::kBlc, 3},
      {PlanMethod::kBlcEps, 3},
      {PlanMethod::kFrontera, 3},
      {PlanMethod::kLambdaCrawl, HUGE_VAL},
      {PlanMethod::kLcIncomplete, HUGE_VAL},
      {PlanMethod::kLcComplete, HUGE_VAL},
      {PlanMethod::kLambdaCrawlApprox, HUGE_VAL},
  };
  for (const auto& [method, price] : prices) {
    const StatusOr<RatePlan> plan = MakePlan(method, columns.pages(), 0);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->price, price) << PlanMethodName(method);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(Crawls(columns.pages(), *plan, i), 0);
    const PlanCosts costs = ComputePlanCosts(columns.pages(), *plan, CrawlTimesOf(method));
    EXPECT_EQ(costs.j_h, HUGE_VAL);
    EXPECT_EQ(costs.j_b, 5.0 / 3);
    EXPECT_EQ(costs.accuracy, 0);
  }
}

TEST(Plans, PagesWithoutUseGetNothing) {
  const PlanColumns columns{{0, 5, 0}, {3, 0, 0}, {}};
  for (const PlanMethod method :
       {PlanMethod::kLds, PlanMethod::kBlc, PlanMethod::kFrontera, PlanMethod::kFronteraClustered,
        PlanMethod::kLambdaCrawl, PlanMethod::kLcIncomplete}) {
    const StatusOr<RatePlan> plan = MakePlan(method, columns.pages(), 10);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->used, 0) << PlanMethodName(method);
    EXPECT_EQ(plan->price, 0);
    const PlanCosts costs = ComputePlanCosts(columns.pages(), *plan, CrawlTimesOf(method));
    EXPECT_EQ(costs.j_h, 0);
    EXPECT_EQ(costs.accuracy, 1);
  }
  // A plan by importance needs no change rate, and a plan by change rate no importance.
  EXPECT_EQ(PlanLambdaCrawlApprox(columns.pages(), 10)->rate[1], 10);
  EXPECT_EQ(PlanChangeRate(columns.pages(), 10)->rate[0], 10);
  const PlanColumns still{{1, 1}, {0, 0}, {}};
  EXPECT_EQ(PlanChangeRate(still.pages(), 10)->used, 0);
}

TEST(Plans, RateAboveAllChangesSaturatesSignalsAndPollsTheRest) {
  const PlanColumns only_signals{{1, 2}, {3, 4}, {1, 1}};
  const StatusOr<RatePlan> saturated = PlanLambdaCrawl(only_signals.pages(), 100);
  ASSERT_TRUE(saturated.ok());
  EXPECT_EQ(saturated->probability, (std::vector<double>{1, 1}));
  EXPECT_EQ(saturated->used, 7);
  EXPECT_EQ(saturated->price, 0);
  const PlanCosts costs = ComputePlanCosts(only_signals.pages(), *saturated, CrawlTimes::kPoisson);
  EXPECT_EQ(costs.j_h, 0);
  EXPECT_EQ(costs.accuracy, 1);

  const PlanColumns mixed{{1, 2, 1}, {3, 4, 5}, {1, 1, 0}};
  for (const PlanMethod method : {PlanMethod::kLambdaCrawl, PlanMethod::kLambdaCrawlApprox}) {
    const StatusOr<RatePlan> plan = MakePlan(method, mixed.pages(), 1000);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->probability, (std::vector<double>{1, 1, 0}));
    EXPECT_NEAR(plan->rate[2], 993, 1e-9);
  }
}

// If there are many pages, the search begins with a sample. If all pages of the sample have
// complete signals, the sample cannot use more crawls than its pages have changes. Previously, this
// ended the process.
TEST(Plans, ASampleThatCannotUseItsPartOfTheRateIsNoFault) {
  constexpr size_t kPages = 140'000;
  PlanColumns columns{std::vector<double>(kPages, 1), std::vector<double>(kPages, 0.01),
                      std::vector<uint8_t>(kPages, 1)};
  columns.complete[1] = 0;  // the sample has the pages with even numbers
  const double rate = 0.01 * kPages + 1000;
  for (const PlanMethod method : {PlanMethod::kLambdaCrawl, PlanMethod::kLambdaCrawlApprox}) {
    const StatusOr<RatePlan> plan = MakePlan(method, columns.pages(), rate);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_NEAR(plan->used, rate, 1e-6 * rate);
  }
  // Now no page is polled. The sample uses less than half of the rate, so the other half of the
  // pages must use more than half of it.
  columns.complete[1] = 1;
  for (size_t i = 1; i < kPages; i += 2) columns.change_rate[i] = 0.02;
  const StatusOr<RatePlan> plan = MakePlan(PlanMethod::kLcComplete, columns.pages(), 2000);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_NEAR(plan->used, 2000, 1e-6);
}

TEST(Plans, ChangelessPagesWithCompleteSignalsAreFree) {
  const PlanColumns columns{{1, 0, 1}, {0, 0, 2}, {1, 1, 1}};
  const StatusOr<RatePlan> plan = PlanLambdaCrawl(columns.pages(), 1);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->probability[0], 1);
  EXPECT_EQ(plan->probability[1], 0);
  EXPECT_NEAR(plan->probability[2], 0.5, 1e-13);
}

TEST(Plans, ApproximateSplitIsTheBestOne) {
  const PlanColumns columns = RandomPages(300, 5);
  const PlanPages pages = columns.pages();
  const double crawl_rate = 60;
  const StatusOr<RatePlan> plan = PlanLambdaCrawlApprox(pages, crawl_rate);
  ASSERT_TRUE(plan.ok());
  const double best = ComputePlanCosts(pages, *plan, CrawlTimes::kPoisson).j_h;
  double polled = 0;
  for (const double rate : plan->rate) polled += rate;
  for (const double factor : {0.9, 0.999, 1.001, 1.1}) {
    // The rate is split differently: rates of polled pages are scaled, and those of signalled pages
    // are computed again.
    PlanColumns signalled = columns;
    for (size_t i = 0; i < 300; ++i) {
      if (columns.complete[i] == 0) signalled.importance[i] = 0;
    }
    StatusOr<RatePlan> other =
        PlanLambdaCrawlComplete(signalled.pages(), crawl_rate - factor * polled);
    ASSERT_TRUE(other.ok());
    for (size_t i = 0; i < 300; ++i) other->rate[i] = factor * plan->rate[i];
    EXPECT_GT(ComputePlanCosts(pages, *other, CrawlTimes::kPoisson).j_h, best) << factor;
  }
}

TEST(Plans, FloorOfOneIsUniformAndOfZeroIsPlainBlc) {
  const PlanColumns columns = RandomPages(100, 6);
  const StatusOr<RatePlan> uniform = PlanUniform(columns.pages(), 30);
  const StatusOr<RatePlan> one = PlanBlcWithFloor(columns.pages(), 30, 1);
  const StatusOr<RatePlan> zero = PlanBlcWithFloor(columns.pages(), 30, 0);
  EXPECT_EQ(one->rate, uniform->rate);
  EXPECT_EQ(zero->rate, PlanBlc(columns.pages(), 30)->rate);
  const StatusOr<RatePlan> floor = PlanBlcWithFloor(columns.pages(), 30, 0.3);
  EXPECT_GE(*std::min_element(floor->rate.begin(), floor->rate.end()), 0.3 * 30 / 100);
  EXPECT_FALSE(PlanBlcWithFloor(columns.pages(), 30, 1.5).ok());
  EXPECT_FALSE(PlanBlcWithFloor(columns.pages(), 30, NAN).ok());
}

TEST(Plans, RefusesBadInputNamingThePage) {
  const auto message = [](const PlanColumns& columns, double crawl_rate) {
    const StatusOr<RatePlan> plan = PlanLds(columns.pages(), crawl_rate);
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(plan.status().message());
  };
  EXPECT_NE(message({{1, -1}, {1, 1}, {}}, 1).find("page 1"), std::string::npos);
  EXPECT_NE(message({{1, 1}, {NAN, 1}, {}}, 1).find("page 0"), std::string::npos);
  EXPECT_NE(message({{1, 1e61}, {1, 1}, {}}, 1).find("page 1"), std::string::npos);
  EXPECT_NE(message({{1, 1}, {1, 1e-61}, {}}, 1).find("page 1"), std::string::npos);
  EXPECT_NE(message({{1, 1}, {1, 1}, {0, 2}}, 1).find("page 1"), std::string::npos);
  EXPECT_NE(message({{1, 1}, {1}, {}}, 1).find("change rates"), std::string::npos);
  EXPECT_NE(message({{1}, {1}, {}}, -1).find("crawl rate"), std::string::npos);
  EXPECT_NE(message({{1}, {1}, {}}, NAN).find("crawl rate"), std::string::npos);
  EXPECT_NE(message({{1}, {1}, {}}, HUGE_VAL).find("crawl rate"), std::string::npos);
}

TEST(Plans, ExtremesOfTheAllowedRangeAreSolved) {
  const PlanColumns columns{{1e-60, 1e60, 1, 1e60}, {1e-60, 1e60, 1, 1e-60}, {0, 1, 0, 0}};
  for (const PlanMethod method : AllPlanMethods()) {
    for (const double crawl_rate : {1e-60, 1.0, 1e60}) {
      const StatusOr<RatePlan> plan = MakePlan(method, columns.pages(), crawl_rate);
      ASSERT_TRUE(plan.ok());
      for (const double rate : plan->rate) EXPECT_TRUE(std::isfinite(rate));
      EXPECT_LE(plan->used, crawl_rate * (1 + 1e-9)) << PlanMethodName(method);
    }
  }
}

TEST(Frontera, ClustersLoseLittleAndNothingWhenWeightsAreFew) {
  PlanColumns columns = RandomPages(20'000, 7);
  const PlanPages pages = columns.pages();
  const StatusOr<RatePlan> exact = PlanFrontera(pages, 3000);
  const double best = FronteraValue(pages, *exact);
  double loss_before = 1;
  for (const size_t clusters : {10, 100, 1000}) {
    const StatusOr<RatePlan> clustered = PlanFronteraClustered(pages, 3000, clusters);
    EXPECT_NEAR(clustered->used / 3000, 1, 1e-11);
    const double loss = 1 - FronteraValue(pages, *clustered) / best;
    EXPECT_GE(loss, -1e-13);
    EXPECT_LT(loss, loss_before / 10);
    loss_before = loss;
  }
  EXPECT_LT(loss_before, 1e-5);
  for (size_t i = 0; i < columns.importance.size(); ++i) {
    columns.importance[i] = std::pow(2.0, static_cast<double>(i % 4));
  }
  const StatusOr<RatePlan> few = PlanFronteraClustered(columns.pages(), 3000, 64);
  EXPECT_LT(few->kkt_residual, 1e-11);
}

TEST(Planner, NamesAreUniqueAndParsed) {
  for (const PlanMethod method : AllPlanMethods()) {
    EXPECT_EQ(*ParsePlanMethod(PlanMethodName(method)), method);
  }
  EXPECT_EQ(ParsePlanMethod("fastest").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace freshet
