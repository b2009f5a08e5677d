#include "core/estimate/life.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/check.h"

namespace freshet {
namespace {

// The weights of two priors, each as a number of deaths and of returns: the defaults as the prior
// of all hosts, and the model of all hosts as the prior of one host.
constexpr double kDefaultDeaths = 0.1;
constexpr double kDefaultReturns = 0.02;
constexpr double kHostDeaths = 5;
constexpr double kHostReturns = 0.2;
// One crawl adds at most this many days to the exposure, even if the page had almost certainly been
// gone.
constexpr double kMostDays = 1e5;

}  // namespace

double AliveChance(double death_rate, double sign_rate, double silent) {
  DCHECK(death_rate > 0 && sign_rate >= 0 && silent >= 0);
  const double all = death_rate + sign_rate;
  const double quiet = std::exp(-all * silent);
  return quiet / (quiet - death_rate / all * std::expm1(-all * silent));
}

double ValueShare(double alive) {
  DCHECK(alive >= 0 && alive <= 1);
  constexpr double kLeastWorth = 1 / std::numbers::e;
  const double below = std::min(1.0, alive / kLeastWorth);
  return alive * below * below;
}

void LifeCounts::AddCrawl(const LifeModel& model, double alive, bool found) {
  exposure += std::min((1 - alive) / model.death_rate, kMostDays);
  if (!found) deaths += 1;
}

void LifeCounts::AddLook(double gone, double waited, bool returned) {
  if (!(gone > 0 && waited > 0)) return;
  looks += waited / gone;
  if (returned) returns += 1;
}

void LifeCounts::Add(const LifeCounts& other) {
  deaths += other.deaths;
  exposure += other.exposure;
  returns += other.returns;
  looks += other.looks;
}

void LifeCounts::Fade(double factor) {
  deaths *= factor;
  exposure *= factor;
  returns *= factor;
  looks *= factor;
}

LifeModel LifeCounts::FitAll() const {
  const LifeModel base;
  return {.death_rate = (deaths + kDefaultDeaths) / (exposure + kDefaultDeaths / base.death_rate),
          .returns = (returns + kDefaultReturns) / (looks + kDefaultReturns / base.returns)};
}

LifeModel LifeCounts::FitHost(const LifeModel& all) const {
  return {.death_rate = (deaths + kHostDeaths) / (exposure + kHostDeaths / all.death_rate),
          .returns = (returns + kHostReturns) / (looks + kHostReturns / all.returns)};
}

}  // namespace freshet
