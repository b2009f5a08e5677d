// Splits a crawl rate among the nodes of a fleet (core/fleet/fleet_rate.h) so that all have the
// same price.
#ifndef FRESHET_CORE_FLEET_PRICE_SPLIT_H_
#define FRESHET_CORE_FLEET_PRICE_SPLIT_H_

#include <span>
#include <vector>

namespace freshet {

// The input of SplitByPrice for one node. Value type, thread-compatible.
struct PriceShare {
  double usual = 0;     // > 0: the rate at which the price should stay constant
  double price = 0;     // 0 = not known: the common price is assumed
  double exponent = 1;  // > 0: how strongly the rate reacts to a price other than the common one
  double least = 0;     // 0 <= least <= most
  double most = 0;
};

// The rates of all nodes. Value type, thread-compatible.
struct PriceSplit {
  std::vector<double> rates;
  double price = 0;  // the common price; 0 = no node has a price
};

// Gives each node usual x (price/lambda)^exponent, but at least `least` and at most `most`. Lambda
// is chosen so that the sum is `total`. If the sum of all `least` exceeds `total`, each node gets a
// part in proportion to its `least`. If the sum of all `most` is below `total`, each node gets its
// `most`. `guess` is an estimate of lambda that saves time; 0 = none. Cost: about fifty
// exponentials per node.
[[nodiscard]] PriceSplit SplitByPrice(std::span<const PriceShare> shares, double total,
                                      double guess = 0);

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_PRICE_SPLIT_H_
