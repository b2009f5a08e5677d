// The only source of randomness in the project: seeded, splittable, the same on every machine.
#ifndef FRESHET_CORE_BASE_RANDOM_H_
#define FRESHET_CORE_BASE_RANDOM_H_

#include <cmath>
#include <cstdint>

#include "core/base/check.h"

namespace freshet {

// SplitMix64 (Steele, Lea and Flood 2014): a counter whose values pass through a mixing function. A
// split starts another counter. Good enough for simulations, useless for secrets. Value type,
// thread-compatible.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // A generator whose numbers are independent of this one's.
  Random Split() { return Random(Next() ^ 0xD1B54A32D192ED03u); }

  // Uniform in [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  // Uniform in 0 .. n-1. Precondition: n >= 1.
  uint64_t Below(uint64_t n) {
    CHECK(n >= 1);
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Wide>(Next()) * n) >> 64);
  }
  // Time to the next event of a Poisson process; infinite at rate 0. Precondition: rate >= 0.
  double Exponential(double rate) { return rate == 0 ? HUGE_VAL : -std::log1p(-Uniform()) / rate; }
  // Jöhnk's method; fast for a + b of about 1 and less. Precondition: a, b > 0.
  double Beta(double a, double b) {
    for (;;) {
      const double x = std::pow(Uniform(), 1 / a);
      const double y = std::pow(Uniform(), 1 / b);
      if (x + y <= 1 && x + y > 0) return x / (x + y);
    }
  }
  // Knuth's product method; for small means.
  int Poisson(double mean) {
    const double limit = std::exp(-mean);
    int n = 0;
    for (double product = Uniform(); product > limit; product *= Uniform()) ++n;
    return n;
  }

 private:
  uint64_t state_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_RANDOM_H_
