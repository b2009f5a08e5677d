// Where a page belongs: wheel, pool or band.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/index/price_index_impl.h"
#include "core/model/crossing.h"
#include "core/model/exponential.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Crossings are inverted to 1e-10; this much less is never too late.
constexpr double kLess = 1 - 1e-9;
constexpr double kEarlier = 1 - 1e-8;
constexpr double kEarlierSeconds = 2e-6;
// Values and bounds are rounded with relative errors of 1e-12.
constexpr double kSlack = 1 + 1e-11;
// No bound lasts less, so that every expiry lies ahead: instants are whole microseconds.
constexpr double kShortest = 1e-5;
constexpr size_t kPrefetched = 8;
// Known crossings serve this many levels on either side.
constexpr int kMaxDrift = 2048;
// Beyond this distance from the threshold, in ln V, bounds are so wide that a page is better
// inverted than woken by them, and when so little of its way is left.
constexpr double kFresh = 1.0 / 128;
constexpr double kStaleMargin = 1.0 / 16;
// A page that has so much of its way left waits where the buckets of its wheel are wider than that.
constexpr double kFarOff = 1.0 / 4;
// A page this close below the threshold is awake rather than waiting.
constexpr double kNear = 1.0 / 512;

// S(x) = V/(dV/ds) of `greedy`, (e^x - 1 - x)/x, to within 3e-6 of it.
inline Slowness PlainSlowness(double x) {
  if (x > 2) {
    const double slow = (std::exp(x) - 1 - x) / x;
    return {slow * (1 - 1e-9), slow * (1 + 1e-9)};
  }
  // The first terms of sum x^(k-1)/k!, k >= 2; those left out are below 2.5e-6 of it.
  const double x2 = x * x;
  const double x4 = x2 * x2;
  const double first = (1.0 / 2 + x * (1.0 / 6)) + x2 * (1.0 / 24 + x * (1.0 / 120));
  const double second = (1.0 / 720 + x * (1.0 / 5040)) + x2 * (1.0 / 40320 + x * (1.0 / 362880));
  const double third = 1.0 / 3628800 + x * (1.0 / 39916800);
  const double slow = x * (first + x4 * (second + x4 * third));
  return {slow * (1 - 1e-12), slow * (1 + 3e-6)};
}

// Bounds of V/(dV/ds): `low` at and above the crossing x, `high` at and below it.
// docs/index-proofs.md, "How slowly a value climbs".
Slowness SlownessAt(ValueShape shape, double x) {
  switch (shape) {
    case ValueShape::kGreedy:
      return PlainSlowness(x);
    case ValueShape::kHarmonic: {
      if (x < 0.001) return {x / 2, x / 2 * (1 + x)};
      const double slow = (x + std::expm1(-x)) / -std::expm1(-x);
      return {slow * (1 - 1e-9), slow * (1 + 1e-9)};
    }
    default:
      // e^x - 1 = x (1 + S) with the S of `greedy`.
      return {x / 2, x + x * PlainSlowness(x).high};
  }
}

// By how much a crossing of a level moves, at most to the left, when the threshold is so far above
// it.
double ShiftOf(double above, const Slowness& slow) {
  return above * (above > 0 ? slow.low * (1 - 1e-6) : slow.high * (1 + 1e-6));
}

// The shape of a page of which no more than the policy is known: the bounds of V_ncis hold for all.
ValueShape ShapeOf(const Policy& policy) {
  return IsPlain(policy) ? ValueShape::kGreedy : ValueShape::kNcis;
}

