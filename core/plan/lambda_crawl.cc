#include "core/plan/lambda_crawl.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/base/root.h"
#include "core/plan/price_search.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The role of a page in a plan.
enum class Role : uint8_t { kNone, kPolled, kSignalled };

// Decides which pages a plan polls, and which it crawls on signals.
enum class Scope : uint8_t { kByFlag, kAllPolled, kSignalledOnly };

class Roles {
 public:
  Roles(const PlanPages& pages, Scope scope) : pages_(pages), scope_(scope) {}

  // Also returns kNone for a page that crawls cannot help: mu = 0 or Delta = 0.
  [[nodiscard]] Role Of(size_t i) const {
    if (pages_.importance[i] == 0 || pages_.change_rate[i] == 0) return Role::kNone;
    if (signalled(i)) return Role::kSignalled;
    return scope_ == Scope::kSignalledOnly ? Role::kNone : Role::kPolled;
  }

  // Returns true if page i is crawled on signals, even if crawls cannot help it.
  [[nodiscard]] bool signalled(size_t i) const {
    return scope_ != Scope::kAllPolled && pages_.is_complete(i);
  }

 private:
  const PlanPages& pages_;
  Scope scope_;
};

// rho at Lambda = 1/q^2 and its derivative in q.
RateSum PolledRate(double mu, double delta, double q) {
  const double product = mu * delta * q * q;
  const double root = std::sqrt(delta * delta + 4 * product);
  return {2 * product / (delta + root), 2 * product / (q * root)};
}

// p Delta at Lambda = 1/q^2 and its derivative in q.
RateSum SignalledRate(double mu, double delta, double q) {
  const double crawls = mu * q * q;
  return crawls < delta ? RateSum{crawls, 2 * crawls / q} : RateSum{delta, 0};
}

// Writes page i to the plan. `crawls` is the page's number of crawls per unit of time.
void Write(const PlanPages& pages, const Roles& roles, size_t i, double crawls, RatePlan* plan) {
  if (!roles.signalled(i)) {
    plan->rate[i] = crawls;
  } else if (pages.change_rate[i] == 0) {
    plan->probability[i] = pages.importance[i] > 0 ? 1 : 0;
  } else {
    plan->probability[i] = std::min(1.0, crawls / pages.change_rate[i]);
  }
}

double Residual(double mu, double delta, Role role, double crawls, double price) {
  if (role == Role::kPolled) return std::abs(mu * delta / (crawls * (delta + crawls)) / price - 1);
  const double excess = mu / crawls / price - 1;
  return crawls < delta ? std::abs(excess) : std::max(0.0, -excess);
}

// A summary of the roles of all pages.
struct Overview {
  bool any_polled = false;
  bool any_signalled = false;
  double signalled_changes = 0;  // total change rate of the pages crawled on signals
};

Overview Summarise(const PlanPages& pages, const Roles& roles) {
  Overview overview;
  for (size_t i = 0; i < pages.size(); ++i) {
    const Role role = roles.Of(i);
    overview.any_polled |= role == Role::kPolled;
    if (role != Role::kSignalled) continue;
    overview.any_signalled = true;
    overview.signalled_changes += pages.change_rate[i];
  }
  return overview;
}

RatePlan EmptyPlan(const PlanPages& pages, Scope scope) {
  RatePlan plan;
  plan.rate.assign(pages.size(), 0.0);
  if (scope != Scope::kAllPolled && !pages.complete.empty()) {
    plan.probability.assign(pages.size(), 0.0);
  }
  plan.price = 0;
  return plan;
}

