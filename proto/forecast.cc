#include "proto/forecast.h"

#include <algorithm>
#include <cmath>

namespace freshet {
namespace {

constexpr double kDay = 86400;
constexpr double kShortestSpan = 3600;
constexpr double kLongestSpan = 366 * kDay;

double Seconds(const google::protobuf::Timestamp& time) {
  return static_cast<double>(time.seconds()) + time.nanos() * 1e-9;
}

// Seconds to the next expected crawl; 0 if none is expected or it is due.
double SecondsToCrawl(const v1::Explanation& why) {
  if (!why.has_next_expected_crawl_time()) return 0;
  return std::max(0.0, Seconds(why.next_expected_crawl_time()) - Seconds(why.as_of()));
}

// The value of a page as a function of its exponent, in any unit.
struct ValueCurve {
  bool harmonic = false;
  double scale = std::numeric_limits<double>::quiet_NaN();
  double power = 1;

  [[nodiscard]] double Shape(double s) const {
    if (std::isinf(s)) return harmonic ? s : 1;
    // For small s the difference would lose all its digits.
    if (s < 1e-4) return s * s / 2;
    return harmonic ? s - 1 + std::exp(-s) : 1 - (1 + s) * std::exp(-s);
  }
  [[nodiscard]] double At(double s) const { return scale * std::pow(Shape(s), power); }
};

ValueCurve CurveOf(const v1::Explanation& why, double growth) {
  ValueCurve curve;
  curve.harmonic = why.policy().find("harmonic") != std::string::npos;
  const double now = curve.Shape(why.staleness());
  if (!(why.price() > 0 && why.value() > 0 && now > 0) || std::isinf(now)) return curve;
  const double then = curve.Shape(why.staleness() + growth * SecondsToCrawl(why));
  if (why.decision() == v1::DECISION_BELOW_PRICE && then > now && why.price() > why.value()) {
    const double power = std::log(why.price() / why.value()) / std::log(then / now);
    // A page that is further off waits for something other than the price.
    if (power > 0.5 && power < 2) curve.power = power;
  }
  curve.scale = why.value() / std::pow(now, curve.power);
  return curve;
}

}  // namespace

std::vector<ForecastPoint> Forecast(const v1::Explanation& why, int points) {
  const double growth = why.staleness_rate_per_day() / kDay;
  double span = SecondsToCrawl(why);
  if (span < 1)
    span = std::clamp(growth > 0 ? 3 / growth : kLongestSpan, kShortestSpan, kLongestSpan);
  const ValueCurve curve = CurveOf(why, growth);
  std::vector<ForecastPoint> forecast;
  for (int i = 0; i < points; ++i) {
    const double seconds = span * i / (points - 1);
    const double s = why.staleness() + growth * seconds;
    forecast.push_back({seconds, std::exp(-s), curve.At(s)});
  }
  return forecast;
}

}  // namespace freshet
