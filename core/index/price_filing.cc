// Where a page belongs: calendar, pool or band.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/index/price_index.h"
#include "core/model/crossing.h"
#include "core/model/exponential.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Crossings are inverted to 1e-10; this much earlier is never too late.
constexpr double kEarlier = 1 - 1e-8;
constexpr double kEarlierSeconds = 2e-6;
// Values and bounds are rounded with relative errors of 1e-12.
constexpr double kSlack = 1 + 1e-11;
// From here on a plain value may grow more slowly than clocks can follow; it waits under a bound.
constexpr double kLastCrossing = 16;
// Calendars come in groups by slow_high/slow_low; pages above the last wait under a bound.
constexpr std::array<double, 4> kRatios = {1 + 1e-6, 4, 16, 64};
// Classes of slow_low, two an octave, from 2^-kOctaves to 2^kOctaves seconds.
constexpr int kOctaves = 100;
constexpr size_t kClasses = 4 * kOctaves;
// No bound lasts less, so that every expiry lies ahead: instants are whole microseconds.
constexpr double kShortest = 1e-5;
constexpr size_t kPrefetched = 8;
// Known crossings serve this many levels on either side.
constexpr int kMaxDrift = 32;
// A page this close below the claim is awake rather than waiting.
constexpr double kNear = 1.0 / 512;

struct Slowness {
  double low = 0;   // of V/(dV/ds) at and above the crossing
  double high = 0;  // at and below it
};

// docs/index.md, "How slowly a value climbs".
Slowness SlownessAt(ValueShape shape, double x) {
  switch (shape) {
    case ValueShape::kGreedy: {
      if (x < 0.01) return {x / 2, x / 2 * std::exp(x)};
      const double slow = x > 0.5 ? (std::exp(x) - 1 - x) / x : x * ExponentialRest(x);
      return {slow * (1 - 1e-9), slow * (1 + 1e-9)};
    }
    case ValueShape::kHarmonic: {
      if (x < 0.01) return {x / 2, x / 2 * (1 + x)};
      const double slow = (x + std::expm1(-x)) / -std::expm1(-x);
      return {slow * (1 - 1e-9), slow * (1 + 1e-9)};
    }
    default:
      return {x / 2, std::expm1(x)};
  }
}

// The time in which a value that starts with `jet` can grow by `gap`.
double TimeToGrow(const ValueJet& jet, double gap) {
  const double root = std::sqrt(jet.slope * jet.slope + 2 * jet.curvature * gap);
  return 2 * gap / (jet.slope + root) * kEarlier;
}

int64_t TurnOf(const IndexRecord& record) {
  return record.clock_kind == static_cast<uint64_t>(ClockKind::kStanding)
             ? std::numeric_limits<int64_t>::max()
             : int64_t{record.clock};
}

}  // namespace

Crossing PriceIndex::Unfile(PageId page) {
  IndexRecord& record = records_[page.value()];
  const auto placed = [this](PageId moved, uint32_t position) {
    records_[moved.value()].position = position;
  };
  switch (PlaceOf(page)) {
    case Place::kAsleep:
      --asleep_;
      return {std::bit_cast<float>(record.position), level_of_[page.value()]};
    case Place::kAwake: {
      const AwakePage& awake = band_[record.position];
      const Crossing crossing{awake.crossing, awake.level};
      band_.Remove(record.position);
      return crossing;
    }
    case Place::kWaiting: {
      if (level_of_[page.value()] == 0) {
        pools_.Remove(0, record.position, placed);
        return {};
      }
      Host& host = hosts_[host_of_[page.value()]];
      pools_.Remove(host.pool, record.position, placed);
      if (pools_.size(host.pool) == 0) {
        pools_.Drop(host.pool);
        host.pool = 0;
      }
      return {};
    }
    case Place::kUnfiled:
      --unfiled_;
      return {};
    case Place::kNone:
    case Place::kForced:
    case Place::kDelayed:
    case Place::kWithheld:
      return {};
  }
  return {};
}