// What bounds the value from now on of a page whose exponent is u beyond the crossing x of `price`;
// u >= -x. docs/index-proofs.md, "Lines without evaluation".
ValueJet JetFromCrossing(ValueShape shape, double x, double price, const Slowness& slow, double u,
                         double speed) {
  if (shape != ValueShape::kGreedy) {
    // V(x + u) <= price (1 + u/x)^2 for u >= 0.
    const double reached = std::max(u, 0.0) / x;
    const double slope = 2 * price / x;
    return {price * (1 + reached) * (1 + reached), slope * (1 + reached) * speed,
            slope / x * speed * speed};
  }
  const double bend = price / (x * slow.low);
  const double slope = bend * x;
  // V'' = V'(x) e^-(s - x) (1 - s)/x; from s = x - before on it is at most this.
  const double before = std::max(-u, 0.0);
  const bool close = before <= std::min(x / 2, 1.0);
  const double rise = close ? before : 0;
  const double curvature = bend * (1 + rise + rise * rise) * std::max(1 - x + rise, 0.0);
  if (!close) return {price, slope * speed, curvature * speed * speed};
  // Taylor's theorem at x. Before x the true slope counts, which may be lower by what `low` is less
  // than `high`.
  const double apart = slope * 4e-6 * before;
  return {price + u * (slope + curvature * u / 2) + apart, (slope + curvature * u) * speed,
          curvature * speed * speed};
}

// The time in which a value that starts with `jet` can grow by `gap`.
double TimeToGrow(const ValueJet& jet, double gap) {
  const double root = std::sqrt(jet.slope * jet.slope + 2 * jet.curvature * gap);
  return 2 * gap / (jet.slope + root) * kEarlier;
}

int64_t TurnOf(const IndexRecord& record) {
  return record.clock_kind() == ClockKind::kStanding ? std::numeric_limits<int64_t>::max()
                                                     : record.clock();
}

}  // namespace

Crossing PriceIndex::Impl::Unfile(PageRow row) {
  IndexRecord& record = row.record();
  switch (record.place()) {
    case Place::kAsleep:
      --asleep_;
      return Crossing::FromCode(record.position, row.level(), true);
    case Place::kAwake: {
      const AwakePage& awake = band_[record.position];
      const auto crossing = Crossing::FromCode(awake.crossing, awake.level, awake.level_filed);
      band_.Remove(record.position);
      return crossing;
    }
    case Place::kWaiting:
      StopWaiting(row);
      return {};
    case Place::kUnfiled:
      --unfiled_;
      return {};
    case Place::kNone:
    case Place::kForced:
    case Place::kDelayed:
    case Place::kSuspended:
      return {};
  }
  return {};
}

void PriceIndex::Impl::StopWaiting(PageRow row) {
  const uint32_t position = row.record().position;
  if (row.level() == 0) return pools_.Remove(0, position, Turns(), Placed());
  if (row.level() >= kQueueLevel) {
    const uint32_t queue = row.level() - uint32_t{kQueueLevel};
    if (queues_.First(queue) != row.page()) return queues_.Drop(queue, position, Placed());
    if (!queues_.DropFirst(queue)) return pools_.Remove(0, position, Turns(), Placed());
    return pools_.Replace(0, position, queues_.First(queue), Turns(), Placed());
  }
  IndexHost& host = hosts_[row.host()];
  pools_.Remove(host.pool, position, Turns(), Placed());
  if (pools_.size(host.pool) > 0) return;
  pools_.Drop(host.pool);
  host.pool = 0;
}

bool PriceIndex::Impl::Serves(const Crossing& crossing) const {
  return crossing.level() != 0 && threshold_.code() != 0 &&
         std::abs(int{crossing.level()} - int{threshold_.code()}) <= kMaxDrift;
}

bool PriceIndex::Impl::FileByTimes(PageRow row) {
  const PageTimes* times = pages_.TimesOf(row.page());
  if (times == nullptr) return false;
  if (times->eligible_from > now_) {
    SetPlace(row, Place::kDelayed, 0);
    return true;
  }
  if (times->forced_at > now_) return false;
  SetPlace(row, Place::kForced, 0);
  forced_.Push({times->forced_at, row.page()});
  return true;
}