StatusOr<RatePlan> PlanHarmonic(const PlanPages& pages, double crawl_rate, Scope scope,
                                const ParallelFor& parallel) {
  RETURN_IF_ERROR(ValidatePlanInput(pages, crawl_rate, parallel));
  const size_t size = pages.size();
  const Roles roles(pages, scope);
  const Overview overview = Summarise(pages, roles);
  RatePlan plan = EmptyPlan(pages, scope);
  const bool any = overview.any_polled || overview.any_signalled;
  if (crawl_rate == 0 || !any ||
      (!overview.any_polled && crawl_rate >= overview.signalled_changes)) {
    plan.price = any && crawl_rate == 0 ? kInfinity : 0;
    const bool saturated = crawl_rate > 0;
    for (size_t i = 0; i < size; ++i) {
      const double crawls = saturated && roles.Of(i) == Role::kSignalled ? pages.change_rate[i] : 0;
      plan.used += crawls;
      Write(pages, roles, i, crawls, &plan);
    }
    return plan;
  }
  const auto page = [&](size_t i, double q) {
    switch (roles.Of(i)) {
      case Role::kPolled:
        return PolledRate(pages.importance[i], pages.change_rate[i], q);
      case Role::kSignalled:
        return SignalledRate(pages.importance[i], pages.change_rate[i], q);
      case Role::kNone:
        break;
    }
    return RateSum{};
  };
  const auto bound = [&](size_t i) {
    return roles.Of(i) == Role::kNone ? 0 : std::sqrt(pages.importance[i] * pages.change_rate[i]);
  };
  const auto finish = [&](size_t i, const PriceBracket& at) {
    const Role role = roles.Of(i);
    const double crawls = role == Role::kNone ? 0 : MixedRate(at, page, i);
    Write(pages, roles, i, crawls, &plan);
    if (role == Role::kNone) return PlannedPage{};
    return PlannedPage{
        crawls, Residual(pages.importance[i], pages.change_rate[i], role, crawls, at.price())};
  };
  PriceBracket bracket;
  const FinishedPass pass =
      SolvePages(size, crawl_rate, 0, parallel, bound, page, finish, &bracket);
  plan.price = bracket.price();
  plan.iterations = bracket.iterations;
  plan.used = pass.used;
  plan.kkt_residual = pass.kkt_residual;
  return plan;
}

// Splits R between pages polled in proportion to importance and pages crawled on signals.
class ApproximateSplit {
 public:
  ApproximateSplit(const PlanPages& pages, const Roles& roles, const ParallelFor& parallel)
      : pages_(pages), roles_(roles), parallel_(parallel) {
    importance_ = SumPages(pages.size(), 1, parallel, [&](size_t i) {
                    return RateSum{polled(i) ? pages.importance[i] : 0, 0};
                  }).rate;
  }

  // Only importance matters: a polled page that never changes takes its share, too.
  [[nodiscard]] bool polled(size_t i) const {
    return !roles_.signalled(i) && pages_.importance[i] > 0;
  }
  [[nodiscard]] double PolledShare(size_t i) const { return pages_.importance[i] / importance_; }
  [[nodiscard]] bool any_polled() const { return importance_ > 0; }

  // The gain of one more crawl for the polled group at `rate`, and its derivative. A page
  // contributes mu share Delta/(rho (rho + Delta)) to the gain, where rho = rate share.
  [[nodiscard]] ValueAndSlope PolledGain(double rate) const {
    const RateSum sum = SumPages(pages_.size(), 1, parallel_, [&](size_t i) {
      if (!polled(i) || pages_.change_rate[i] == 0) return RateSum{};
      const double delta = pages_.change_rate[i];
      const double rho = rate * PolledShare(i);
      const double gain = pages_.importance[i] / rate * (delta / (rho + delta));
      return RateSum{gain, -gain / rate * ((2 * rho + delta) / (rho + delta))};
    });
    return {sum.rate, sum.slope};
  }

  // The rate that the signalled group uses at a price, and its derivative in the price.
  [[nodiscard]] ValueAndSlope SignalledUse(double price) const {
    const RateSum sum = SumPages(pages_.size(), 1, parallel_, [&](size_t i) {
      if (roles_.Of(i) != Role::kSignalled) return RateSum{};
      const double wanted = pages_.importance[i] / price;
      const bool saturated = !(wanted < pages_.change_rate[i]);
      return saturated ? RateSum{pages_.change_rate[i], 0} : RateSum{wanted, -wanted / price};
    });
    return {sum.rate, sum.slope};
  }