bool PriceIndex::FileByTimes(PageId page) {
  const Times* times = TimesOf(page);
  if (times == nullptr) return false;
  if (times->eligible_from > now_) {
    SetPlace(page, Place::kDelayed, 0);
    return true;
  }
  if (times->forced_at > now_) return false;
  SetPlace(page, Place::kForced, 0);
  forced_.push_back({times->forced_at, page});
  std::push_heap(forced_.begin(), forced_.end());
  return true;
}

void PriceIndex::File(PageId page, Crossing crossing, std::optional<double> rival) {
  IndexRecord& record = records_[page.value()];
  ++record.tag;
  if (!filed_) {
    ++unfiled_;
    SetPlace(page, Place::kUnfiled, 0);
    return;
  }
  if (FileByTimes(page)) return;
  const Policy& policy = PolicyOf(record);
  const bool running = record.clock_kind == static_cast<uint64_t>(ClockKind::kRunning);
  Sleeping sleeping = Sleeping::kUnfit;
  const int drift = std::abs(int{crossing.level} - int{claim_.code()});
  if (running && crossing.level != 0 && claim_.code() != 0 && drift <= kMaxDrift) {
    // Known from before: no evaluation is needed for the page to sleep again. The slowness of any
    // shape holds for those of which only the policy is looked at.
    const double speed = SpeedOf(policy, record);
    const bool plain = policy.kind == PolicyKind::kGreedy || policy.kind == PolicyKind::kNewContent;
    const double left =
        static_cast<double>(crossing.exponent) - freshet::ExponentOf(record, speed, now_);
    if (left < near_ * static_cast<double>(crossing.exponent)) {
      sleeping = Sleeping::kDue;
    } else {
      const ValueShape shape = plain ? ValueShape::kGreedy : ValueShape::kNcis;
      sleeping = Sleep(page, record, shape, speed, crossing);
      if (sleeping == Sleeping::kFiled) return;
    }
  }
  const ValueParameters value = ValueOf(policy, DecodeRates(policy, record));
  const double s = freshet::ExponentOf(record, value.speed, now_);
  const bool still = !running || value.speed == 0 || value.shape == ValueShape::kNone ||
                     (value.shape != ValueShape::kHarmonic && s >= kSaturatedStaleness);
  if (!still && sleeping == Sleeping::kUnfit) {
    if (crossing.level == 0 || crossing.level != claim_.code()) crossing = FindCrossing(value);
    if (s < static_cast<double>(crossing.exponent)) {
      sleeping = Sleep(page, record, value.shape, value.speed, crossing);
      if (sleeping == Sleeping::kFiled) return;
    }
  }
  const HostId host(host_of_[page.value()]);
  ++evaluations_;
  const ValueJet jet = CrawlValueJet(value, s);
  if (still) {
    if (!rival) {
      Wait(page, 0, jet.value, kInfinity);
      return;
    }
  } else if (sleeping != Sleeping::kDue && (jet.value < claim_.value() || rival)) {
    const double above = rival ? std::min(*rival, claim_.value()) : claim_.value();
    if (jet.value < above * (1 - kNear)) {
      // What can never come near need not be looked at before the price has fallen.
      const double ceiling = value.ceiling * kSlack;
      const bool never = ceiling < above * (1 - kNear / 2);
      const double bound = never ? ceiling : jet.value + (above - jet.value) / 2;
      const double seconds = never ? kInfinity : TimeToGrow(jet, bound - jet.value * kSlack);
      if (seconds > kShortest) {
        Wait(page, 0, bound, seconds);
        return;
      }
    }
  }
  if (Blocked(host)) {
    Park(page, host, value, jet);
  } else {
    Awaken(page, value, crossing, jet);
  }
}

