#include "core/index/index_entry.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/index/index_record.h"

namespace freshet {
namespace {

// Keeps infinity. Finite numbers that are too large become the largest float.
float ToFloat(double x) {
  if (std::isinf(x)) return std::numeric_limits<float>::infinity();
  return static_cast<float>(std::min(x, double{std::numeric_limits<float>::max()}));
}

}  // namespace

IndexRates MakeIndexRates(double importance, const PageRates& rates) {
  return {.importance = ToFloat(importance),
          .change_rate = ToFloat(rates.change_rate),
          .unsignalled_rate = ToFloat(rates.unsignalled_rate),
          .signal_rate = ToFloat(rates.signal_rate),
          .signal_weight = ToFloat(rates.signal_weight),
          .staleness_rate = ToFloat(rates.staleness_rate)};
}

PageRates PageRatesOf(const IndexRates& rates) {
  return {.change_rate = rates.change_rate,
          .unsignalled_rate = rates.unsignalled_rate,
          .signal_rate = rates.signal_rate,
          .signal_weight = rates.signal_weight,
          .staleness_rate = rates.staleness_rate};
}

ValueParameters ValueOf(const Policy& policy, const IndexRates& rates) {
  return MakeValueParameters(policy, rates.importance, PageRatesOf(rates));
}

IndexEntry Canonical(const IndexEntry& entry) {
  IndexEntry result = DecodeRecord(entry.policy, EncodeRecord(entry));
  result.host = entry.host;
  result.eligible_from = entry.eligible_from;
  result.forced_at = entry.forced_at;
  return result;
}

}  // namespace freshet
