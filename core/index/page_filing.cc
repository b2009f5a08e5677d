// Files pages: into a wheel, a pool or the band.
#include "core/index/page_filing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/model/crossing.h"
#include "core/model/exponential.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Crossings have relative errors of up to 1e-10. These constants make crossings and times a little
// smaller, so that no page wakes too late.
constexpr double kLess = 1 - 1e-9;
constexpr double kEarlier = 1 - 1e-8;
constexpr double kEarlierSeconds = 2e-6;
// Values and bounds have relative rounding errors of 1e-12.
constexpr double kSlack = 1 + 1e-11;
// The minimum duration of a bound. It ensures that every expiry lies in the future, because
// instants are whole microseconds.
constexpr double kShortest = 1e-5;
// Bounds of pages that wait for their host last at least kParkedFor seconds. They last longer in a
// large pool, so that only about kRenewed of them are renewed per second.
constexpr double kParkedFor = 30;
constexpr double kRenewed = 2000;
// A known crossing is used only if its level is within this many levels of the threshold.
constexpr int kMaxDrift = 2048;
// If the level of a crossing is farther from the threshold than kFresh, in ln V, the bounds that
// follow from the crossing are wide. If a page with wide bounds has less than the share
// kStaleMargin of the way to its crossing left, computing a new crossing is cheaper than waking the
// page early.
constexpr double kFresh = 1.0 / 128;
constexpr double kStaleMargin = 1.0 / 16;
// A page with more than this share of the way to its crossing left waits in a pool if the buckets
// of its wheel are wider than the rest of the way.
constexpr double kFarOff = 1.0 / 4;
// A page whose value is within this relative distance below the threshold is awake instead of
// waiting.
constexpr double kNear = 1.0 / 512;

// Pages whose value stands still wait in pool 0, except those of a host with this many pages or
// more, which wait in the pool of the host.
constexpr uint32_t kManyOfAHost = 64;

// S(x) = V/(dV/ds) of `greedy`, (e^x - 1 - x)/x, to within 3e-6.
inline Slowness PlainSlowness(double x) {
  if (x > 2) {
    const double slow = (std::exp(x) - 1 - x) / x;
    return {slow * (1 - 1e-9), slow * (1 + 1e-9)};
  }
  // The first terms of sum x^(k-1)/k!, k >= 2. The rest is below 2.5e-6 of the sum.
  const double x2 = x * x;
  const double x4 = x2 * x2;
  const double first = (1.0 / 2 + x * (1.0 / 6)) + x2 * (1.0 / 24 + x * (1.0 / 120));
  const double second = (1.0 / 720 + x * (1.0 / 5040)) + x2 * (1.0 / 40320 + x * (1.0 / 362880));
  const double third = 1.0 / 3628800 + x * (1.0 / 39916800);
  const double slow = x * (first + x4 * (second + x4 * third));
  return {slow * (1 - 1e-12), slow * (1 + 3e-6)};
}

// Bounds of V/(dV/ds): `low` holds at and above the crossing x, `high` at and below it. See
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
      // e^x - 1 = x (1 + S), where S is that of `greedy`.
      return {x / 2, x + x * PlainSlowness(x).high};
  }
}

// An upper bound of the distance that the crossing moves if the threshold is `above` higher, in ln
// V, than the level of the crossing. `above` can be negative.
double ShiftOf(double above, const Slowness& slow) {
  return above * (above > 0 ? slow.low * (1 - 1e-6) : slow.high * (1 + 1e-6));
}

// Returns a shape whose bounds hold for all pages of the policy. The bounds of V_ncis hold for
// every shape.
ValueShape ShapeOf(const Policy& policy) {
  return IsPlain(policy) ? ValueShape::kGreedy : ValueShape::kNcis;
}

// A jet that bounds, from now on, the value of a page whose exponent is x + u, where x is the
// crossing of `price`; u >= -x. See docs/index-proofs.md, "Lines without evaluation".
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
  // V'' = V'(x) e^-(s - x) (1 - s)/x. V'' is at most `curvature` for s >= x - before if `close` is
  // true, otherwise for s >= x.
  const double before = std::max(-u, 0.0);
  const bool close = before <= std::min(x / 2, 1.0);
  const double rise = close ? before : 0;
  const double curvature = bend * (1 + rise + rise * rise) * std::max(1 - x + rise, 0.0);
  if (!close) return {price, slope * speed, curvature * speed * speed};
  // Taylor's theorem at x. Below x, the bound needs the true slope, which can be smaller than
  // `slope`. `apart` covers this error, which follows from the difference between `low` and `high`.
  const double apart = slope * 4e-6 * before;
  return {price + u * (slope + curvature * u / 2) + apart, (slope + curvature * u) * speed,
          curvature * speed * speed};
}

