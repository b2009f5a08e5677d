#include "core/index/index_record.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr int64_t kMaxClock = (int64_t{1} << 53) - 1;

double Wide(float x) { return static_cast<double>(x); }

// Returns true if the value under the policy depends on gamma (V_ncis at the given rates) and not
// on Delta.
bool ReadsSignalRate(const Policy& policy) {
  return policy.kind == PolicyKind::kGreedyNcis || policy.kind == PolicyKind::kGreedyNcisDelay ||
         policy.kind == PolicyKind::kNcisApprox;
}

// The rates that the value under `policy` reads: gamma or Delta, not both.
IndexRates RatesRead(const Policy& policy, const IndexRecord& record) {
  IndexRates rates;
  rates.importance = record.importance;
  rates.unsignalled_rate = record.unsignalled_rate;
  rates.signal_weight = record.signal_weight;
  rates.staleness_rate = record.staleness_rate;
  (ReadsSignalRate(policy) ? rates.signal_rate : rates.change_rate) = record.rate;
  return rates;
}

}  // namespace

void EncodeClock(double exponent, Instant since, double speed, bool saturates,
                 IndexRecord* record) {
  DCHECK(exponent >= 0);
  if (exponent == 0 && std::abs(since.micros()) <= kMaxClock) {
    record->SetClock(since.micros(), ClockKind::kRunning);
    return;
  }
  if (std::isinf(exponent) || (saturates && exponent >= kSaturatedStaleness)) {
    const int64_t at = std::clamp<int64_t>(since.micros(), -kMaxClock, kMaxClock);
    record->SetClock(at, ClockKind::kSaturated);
    return;
  }
  const double age = exponent == 0 ? 0 : exponent / speed * 1e6;
  if (age < static_cast<double>(kMaxClock)) {
    const int64_t zero = since.micros() - std::llround(age);
    if (zero >= -kMaxClock && zero <= kMaxClock) {
      record->SetClock(zero, ClockKind::kRunning);
      return;
    }
  }
  record->SetClock(std::bit_cast<uint32_t>(static_cast<float>(exponent)), ClockKind::kStanding);
}

IndexRecord EncodeRecord(const IndexEntry& entry) {
  CHECK(!std::isnan(entry.exponent) && entry.exponent >= 0, "exponent {}", entry.exponent);
  IndexRecord record;
  record.importance = entry.rates.importance;
  record.rate = ReadsSignalRate(entry.policy) ? entry.rates.signal_rate : entry.rates.change_rate;
  record.unsignalled_rate = entry.rates.unsignalled_rate;
  record.signal_weight = entry.rates.signal_weight;
  record.staleness_rate = entry.rates.staleness_rate;
  const double speed = entry.exponent == 0 ? 0 : SpeedOf(entry.policy, record);
  EncodeClock(entry.exponent, entry.since, speed, Saturates(entry.policy), &record);
  return record;
}

IndexRates DecodeRates(const Policy& policy, const IndexRecord& record) {
  IndexRates rates = RatesRead(policy, record);
  if (ReadsSignalRate(policy)) {
    const double signalled = Wide(record.rate) * -std::expm1(-Wide(record.signal_weight));
    rates.change_rate = static_cast<float>(Wide(record.unsignalled_rate) + signalled);
  }
  return rates;
}

IndexEntry DecodeRecord(const Policy& policy, const IndexRecord& record) {
  IndexEntry entry;
  entry.policy = policy;
  entry.rates = DecodeRates(policy, record);
  switch (record.clock_kind()) {
    case ClockKind::kRunning:
      entry.since = Instant::FromMicros(record.clock());
      break;
    case ClockKind::kSaturated:
      entry.since = Instant::FromMicros(record.clock());
      entry.exponent = std::numeric_limits<double>::infinity();
      break;
    case ClockKind::kStanding:
      entry.since = Instant::Infinite();
      entry.exponent = Wide(std::bit_cast<float>(static_cast<uint32_t>(record.clock())));
      break;
  }
  return entry;
}

ValueParameters ValueOf(const Policy& policy, const IndexRecord& record) {
  return ValueOf(policy, RatesRead(policy, record));
}

double NoisySpeed(const Policy& policy, const IndexRecord& record) {
  if (record.importance > 0) {
    if (policy.kind == PolicyKind::kHarmonic) return Wide(record.rate);
    if (ReadsSignalRate(policy) && record.unsignalled_rate > 0) return Wide(record.staleness_rate);
  }
  return ValueOf(policy, record).speed;
}

double StandingExponent(const IndexRecord& record) {
  if (record.clock_kind() == ClockKind::kSaturated) {
    return std::numeric_limits<double>::infinity();
  }
  return Wide(std::bit_cast<float>(static_cast<uint32_t>(record.clock())));
}

}  // namespace freshet