Crossing PriceIndex::FindCrossing(const ValueParameters& value) const {
  const double exponent = ExponentReaching(value, claim_.level_price()) * kEarlier;
  auto rounded = static_cast<float>(exponent);
  if (static_cast<double>(rounded) > exponent) rounded = std::nextafter(rounded, 0.0F);
  return {rounded, claim_.code()};
}

PriceIndex::Sleeping PriceIndex::Sleep(PageId page, const IndexRecord& record, ValueShape shape,
                                       double speed, Crossing crossing) {
  const auto x = static_cast<double>(crossing.exponent);
  if (!(x < kLastCrossing)) return Sleeping::kUnfit;
  const Slowness slow = SlownessAt(shape, x);
  WakeCalendar* calendar = CalendarFor(slow.low / speed, slow.high / slow.low);
  if (calendar == nullptr) return Sleeping::kUnfit;
  const double zero = Seconds(Instant::FromMicros(record.clock));
  // The crossing is that of a level near the claim.
  const double rest = claim_.Above(crossing.level);
  const double shift = rest * (rest > 0 ? slow.low * (1 - 1e-6) : slow.high * (1 + 1e-6));
  const double at = zero + (x + shift) / speed * kEarlier - kEarlierSeconds;
  const auto tag = static_cast<uint8_t>(record.tag);
  if (!calendar->File(chunks_, {page, tag}, at, t_)) return Sleeping::kDue;
  next_open_ = std::min(next_open_, calendar->next_open());
  ++asleep_;
  level_of_[page.value()] = crossing.level;
  SetPlace(page, Place::kAsleep, std::bit_cast<uint32_t>(crossing.exponent));
  return Sleeping::kFiled;
}

// So many that a bucket of a busy calendar has a few dozen pages.
size_t PriceIndex::CalendarBuckets() const {
  return std::clamp<size_t>(std::bit_ceil(built_for_ / 512 + 1), 128, size_t{1} << 18);
}

WakeCalendar* PriceIndex::CalendarFor(double slow_low, double ratio) {
  size_t group = 0;
  while (group < kRatios.size() && ratio > kRatios[group]) ++group;
  if (group == kRatios.size() || !(slow_low > 0) || !std::isfinite(slow_low)) return nullptr;
  // As std::frexp, which takes longer.
  const auto bits = std::bit_cast<uint64_t>(slow_low);
  const int exponent = static_cast<int>(bits >> 52) - 1022;
  const double mantissa = std::bit_cast<double>((bits & 0xfffffffffffffu) | (uint64_t{1022} << 52));
  const bool upper = mantissa >= M_SQRT1_2;
  const int number = 2 * (exponent + kOctaves) + (upper ? 1 : 0);
  if (number < 0 || number >= static_cast<int>(kClasses)) return nullptr;
  const size_t place = group * kClasses + static_cast<size_t>(number);
  if (calendar_of_.empty()) calendar_of_.assign(kRatios.size() * kClasses, -1);
  int32_t& calendar = calendar_of_[place];
  if (calendar >= 0 && !calendars_[static_cast<size_t>(calendar)].worn()) {
    return &calendars_[static_cast<size_t>(calendar)];
  }
  const double low = std::ldexp(upper ? M_SQRT1_2 : 0.5, exponent) * (1 - 1e-9);
  const double high = std::ldexp(upper ? 1.0 : M_SQRT1_2, exponent) * (1 + 1e-9);
  const size_t wanted = CalendarBuckets();
  calendar = static_cast<int32_t>(calendars_.size());
  // From a crawl to the crossing a page needs x/speed <= 2 slow_low seconds (docs/index.md).
  calendars_.emplace_back(low, high * kRatios[group], 2 * high, static_cast<uint32_t>(wanted), t_);
  return &calendars_.back();
}