void PriceIndex::Impl::File(PageRow row, Crossing crossing, std::optional<double> rival) {
  IndexRecord& record = row.record();
  record.NextTag();
  if (!filed_) {
    ++unfiled_;
    if (unfiled_pages_.size() < kFewUnfiled) unfiled_pages_.push_back(row.page());
    SetPlace(row, Place::kUnfiled, 0);
    return;
  }
  if (pages_.HasTimes() && FileByTimes(row)) return;
  Sleeping sleeping = Sleeping::kUnfit;
  if (record.running() && Serves(crossing)) {
    sleeping = FileByCrossing(row, crossing, rival.has_value());
  }
  if (sleeping != Sleeping::kFiled) FileByValue(row, crossing, sleeping, rival);
}

// What the crossing is known for needs no evaluation to sleep again, or to awake.
Sleeping PriceIndex::Impl::FileByCrossing(PageRow row, Crossing crossing, bool has_rival) {
  const double x = crossing.exponent();
  if (std::isinf(x)) return Sleeping::kUnfit;
  const IndexRecord& record = row.record();
  const Policy& policy = pages_.PolicyOf(record);
  const double speed = SpeedOf(policy, record);
  const ValueShape shape = ShapeOf(policy);
  const double s = freshet::ExponentOf(record, speed, now_);
  const Slowness slow = SlownessAt(shape, x);
  const double above = threshold_.Above(crossing.level());
  const double due = x + ShiftOf(above, slow);
  const bool fresh = std::abs(above) < kFresh;
  const double margin = fresh ? near_ : std::max(near_, kStaleMargin);
  if (!(due - s < margin * x)) {
    const Sleeping sleeping = Sleep(row, crossing, due, slow, speed);
    if (sleeping != Sleeping::kDue) return sleeping;
  }
  if (!fresh || due - s > kFarOff * x) return Sleeping::kUnfit;
  // A page far beyond its crossing is better evaluated.
  const double beyond = s - x;
  if (has_rival || !(beyond < x / 2) || speed == 0) return Sleeping::kDue;
  const double price = threshold_.PriceOf(crossing.level());
  Awaken(row, crossing, JetFromCrossing(shape, x, price, slow, beyond, speed), nullptr);
  return Sleeping::kFiled;
}

void PriceIndex::Impl::FileByValue(PageRow row, Crossing crossing, Sleeping sleeping,
                                   std::optional<double> rival) {
  const IndexRecord& record = row.record();
  const Policy& policy = pages_.PolicyOf(record);
  const bool running = record.running();
  const ValueParameters value = ValueOf(policy, record);
  const double s = freshet::ExponentOf(record, value.speed, now_);
  const bool still = !running || value.speed == 0 || value.shape == ValueShape::kNone ||
                     (value.shape != ValueShape::kHarmonic && s >= kSaturatedStaleness);
  if (!still && placed_ && sleeping == Sleeping::kUnfit) {
    if (crossing.level() == 0 || crossing.level() != threshold_.code())
      crossing = FindCrossing(value);
    const double x = crossing.exponent();
    if (s < x && !std::isinf(x)) {
      const Slowness slow = SlownessAt(value.shape, x);
      const double due = x + ShiftOf(threshold_.Above(crossing.level()), slow);
      DCHECK(due >= x);
      sleeping = Sleep(row, crossing, due, slow, value.speed);
      if (sleeping == Sleeping::kFiled) return;
      if (due - s > kFarOff * x) sleeping = Sleeping::kUnfit;
    }
  }
  ++evaluations_;
  const ValueJet jet = CrawlValueJet(value, s);
  if (still) {
    if (!rival) {
      Wait(row, 0, jet.value, kInfinity);
      return;
    }
  } else if (sleeping != Sleeping::kDue && (jet.value < threshold_.value() || rival)) {
    const double above = rival ? std::min(*rival, threshold_.value()) : threshold_.value();
    if (jet.value < above * (1 - kNear)) {
      // What can never come near need not be looked at before the price has fallen.
      const double ceiling = value.ceiling * kSlack;
      const bool never = placed_ && ceiling < above * (1 - kNear / 2);
      const double bound = never ? ceiling : jet.value + (above - jet.value) / 2;
      const double seconds = never ? kInfinity : TimeToGrow(jet, bound - jet.value * kSlack);
      if (seconds > kShortest) {
        Wait(row, 0, bound, seconds);
        return;
      }
    }
  }
  if (Blocked(row.host())) {
    Park(row, value, jet);
  } else {
    Awaken(row, crossing, jet, &value);
  }
}