// The minimum time in which a value that starts with `jet` can grow by `gap`.
double TimeToGrow(const ValueJet& jet, double gap) {
  const double root = std::sqrt(jet.slope * jet.slope + 2 * jet.curvature * gap);
  return 2 * gap / (jet.slope + root) * kEarlier;
}

// Returns the smaller of two bounds: one that holds for the next `seconds`, and one that is a
// little above the current value.
double BoundFor(const ValueJet& jet, double seconds) {
  const double grown = jet.value + seconds * (jet.slope + seconds * jet.curvature / 2);
  return std::min(grown, jet.value * (1 + 0x1p-7));
}

ValueJet PlainPageJet(const AwakePage& page, double elapsed) {
  const auto importance = static_cast<double>(page.importance);
  const auto rate = static_cast<double>(page.rate);
  return PlainValueJet(page.per_change ? importance / rate : importance, rate, rate * elapsed);
}

}  // namespace

void PageFiling::SetPlace(PageRow row, Place place, uint32_t position) {
  IndexRecord& record = row.record();
  record.set_place(place);
  // The pool sets the position of a waiting page.
  if (place != Place::kWaiting) record.position = position;
}

Crossing PageFiling::TakeOut(PageRow row) {
  const bool slept = row.record().place() == Place::kAsleep;
  const Crossing crossing = Unfile(row);
  // The wheel still has a stale entry of the page.
  if (slept) {
    wheels_.Sweep(
        asleep_, [this](PageId page) { pages_.PrefetchRecord(page); },
        [this](const WakeEntry& entry) {
          const IndexRecord& record = pages_.record(entry.page);
          return record.place() == Place::kAsleep && record.tag() == entry.tag();
        });
  }
  return crossing;
}

