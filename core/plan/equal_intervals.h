// The marginal gain of a page that is crawled at equal intervals, and its inverse. Each step of the
// lds and frontera solvers evaluates the inverse once for each page.
#ifndef FRESHET_CORE_PLAN_EQUAL_INTERVALS_H_
#define FRESHET_CORE_PLAN_EQUAL_INTERVALS_H_

namespace freshet {

// P(2, x) = 1 - (1 + x) e^-x for x >= 0. With x = Delta/rho changes per interval, it is the
// derivative of rho (1 - e^(-Delta/rho)) in rho. It rises from 0 (as x^2/2) to 1. The relative
// error is below 1e-15. For x < 1, where the difference cancels, the series e^-x sum_{j>=2} x^j/j!
// of positive terms is used.
[[nodiscard]] double CrawlGain(double x);

// The x >= 0 with CrawlGain(x) = y, for 0 <= y < 1. The relative error is 1e-15, plus the rounding
// of 1 - y as y -> 1. The largest x, at y = 1 - 2^-53, is 40.5.
//
// With w = sqrt(-2 ln(1 - y)), the equation is x - ln(1 + x) = w^2/2, and x/w is a smooth function
// of w. (Its nearest singularities are at |w| = 2 sqrt(pi), off the positive axis.) Chebyshev
// interpolants of degree 13 on four pieces of [0, 8.75] evaluate it without iteration. They were
// computed with 50 digits, and their error is below 2.1e-17. Takes one logarithm, one square root,
// one division and 20 multiplications, about 30 ns.
[[nodiscard]] double InverseCrawlGain(double y);

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_EQUAL_INTERVALS_H_