Crossing PriceIndex::Impl::FindCrossing(const ValueParameters& value) const {
  return {ExponentReaching(value, threshold_.level_price()) * kLess, threshold_.code()};
}

Sleeping PriceIndex::Impl::Sleep(PageRow row, Crossing crossing, double due, const Slowness& slow,
                                 double speed) {
  IndexRecord& record = row.record();
  const double seconds = 1 / speed;
  const double zero = Seconds(Instant::FromMicros(record.clock()));
  const double at = zero + due * seconds * kEarlier - kEarlierSeconds;
  const Sleeping sleeping =
      wheels_.File(row.page(), record.tag(), slow.low * seconds, slow.high * seconds, at, t_);
  if (sleeping != Sleeping::kFiled) return sleeping;
  ++asleep_;
  // Mostly it is there, and what is not touched need not be fetched.
  if (!crossing.filed()) row.level() = crossing.level();
  DCHECK(row.level() == crossing.level());
  SetPlace(row, Place::kAsleep, crossing.code());
  return Sleeping::kFiled;
}

void PriceIndex::Impl::Awaken(PageRow row, Crossing crossing, const ValueJet& jet,
                              const ValueParameters* value) {
  const IndexRecord& record = row.record();
  const Policy& policy = pages_.PolicyOf(record);
  const uint32_t slot = band_.Take();
  AwakePage& awake = band_.page(slot);
  awake.page = row.page();
  awake.turn = TurnOf(record);
  awake.jet = jet;
  awake.since = now_;
  awake.importance = record.importance;
  awake.rate = record.rate;
  awake.crossing = crossing.code();
  awake.level = crossing.level();
  awake.level_filed = crossing.filed();
  awake.exact = value != nullptr;
  awake.running = record.running();
  awake.plain =
      awake.running && IsPlain(policy) && (value == nullptr || value->shape == ValueShape::kGreedy);
  awake.per_change = policy.kind == PolicyKind::kGreedy;
  awake.prepared = false;
  const uint32_t leader = band_.LeaderOf(slot);
  if (leader != AwakeBand::kNone && pages_.record(band_[leader].page).ValuedAs(record)) {
    band_.Follow(slot, leader);
  } else {
    if (value != nullptr && !awake.plain) band_.Prepare(slot, *value);
    band_.Enter(slot, t_);
  }
  SetPlace(row, Place::kAwake, slot);
}

uint32_t PriceIndex::Impl::PoolOf(HostId host) {
  IndexHost& gate = hosts_[host];
  if (gate.pool == 0) {
    gate.pool = pools_.Make(groups_.Of(host));
    pools_.SetOpen(gate.pool, !gate.blocked, Turns());
  }
  return gate.pool;
}

void PriceIndex::Impl::Park(PageRow row, const ValueParameters& value, const ValueJet& jet) {
  const uint32_t pool = PoolOf(row.host());
  // A pool that is new does not know yet what it takes.
  const double worth = pools_.price(pool);
  const double price = worth > 0 ? worth : pace_.price();
  // Loose while it is far below what the host was last worth, tight near it: bounds that cannot
  // matter are rarely renewed.
  double bound = jet.value < price ? jet.value + (price - jet.value) / 2 : jet.value * (1 + 0x1p-7);
  bound = std::max(bound, threshold_.value());
  double seconds = kInfinity;
  if (jet.slope == 0 && jet.curvature == 0) {
    bound = jet.value;
  } else if (bound >= value.ceiling) {
    bound = value.ceiling * kSlack;
  } else {
    bound = std::max(bound, jet.value * kSlack * kSlack);
    seconds = TimeToGrow(jet, bound - jet.value * kSlack);
    if (seconds < kShortest) {
      seconds = kShortest;
      bound = jet.value + seconds * (jet.slope + seconds * jet.curvature / 2);
      bound *= kSlack * kSlack;
    }
  }
  Wait(row, pool, bound, seconds);
}

