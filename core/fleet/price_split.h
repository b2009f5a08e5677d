// Splits a rate among nodes so that all have the same price.
#ifndef FRESHET_CORE_FLEET_PRICE_SPLIT_H_
#define FRESHET_CORE_FLEET_PRICE_SPLIT_H_

#include <span>
#include <vector>

namespace freshet {

// A node that shares the rate. Value type, thread-compatible.
struct PriceShare {
  double usual = 0;     // > 0: the rate at which the price is expected to stay
  double price = 0;     // 0 = not known, taken to be the common price
  double exponent = 1;  // > 0: how the rate answers a price other than the common one
  double least = 0;     // 0 <= least <= most
  double most = 0;
};

// The part of every node. Value type, thread-compatible.
struct PriceSplit {
  std::vector<double> rates;
  double price = 0;  // the common price; 0 = no node has a price
};

// Gives each node usual x (price/lambda)^exponent, but at least `least` and at most `most`, with
// lambda such that the sum is `total`. If the sum of `least` is too high, all get parts in
// proportion to `least`; if the sum of `most` is too low, all get `most`. A `guess` of lambda (0 =
// none) saves time. Cost: some fifty exponentials for each node.
[[nodiscard]] PriceSplit SplitByPrice(std::span<const PriceShare> shares, double total,
                                      double guess = 0);

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_PRICE_SPLIT_H_