Crossing PageFiling::Unfile(PageRow row) {
  IndexRecord& record = row.record();
  switch (record.place()) {
    case Place::kAsleep:
      --asleep_;
      return Crossing::FromCode(record.position, row.level(), true);
    case Place::kAwake: {
      const AwakePage& awake = awake_[record.position];
      const auto crossing = Crossing::FromCode(awake.crossing, awake.level, awake.level_filed);
      band_.Remove(record.position);
      return crossing;
    }
    case Place::kWaiting:
      waiting_.Remove(row);
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

bool PageFiling::Serves(const Crossing& crossing) const {
  return crossing.level() != 0 && threshold_.code() != 0 &&
         std::abs(int{crossing.level()} - int{threshold_.code()}) <= kMaxDrift;
}

bool PageFiling::FileByTimes(PageRow row) {
  const PageTimes* times = pages_.TimesOf(row.page());
  if (times == nullptr) return false;
  if (times->eligible_from > now_) {
    SetPlace(row, Place::kDelayed, 0);
    return true;
  }
  if (times->forced_at > now_) return false;
  SetPlace(row, Place::kForced, 0);
  forced_.Push({times->forced_at, row.page(), row.record().tag()},
               [this](const auto& a) { return pages_.IsIn(a.id, Place::kForced, a.tag); });
  return true;
}

void PageFiling::File(PageRow row, Crossing crossing, std::optional<double> rival) {
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

// Files a page with a usable crossing. The page can sleep again, or become awake, without an
// evaluation.
Sleeping PageFiling::FileByCrossing(PageRow row, Crossing crossing, bool has_rival) {
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
  // Far beyond the crossing, bounds that follow from the crossing are loose. It is better to
  // evaluate the page.
  const double beyond = s - x;
  if (has_rival || !(beyond < x / 2) || speed == 0) return Sleeping::kDue;
  const double price = threshold_.PriceOf(crossing.level());
  Awaken(row, crossing, JetFromCrossing(shape, x, price, slow, beyond, speed), nullptr);
  return Sleeping::kFiled;
}

void PageFiling::FileByValue(PageRow row, Crossing crossing, Sleeping sleeping,
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
      // If the host is blocked, every pick would have to move some of these pages from pool 0 to
      // the pool of the host before it finds others.
      const bool with_host = Blocked(row.host()) || hosts_[row.host()].pages >= kManyOfAHost;
      Wait(row, with_host ? waiting_.PoolOf(row.host()) : 0, jet.value, kInfinity);
      return;
    }
  } else if (sleeping != Sleeping::kDue && (jet.value < threshold_.value() || rival)) {
    const double above = rival ? std::min(*rival, threshold_.value()) : threshold_.value();
    if (jet.value < above * (1 - kNear)) {
      // A page that can never come near the threshold need not be checked before the price has
      // fallen.
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

Crossing PageFiling::FindCrossing(const ValueParameters& value) const {
  return {ExponentReaching(value, threshold_.level_price()) * kLess, threshold_.code()};
}

Sleeping PageFiling::Sleep(PageRow row, Crossing crossing, double due, const Slowness& slow,
                           double speed) {
  IndexRecord& record = row.record();
  const double seconds = 1 / speed;
  const double zero = Seconds(Instant::FromMicros(record.clock()));
  const double at = zero + due * seconds * kEarlier - kEarlierSeconds;
  const Sleeping sleeping =
      wheels_.File(row.page(), record.tag(), slow.low * seconds, slow.high * seconds, at, t_);
  if (sleeping != Sleeping::kFiled) return sleeping;
  ++asleep_;
  // Usually the level is already stored. The row is then neither written nor fetched into the
  // cache.
  if (!crossing.filed()) row.level() = crossing.level();
  DCHECK(row.level() == crossing.level());
  SetPlace(row, Place::kAsleep, crossing.code());
  return Sleeping::kFiled;
}

void PageFiling::Awaken(PageRow row, Crossing crossing, const ValueJet& jet,
                        const ValueParameters* value) {
  const IndexRecord& record = row.record();
  const Policy& policy = pages_.PolicyOf(record);
  const uint32_t slot = awake_.Take();
  AwakePage& awake = awake_[slot];
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
  const uint32_t leader = band_.shared().LeaderFor(slot);
  if (leader != AwakeBand::kNone && pages_.record(awake_[leader].page).ValuedAs(record)) {
    band_.Follow(slot, leader);
  } else {
    if (value != nullptr && !awake.plain) awake_.Prepare(slot, *value);
    band_.Enter(slot, t_);
  }
  SetPlace(row, Place::kAwake, slot);
}

void PageFiling::Park(PageRow row, const ValueParameters& value, const ValueJet& jet) {
  const uint32_t pool = waiting_.PoolOf(row.host());
  // A new pool has no price yet. The price of the index is used instead.
  const double worth = waiting_.pools().price(pool);
  const double price = worth > 0 ? worth : pace_.price();
  // While the value is far below the pool's last price, the bound is loose, so bounds that cannot
  // matter are rarely renewed. Near that price, the bound is tight. The reason is that a pick
  // checks each page whose bound is above the best value once the host is free, and a host can have
  // any number of pages of nearly equal value.
  const double lasts = kParkedFor + static_cast<double>(waiting_.pools().size(pool)) / kRenewed;
  double bound = jet.value < price ? jet.value + (price - jet.value) / 2 : BoundFor(jet, lasts);
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

void PageFiling::Wait(PageRow row, uint32_t pool, double bound, double seconds) {
  SetPlace(row, Place::kWaiting, 0);
  waiting_.Add(row, pool, bound, t_ + std::max(seconds - kEarlierSeconds, 0.0));
}

ValueJet PageFiling::Evaluate(uint32_t slot) {
  ++evaluations_;
  const AwakePage& page = awake_[slot];
  const double elapsed = std::max((now_ - Instant::FromMicros(page.turn)).seconds(), 0.0);
  if (page.plain) return PlainPageJet(page, elapsed);
  if (!page.prepared) {
    const IndexRecord& record = pages_.record(page.page);
    awake_.Prepare(slot, ValueOf(pages_.PolicyOf(record), record));
  }
  const ValueParameters& value = awake_.value(slot);
  if (page.running) return CrawlValueJet(value, value.speed * elapsed);
  return CrawlValueJet(value, StandingExponent(pages_.record(page.page)));
}

}  // namespace freshet