void PriceIndex::Awaken(PageId page, const ValueParameters& value, Crossing crossing,
                        const ValueJet& jet) {
  const IndexRecord& record = records_[page.value()];
  AwakePage awake;
  awake.page = page;
  awake.host = HostId(host_of_[page.value()]);
  awake.turn = TurnOf(record);
  awake.running = record.clock_kind == static_cast<uint64_t>(ClockKind::kRunning);
  if (!awake.running) awake.exponent = freshet::ExponentOf(record, value.speed, now_);
  awake.crossing = crossing.exponent;
  awake.level = crossing.level;
  awake.value = value;
  SetPlace(page, Place::kAwake, band_.Add(awake, jet, t_, now_));
}

void PriceIndex::Park(PageId page, HostId host, const ValueParameters& value, const ValueJet& jet) {
  Host& gate = hosts_[host.value()];
  if (gate.pool == 0) {
    gate.pool = pools_.Make();
    pools_.SetOpen(gate.pool, !gate.blocked);
  }
  const double price = pools_.price(gate.pool);
  // Loose while it is far below what the host was last worth, tight near it: bounds that cannot
  // matter are rarely renewed.
  double bound = jet.value < price ? jet.value + (price - jet.value) / 2 : jet.value * (1 + 0x1p-7);
  bound = std::max(bound, claim_.value());
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
  Wait(page, gate.pool, bound, seconds);
}

void PriceIndex::Wait(PageId page, uint32_t pool, double bound, double seconds) {
  const IndexRecord& record = records_[page.value()];
  level_of_[page.value()] = pool == 0 ? 0 : 1;
  SetPlace(page, Place::kWaiting, 0);
  const Times* times = TimesOf(page);
  const int64_t turn =
      std::isinf(bound) && times != nullptr ? times->forced_at.micros() : TurnOf(record);
  pools_.Add(pool, {bound, turn, page}, [this](PageId moved, uint32_t position) {
    records_[moved.value()].position = position;
  });
  if (std::isinf(seconds)) return;
  expiries_.push_back(
      {t_ + std::max(seconds - kEarlierSeconds, 0.0), page, static_cast<uint8_t>(record.tag)});
  std::push_heap(expiries_.begin(), expiries_.end());
}

void PriceIndex::WakeDue(size_t max) {
  const size_t end = std::min(due_.size(), due_next_ + max);
  for (; due_next_ < end; ++due_next_) {
    const WakeEntry entry = due_[due_next_];
    const IndexRecord& record = records_[entry.page.value()];
    if (PlaceOf(entry.page) != Place::kAsleep || record.tag != entry.tag) continue;
    File(entry.page, Unfile(entry.page));
  }
  if (due_next_ == due_.size()) {
    due_.clear();
    due_next_ = 0;
    due_fetched_ = 0;
    due_by_ = kInfinity;
    return;
  }
  due_fetched_ = std::max(due_fetched_, end);
  for (; due_fetched_ < std::min(due_.size(), end + kPrefetched); ++due_fetched_) {
    PrefetchRecord(due_[due_fetched_].page);
  }
}

void PriceIndex::RenewCalendars() {
  if (size_ <= 4 * built_for_) return;
  built_for_ = std::max<size_t>(size_, 4096);
  near_ = 3 / static_cast<double>(CalendarBuckets());
  calendar_of_.clear();
  std::erase_if(calendars_, [](const WakeCalendar& calendar) { return calendar.entries() == 0; });
}

// Entries that no longer count are dropped here once they are an eighth of all.
void PriceIndex::SweepCalendars() {
  if (chunks_.entries() < asleep_ + asleep_ / 8 + 4096) return;
  WakeCalendar& calendar = calendars_[sweep_next_++ % calendars_.size()];
  for (int i = 0; i < 4; ++i) {
    (void)calendar.SweepNext(chunks_, [this](const WakeEntry& entry) {
      return PlaceOf(entry.page) == Place::kAsleep && records_[entry.page.value()].tag == entry.tag;
    });
  }
}

}  // namespace freshet