int64_t PriceIndex::Impl::WaitingTurn(PageId page, double bound) const {
  const PageTimes* times = std::isinf(bound) ? pages_.TimesOf(page) : nullptr;
  return times != nullptr ? times->forced_at.micros() : TurnOf(pages_.record(page));
}

void PriceIndex::Impl::Wait(PageRow row, uint32_t pool, double bound, double seconds) {
  const IndexRecord& record = row.record();
  SetPlace(row, Place::kWaiting, 0);
  if (pool == 0 && std::isinf(seconds)) return WaitInTurn(row, bound);
  row.level() = pool == 0 ? 0 : 1;
  pools_.Add(pool, {bound, row.page()}, Turns(), Placed());
  if (std::isinf(seconds)) return;
  expiries_.Push({t_ + std::max(seconds - kEarlierSeconds, 0.0), row.page(), record.tag()});
}

void PriceIndex::Impl::WaitInTurn(PageRow row, double bound) {
  const int64_t turn = WaitingTurn(row.page(), bound);
  WaitingQueues::Fit fit = queues_.FitFor(bound, turn, row.page());
  if (fit.pair) {
    // It may have left, and wait for something else.
    const PageRow alone = pages_[fit.alone];
    const IndexRecord& first = alone.record();
    const WaitingPage last(bound, row.page());
    if (first.place() == Place::kWaiting && alone.level() == 0 && fit.alone != row.page() &&
        pools_.At(0, first.position).bound() == bound &&
        BoundPools::Precedes(pools_.At(0, first.position), last, Turns())) {
      fit.queue = queues_.Make(bound, fit.alone);
      if (fit.queue != WaitingQueues::kNone) {
        alone.level() = static_cast<uint16_t>(kQueueLevel + fit.queue);
      }
    }
  }
  if (fit.queue == WaitingQueues::kNone) {
    row.level() = 0;
    queues_.Note(bound, turn, row.page());
    return pools_.Add(0, {bound, row.page()}, Turns(), Placed());
  }
  row.level() = static_cast<uint16_t>(kQueueLevel + fit.queue);
  row.record().position = queues_.Append(fit.queue, turn, row.page());
}

void PriceIndex::Impl::WakeDue(size_t max) {
  DueBatch& batch = due_.First();
  const size_t end = std::min(batch.entries.size(), batch.next + max);
  while (batch.next < end) {
    const WakeEntry entry = batch.entries[batch.next++];
    const PageRow row = pages_[entry.page];
    if (row.record().place() != Place::kAsleep || row.record().tag() != entry.tag()) continue;
    File(row, Unfile(row));
  }
  if (batch.next == batch.entries.size()) due_.DropFirst();
  if (due_.empty()) return;
  DueBatch& next = due_.First();
  const size_t wanted = std::min(next.entries.size(), next.next + kPrefetched);
  for (; next.fetched < wanted; ++next.fetched) {
    pages_.PrefetchRecord(next.entries[next.fetched].page);
    pages_.PrefetchLevel(next.entries[next.fetched].page);
  }
}

void PriceIndex::Impl::RenewWheels() {
  wheels_.Renew(pages_.size());
  near_ = std::max(3 / static_cast<double>(wheels_.buckets()),
                   1 / std::sqrt(static_cast<double>(pages_.size())));
}

}  // namespace freshet
