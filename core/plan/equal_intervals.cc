#include "core/plan/equal_intervals.h"

#include <cmath>
#include <cstddef>

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr size_t kDegree = 13;  // the degree that the evaluation below assumes

// x/w = sum_k coefficient[k] t^k with t = (w - center) scale in [-1, 1].
struct Piece {
  double end;
  double center;
  double scale;
  double coefficient[kDegree + 1];
};

constexpr Piece kPieces[] = {
    {1.5,
     0.75,
     1.3333333333333333,
     {1.2641457675127392, 0.27690224743852915, 0.011460998003183592, -0.0012001495640793908,
      9.495804830904225e-05, -1.891112325642699e-06, -1.1798014031262672e-06,
      2.9222566477922607e-07, -4.181355911071791e-08, 3.304204678734062e-09, 1.8492453017466155e-10,
      -1.267980540335598e-10, 2.7595862874075933e-11, -3.405442404712473e-12}},
    {3.25,
     2.375,
     1.1428571428571428,
     {1.907625580218889, 0.36532126993515995, 0.008099344359836568, -0.0008963111339780972,
      9.231513126421925e-05, -8.225780783581029e-06, 5.165091106287625e-07, 6.757178676460459e-09,
      -9.632424542378932e-09, 2.1118840522024122e-09, -3.29516837209727e-10, 4.0573461823926383e-11,
      -3.479990127129899e-12, 6.451352620388606e-14}},
    {5.75,
     4.5,
     0.8,
     {2.8323840203538677, 0.5612987359086025, 0.007977234107757648, -0.0010241383513951432,
      0.0001299026477527874, -1.589628211311063e-05, 1.827757315907002e-06, -1.8872933408437093e-07,
      1.5578517670789894e-08, -5.198401054533674e-10, -1.652848981209413e-10, 5.526889098300194e-11,
      -1.2780116072687857e-11, 2.1797559472929304e-12}},
    {8.75,
     7.25,
     0.6666666666666666,
     {4.09733768938696, 0.7027703232710055, 0.005441206009340568, -0.0006529500184325436,
      7.91575162026866e-05, -9.550096557098334e-06, 1.1347352791243824e-06, -1.314768611534966e-07,
      1.467318199405891e-08, -1.5475684953326268e-09, 1.488924480645354e-10,
      -1.1919382251361038e-11, 4.16079870560518e-13, 9.119900785375335e-14}},
};

}  // namespace

double CrawlGain(double x) {
  DCHECK(x >= 0);
  // For x > 700, e^-x is negligible compared with 1. For far larger x, the product below would be 0
  // times infinity.
  if (x > 700) return 1;
  if (x >= 1) return 1 - (1 + x) * std::exp(-x);
  // The 18 terms added here leave an error below 1e-17 of the first term, even at x = 1.
  double sum = 0;
  for (int j = 19; j >= 3; --j) sum = (1 + sum) * x / j;
  return std::exp(-x) * 0.5 * x * x * (1 + sum);
}

double InverseCrawlGain(double y) {
  DCHECK(y >= 0 && y < 1);
  // ln(1 - y): the logarithm of the rounded difference, corrected to first order for the rounding
  // error. It is as exact as log1p at half the cost.
  const double rest = 1 - y;
  const double logarithm = std::log(rest) - ((rest - 1) + y) / rest;
  const double w = std::sqrt(-2 * logarithm);
  size_t index = 0;
  for (size_t i = 0; i < 3; ++i) index += w > kPieces[i].end ? 1 : 0;
  const Piece& piece = kPieces[index];
  const double* c = piece.coefficient;
  const double t = (w - piece.center) * piece.scale;
  // Sums by recursive halving (Estrin), so that multiplications do not depend on each other.
  const double t2 = t * t;
  const double t4 = t2 * t2;
  const double low = (c[0] + c[1] * t) + (c[2] + c[3] * t) * t2;
  const double middle = (c[4] + c[5] * t) + (c[6] + c[7] * t) * t2;
  const double high = (c[8] + c[9] * t) + (c[10] + c[11] * t) * t2;
  const double top = c[12] + c[13] * t;
  return w * (low + t4 * (middle + t4 * (high + t4 * top)));
}

}  // namespace freshet