  // The polled group's part of `crawl_rate`. The search is over the logarithm of the part, because
  // the part can be many orders of magnitude smaller than `crawl_rate` if the polled pages hardly
  // change. The part is at least sqrt(mu Delta/price).
  [[nodiscard]] double Solve(double crawl_rate, int* iterations) const {
    constexpr double kSmallestPart = 1e-150;
    const auto surplus = [&](double log_rate) {
      if (parallel_.given_up()) return ValueAndSlope{0, 1};
      ++*iterations;
      const double rate = std::exp(log_rate);
      const ValueAndSlope gain = PolledGain(rate);
      const ValueAndSlope use = SignalledUse(gain.value);
      const double slope = use.slope == 0 ? 1 : 1 + use.slope * gain.slope;
      return ValueAndSlope{use.value + rate - crawl_rate, slope * rate};
    };
    const double most = std::log(crawl_rate);
    return std::exp(FindRoot(surplus, std::log(kSmallestPart), most, most - 1));
  }

 private:
  const PlanPages& pages_;
  const Roles& roles_;
  const ParallelFor& parallel_;
  double importance_ = 0;  // of all polled pages
};

// The LCA plan if no polled page changes, so that polling gains nothing. The polled pages share the
// rate that the signalled pages cannot use.
StatusOr<RatePlan> PlanApproxWithoutGain(const PlanPages& pages, double crawl_rate,
                                         const ApproximateSplit& split,
                                         const ParallelFor& parallel) {
  ASSIGN_OR_RETURN(RatePlan plan, PlanHarmonic(pages, crawl_rate, Scope::kByFlag, parallel));
  const double rest = crawl_rate - plan.used;
  if (plan.price > 0 || !(rest > 0)) return plan;
  plan.used += SumPages(pages.size(), 1, parallel, [&](size_t i) {
                 if (!split.polled(i)) return RateSum{};
                 plan.rate[i] = rest * split.PolledShare(i);
                 return RateSum{plan.rate[i], 0};
               }).rate;
  return plan;
}

}  // namespace

StatusOr<RatePlan> PlanLambdaCrawl(const PlanPages& pages, double crawl_rate,
                                   const ParallelFor& parallel) {
  return PlanHarmonic(pages, crawl_rate, Scope::kByFlag, parallel);
}

StatusOr<RatePlan> PlanLambdaCrawlIncomplete(const PlanPages& pages, double crawl_rate,
                                             const ParallelFor& parallel) {
  return PlanHarmonic(pages, crawl_rate, Scope::kAllPolled, parallel);
}

StatusOr<RatePlan> PlanLambdaCrawlComplete(const PlanPages& pages, double crawl_rate,
                                           const ParallelFor& parallel) {
  return PlanHarmonic(pages, crawl_rate, Scope::kSignalledOnly, parallel);
}

StatusOr<RatePlan> PlanLambdaCrawlApprox(const PlanPages& pages, double crawl_rate,
                                         const ParallelFor& parallel) {
  RETURN_IF_ERROR(ValidatePlanInput(pages, crawl_rate, parallel));
  const Roles roles(pages, Scope::kByFlag);
  const Overview overview = Summarise(pages, roles);
  const ApproximateSplit split(pages, roles, parallel);
  if (!split.any_polled()) return PlanHarmonic(pages, crawl_rate, Scope::kByFlag, parallel);
  if (!overview.any_polled) return PlanApproxWithoutGain(pages, crawl_rate, split, parallel);
  RatePlan plan = EmptyPlan(pages, Scope::kByFlag);
  double polled = crawl_rate;
  if (crawl_rate > 0 && overview.any_signalled) polled = split.Solve(crawl_rate, &plan.iterations);
  plan.price = crawl_rate > 0 ? split.PolledGain(polled).value : kInfinity;
  plan.used = FinishPages(pages.size(), parallel, [&](size_t i) {
                double crawls = 0;
                if (roles.Of(i) == Role::kSignalled) {
                  crawls = std::min(pages.change_rate[i], pages.importance[i] / plan.price);
                } else if (split.polled(i)) {
                  crawls = polled * split.PolledShare(i);
                }
                Write(pages, roles, i, crawls, &plan);
                return PlannedPage{crawls, 0};
              }).used;
  // The price is the gain of the polled group, and the signalled pages are solved at exactly this
  // price. Only the budget condition can therefore be violated.
  if (crawl_rate > 0) plan.kkt_residual = std::abs(plan.used / crawl_rate - 1);
  return plan;
}

}  // namespace freshet
