// Who is to have what of a rate, so that all have the same price.
#ifndef FRESHET_CORE_FLEET_PRICE_SPLIT_H_
#define FRESHET_CORE_FLEET_PRICE_SPLIT_H_

#include <span>
#include <vector>

namespace freshet {

// One of those who share. Value type, thread-compatible.
struct PriceShare {
  double usual = 0;     // > 0: the rate at which its price is expected to stay
  double price = 0;     // 0: not known; it is taken to be the common one
  double exponent = 1;  // > 0: how its rate answers a price that is not the common one
  double least = 0;     // 0 <= least <= most
  double most = 0;
};

// What everybody gets. Value type, thread-compatible.
struct PriceSplit {
  std::vector<double> rates;
  double price = 0;  // the common one; 0: nobody has a price
};

// Everybody gets usual x (price/lambda)^exponent, but at least `least` and at most `most`, lambda
// being such that all of it together is `total`. Where the least is too much already, all get it in
// proportion; where the most is too little, all get that. `guess` of lambda, 0: none, saves time:
// some fifty exponentials for each that shares.
[[nodiscard]] PriceSplit SplitByPrice(std::span<const PriceShare> shares, double total,
                                      double guess = 0);

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_PRICE_SPLIT_H_
