#include "core/fleet/price_split.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace freshet {
namespace {

// One node's rate as a function of lambda. Holds logarithms, because powers of price ratios can
// exceed the range of doubles.
struct Answer {
  double log_usual = 0;
  double log_price = 0;
  double exponent = 0;
  double least = 0;
  double most = 0;

  [[nodiscard]] double At(double log_lambda) const {
    const double rate = std::exp(log_usual + exponent * (log_price - log_lambda));
    return std::clamp(rate, least, most);
  }
};

double Sum(const std::vector<Answer>& answers, double log_lambda) {
  double sum = 0;
  for (const Answer& answer : answers) sum += answer.At(log_lambda);
  return sum;
}

// The logarithm of the geometric mean of the known prices, weighted by the usual rates.
double MeanLogPrice(std::span<const PriceShare> shares, bool* any) {
  double sum = 0;
  double weight = 0;
  for (const PriceShare& share : shares) {
    if (share.price <= 0) continue;
    sum += share.usual * std::log(share.price);
    weight += share.usual;
  }
  *any = weight > 0;
  return *any ? sum / weight : 0;
}

// The logarithm of the lambda at which the sum of the rates equals `total`. The sum falls as lambda
// rises. Precondition: some lambda reaches `total`.
double Solve(const std::vector<Answer>& answers, double total, double log_lambda) {
  double step = 0.1;
  double low = log_lambda;
  double high = log_lambda;
  for (; Sum(answers, low) < total; step *= 2) low -= step;
  for (step = 0.1; Sum(answers, high) > total; step *= 2) high += step;
  while (high - low > 1e-12 * std::max(1.0, std::abs(low))) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (Sum(answers, middle) > total ? low : high) = middle;
  }
  return high;
}

}  // namespace

PriceSplit SplitByPrice(std::span<const PriceShare> shares, double total, double guess) {
  CHECK(total >= 0, "{}", total);
  PriceSplit split;
  double least = 0;
  double most = 0;
  for (const PriceShare& share : shares) {
    CHECK(share.usual > 0 && share.price >= 0 && share.exponent > 0 && share.least >= 0 &&
              share.least <= share.most,
          "usual {}, price {}, exponent {}, least {}, most {}", share.usual, share.price,
          share.exponent, share.least, share.most);
    least += share.least;
    most += share.most;
  }
  bool any = false;
  const double mean = MeanLogPrice(shares, &any);
  if (any) split.price = std::exp(mean);
  if (total <= least || total >= most) {
    const double scale = total >= most || least == 0 ? 1 : total / least;
    for (const PriceShare& share : shares) {
      split.rates.push_back(total >= most ? share.most : share.least * scale);
    }
    return split;
  }
  const double start = guess > 0 && std::isfinite(guess) ? std::log(guess) : mean;
  std::vector<Answer> answers;
  for (const PriceShare& share : shares) {
    answers.push_back({std::log(share.usual), share.price > 0 ? std::log(share.price) : start,
                       share.exponent, share.least, share.most});
  }
  const double log_lambda = Solve(answers, total, start);
  for (const Answer& answer : answers) split.rates.push_back(answer.At(log_lambda));
  if (any) split.price = std::exp(log_lambda);
  return split;
}

}  // namespace freshet
