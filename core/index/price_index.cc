#include "core/index/price_index.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Pages that a calendar hands out ahead of time are filed a few at every pick.
constexpr size_t kWakeAPick = 4;
constexpr size_t kWakeBatch = 32;
// After each split the claim is steered in one pick and the band tidied in the others of so many,
// each of which files so many pages; more of them while far too many are awake.
constexpr int kTidyCalls = 5;
constexpr size_t kTidiedACall = 2;
constexpr size_t kTidiedOfACrowd = 8;
// After a split of warm pages the next period of them is prepared in so many picks.
constexpr int kExamineCalls = 2;
// More contenders than this are evaluated in one pass: thousands of pages may be worth the same, as
// an import of crawls of one day makes them, and each would take a search among all of them.
constexpr size_t kOneByOne = 64;

// Whether the first alarm of a heap rings.
template <typename Heap, typename When>
bool Rings(const Heap& alarms, When now) {
  return !alarms.empty() && alarms.front().at <= now;
}

}  // namespace

// --- Records ---

bool PriceIndex::Has(PageId page) const {
  return page.value() < rows_.size() && PlaceOf(page) != Place::kNone;
}

void PriceIndex::SetPlace(PageRow row, Place place, uint32_t position) {
  IndexRecord& record = row.record();
  record.set_place(place);
  // A waiting page has been told its position by its pool already, or will be.
  if (place != Place::kWaiting) record.position = position;
}

uint64_t PriceIndex::InternPolicy(const Policy& policy) {
  for (size_t i = 0; i < policies_.size(); ++i) {
    if (policy_pages_[i] > 0 && policies_[i] == policy) return i;
  }
  for (size_t i = 0; i < policies_.size(); ++i) {
    if (policy_pages_[i] > 0) continue;
    policies_[i] = policy;
    return i;
  }
  CHECK(false, "pages of more than {} policies", policies_.size());
  return 0;
}

Crossing PriceIndex::TakeOut(PageRow row) {
  const bool slept = row.record().place() == Place::kAsleep;
  const Crossing crossing = Unfile(row);
  // Its calendar still has an entry of it, which does not count any more.
  if (slept) {
    calendars_.Sweep(
        asleep_, [this](PageId page) { rows_.PrefetchRecord(page); },
        [this](const WakeEntry& entry) {
          const IndexRecord& record = rows_.record(entry.page);
          return record.place() == Place::kAsleep && record.tag() == entry.tag();
        });
  }
  return crossing;
}

void PriceIndex::CountHost(HostId host, int change) {
  WaitingHost& gate = hosts_[host.value()];
  gate.pages = (gate.pages + static_cast<uint32_t>(change)) & 0x7fffffffu;
  if (gate.blocked) blocked_pages_ += static_cast<size_t>(change);
}

void PriceIndex::GrowTo(size_t pages, size_t hosts) {
  rows_.GrowTo(pages);
  hosts_.GrowTo(hosts);
}

void PriceIndex::Put(PageId page, const IndexEntry& entry) {
  GrowTo(size_t{page.value()} + 1, size_t{entry.host.value()} + 1);
  const PageRow row = rows_[page];
  IndexRecord& record = row.record();
  const bool known = record.place() != Place::kNone;
  const bool withheld = record.place() == Place::kWithheld;
  if (known) {
    (void)TakeOut(row);
    --policy_pages_[record.policy()];
    CountHost(row.host(), -1);
  } else {
    ++size_;
  }
  const uint8_t tag = record.tag();
  record = EncodeRecord(entry);
  record.set_tag(tag);
  record.set_policy(InternPolicy(entry.policy));
  ++policy_pages_[record.policy()];
  row.set_host(entry.host);
  CountHost(entry.host, 1);
  const bool delayed = entry.eligible_from > now_;
  if (delayed || !entry.forced_at.infinite()) {
    times_.Set(page, {delayed ? entry.eligible_from : Instant(), entry.forced_at});
    if (delayed && !entry.eligible_from.infinite()) {
      alarms_.push_back({entry.eligible_from, page});
      std::push_heap(alarms_.begin(), alarms_.end());
    }
    if (entry.forced_at > now_ && !entry.forced_at.infinite()) {
      alarms_.push_back({entry.forced_at, page});
      std::push_heap(alarms_.begin(), alarms_.end());
    }
  } else {
    times_.Erase(page);
  }
  barren_ = false;
  if (withheld) {
    SetPlace(row, Place::kWithheld, 0);
  } else {
    File(row, {});
  }
}

void PriceIndex::Restart(PageId page, double exponent, Instant since) {
  CHECK(Has(page), "page {} is not in", page.value());
  CHECK(exponent >= 0, "exponent {}", exponent);
  const PageRow row = rows_[page];
  IndexRecord& record = row.record();
  const bool withheld = record.place() == Place::kWithheld;
  const Crossing crossing = TakeOut(row);
  const Policy& policy = PolicyOf(record);
  EncodeClock(exponent, since, exponent == 0 ? 0 : SpeedOf(policy, record), Saturates(policy),
              &record);
  barren_ = false;
  if (withheld) return;
  File(row, crossing);
}

void PriceIndex::Remove(PageId page) {
  if (!Has(page)) return;
  const PageRow row = rows_[page];
  (void)TakeOut(row);
  --policy_pages_[row.record().policy()];
  CountHost(row.host(), -1);
  times_.Erase(page);
  SetPlace(row, Place::kNone, 0);
  --size_;
}

void PriceIndex::Withhold(PageId page) {
  CHECK(Has(page), "page {} is not in", page.value());
  const PageRow row = rows_[page];
  (void)TakeOut(row);
  SetPlace(row, Place::kWithheld, 0);
}

void PriceIndex::Offer(PageId page) {
  CHECK(Has(page), "page {} is not in", page.value());
  if (PlaceOf(page) != Place::kWithheld) return;
  barren_ = false;
  File(rows_[page], {});
}

std::optional<IndexEntry> PriceIndex::Find(PageId page) const {
  if (!Has(page)) return std::nullopt;
  const IndexRecord& record = rows_.record(page);
  IndexEntry entry = DecodeRecord(PolicyOf(record), record);
  entry.host = rows_.host(page);
  if (const PageTimes* times = TimesOf(page)) {
    entry.eligible_from = times->eligible_from;
    entry.forced_at = times->forced_at;
  }
  return entry;
}

double PriceIndex::ExponentOf(PageId page, Instant at) const {
  DCHECK(Has(page));
  const IndexRecord& record = rows_.record(page);
  return freshet::ExponentOf(record, SpeedOf(PolicyOf(record), record), at);
}

void PriceIndex::SetHostFree(HostId host, Instant free_at) {
  hosts_.GrowTo(size_t{host.value()} + 1);
  WaitingHost& gate = hosts_[host.value()];
  gate.free_at = free_at;
  const bool blocked = free_at > now_;
  if (blocked && !free_at.infinite()) {
    host_alarms_.push_back({free_at, host});
    std::push_heap(host_alarms_.begin(), host_alarms_.end());
  }
  if (blocked == (gate.blocked == 1)) return;
  gate.blocked = blocked ? 1 : 0;
  if (blocked) {
    blocked_pages_ += gate.pages;
  } else {
    blocked_pages_ -= gate.pages;
    barren_ = false;
  }
  if (gate.pool != 0) pools_.SetOpen(gate.pool, !blocked, Turns());
}

// --- Time ---

bool PriceIndex::AlarmRings() const {
  return Rings(host_alarms_, now_) || Rings(alarms_, now_) || Rings(expiries_, t_);
}

void PriceIndex::RingAlarms() {
  while (Rings(host_alarms_, now_)) {
    const HostId host = host_alarms_.front().id;
    std::pop_heap(host_alarms_.begin(), host_alarms_.end());
    host_alarms_.pop_back();
    WaitingHost& gate = hosts_[host.value()];
    if (gate.blocked == 0 || gate.free_at > now_) continue;
    gate.blocked = 0;
    blocked_pages_ -= gate.pages;
    barren_ = false;
    if (gate.pool != 0) pools_.SetOpen(gate.pool, true, Turns());
  }
  while (Rings(alarms_, now_)) {
    const PageAlarm alarm = alarms_.front();
    std::pop_heap(alarms_.begin(), alarms_.end());
    alarms_.pop_back();
    const PageTimes* times = Has(alarm.id) ? TimesOf(alarm.id) : nullptr;
    if (times == nullptr || PlaceOf(alarm.id) == Place::kWithheld) continue;
    if (times->eligible_from != alarm.at && times->forced_at != alarm.at) continue;
    barren_ = false;
    const PageRow row = rows_[alarm.id];
    File(row, Unfile(row));
  }
  while (Rings(expiries_, t_)) {
    const auto expiry = expiries_.front();
    std::pop_heap(expiries_.begin(), expiries_.end());
    expiries_.pop_back();
    const PageRow row = rows_[expiry.id];
    if (row.record().place() != Place::kWaiting || row.record().tag() != expiry.tag) continue;
    File(row, Unfile(row));
  }
}

void PriceIndex::OpenDue() {
  for (;;) {
    const std::optional<OpenedBucket> opened = calendars_.Open(t_, due_.Room());
    if (!opened) return;
    due_.Add(opened->by, opened->slow_high);
    if (t_ < opened->by) {
      // Other buckets that are not due either can wait for the next pick.
      if (t_ < calendars_.next_due()) return;
      continue;
    }
    while (t_ >= due_.by()) WakeDue(kWakeBatch);
    if (band_.size() > awake_limit_) RaiseClaim();
  }
}

// --- The claim ---

size_t PriceIndex::TargetAwake() const {
  const double root = std::sqrt(static_cast<double>(size_));
  return static_cast<size_t>(std::clamp(root, 32.0, 16384.0));
}

void PriceIndex::MoveClaim(double log_claim) {
  const double before = claim_.log();
  claim_.Set(log_claim);
  const double rise = claim_.log() - before;
  calendars_.MoveClaim(rise, t_);
  if (rise < 0) due_.ClaimFell(-rise);
}

// Moves rarely: each time the claim falls and rises again, calendars wake pages earlier than they
// need (docs/index-tuning.md).
void PriceIndex::SteerClaim() {
  const size_t target = TargetAwake();
  const size_t above = band_.CountAtLeast(claim_.value());
  if (above > 4 * target || band_.size() > 8 * target) RaiseClaim();
  if (4 * above < target) descending_ = true;
  if (above >= target) descending_ = false;
  // So far that about as many pages wake as are picked.
  if (descending_) (void)LowerClaim(kWakeBatch / static_cast<double>(size_), 0);
}

void PriceIndex::RaiseClaim() {
  const double value = band_.ValueAtRank(TargetAwake());
  awake_limit_ = std::max(awake_limit_, 2 * band_.size());
  if (!(value > claim_.value()) || std::isinf(value)) return;
  MoveClaim(std::log(value));
}

bool PriceIndex::LowerClaim(double step, double enough) {
  if (asleep_ == 0 || claim_.lowest()) return false;
  double log_claim = claim_.log() - step;
  // Lower than what there is to beat is of no use.
  if (enough > 0) log_claim = std::max(log_claim, std::min(std::log(enough), claim_.log()) - 1e-6);
  MoveClaim(log_claim);
  OpenDue();
  while (t_ >= due_.by()) WakeDue(kWakeBatch);
  return true;
}

void PriceIndex::FileAll() {
  filed_ = true;
  RenewCalendars();
  // A first claim from a sample of values that move; any would do, at a cost.
  std::vector<double> sample;
  const bool few = unfiled_pages_.size() < kFewUnfiled;
  const auto page_at = [&](size_t i) {
    return few ? unfiled_pages_[i] : PageId(static_cast<uint32_t>(i));
  };
  size_t end = few ? unfiled_pages_.size() : rows_.size();
  while (!few && end > 0 && !Has(page_at(end - 1))) --end;
  for (size_t i = 0; i < end; i += std::max<size_t>(1, end / 4096)) {
    const PageId page = page_at(i);
    if (PlaceOf(page) != Place::kUnfiled) continue;
    const IndexEntry entry = *Find(page);
    const double value = CrawlValue(ValueOf(entry), ExponentAt(entry, now_));
    if (value > 0 && std::isfinite(value)) sample.push_back(value);
  }
  if (!sample.empty()) {
    const double share = static_cast<double>(2 * TargetAwake()) / static_cast<double>(size_);
    const auto rank = std::min(static_cast<size_t>(share * static_cast<double>(sample.size())),
                               sample.size() - 1);
    std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(rank),
                     sample.end(), std::greater<>());
    const double log_claim = std::log(sample[rank]);
    claim_.Rebase(log_claim);
  }
  awake_limit_ = 16 * TargetAwake();
  for (size_t i = 0; i < end; ++i) {
    const PageId page = page_at(i);
    if (PlaceOf(page) != Place::kUnfiled) continue;
    --unfiled_;
    File(rows_[page], {});
    if (band_.size() > awake_limit_) RaiseClaim();
  }
  unfiled_pages_ = {};
  DCHECK(unfiled_ == 0);
}

// --- The pick ---

namespace {

ValueJet PlainPageJet(const AwakePage& page, double elapsed) {
  const auto importance = static_cast<double>(page.importance);
  const auto rate = static_cast<double>(page.rate);
  return PlainValueJet(page.per_change ? importance / rate : importance, rate, rate * elapsed);
}

}  // namespace

ValueJet PriceIndex::Evaluate(uint32_t slot) {
  ++evaluations_;
  const AwakePage& page = band_[slot];
  const double elapsed = std::max((now_ - Instant::FromMicros(page.turn)).seconds(), 0.0);
  if (page.plain) return PlainPageJet(page, elapsed);
  if (!page.prepared) {
    const IndexRecord& record = rows_.record(page.page);
    band_.Prepare(slot, ValueOf(PolicyOf(record), record));
  }
  const ValueParameters& value = band_.value(slot);
  if (page.running) return CrawlValueJet(value, value.speed * elapsed);
  return CrawlValueJet(value, StandingExponent(rows_.record(page.page)));
}

// Inlined early, as what it calls: see PageRows.
[[gnu::always_inline]] inline void PriceIndex::PrefetchHot() const {
  for (const uint32_t slot : band_.hot()) {
    rows_.PrefetchRecord(band_[slot].page);
    if (blocked_pages_ > 0) rows_.PrefetchHost(band_[slot].page);
  }
}

void PriceIndex::SplitWarm(double shorter, std::optional<double> reach) {
  pace_.BeginHot();
  const AwakeBand::Period hot = pace_.Hot(shorter, reach.value_or(0));
  band_.SplitWarm(t_, now_, hot);
  PrefetchHot();
  if (!reach && band_.PrepareDue(t_, pace_.Warm(1, 0))) unexamined_ = kExamineCalls;
}

void PriceIndex::Examine() {
  --unexamined_;
  band_.Prepare(t_, now_, pace_.Warm(1, 0), pace_.Hot(1, 0).length / kExamineCalls,
                [this](uint32_t slot) { return Evaluate(slot); });
  DCHECK(band_.Holds());
}

void PriceIndex::Split(double shorter, std::optional<double> reach) {
  pace_.Begin(t_, size_);
  band_.Split(t_, now_, pace_.Warm(shorter, reach.value_or(0)),
              pace_.Hot(shorter, reach.value_or(0)),
              [this](uint32_t slot) { return Evaluate(slot); });
  DCHECK(band_.Holds());
  PrefetchHot();
  unexamined_ = 0;
  if (!reach) untidy_ = kTidyCalls;
}

void PriceIndex::Tidy() {
  if (untidy_-- == kTidyCalls) {
    RenewCalendars();
    awake_limit_ = 16 * TargetAwake();
    SteerClaim();
    return;
  }
  // What the claim has left behind sleeps again, a few at a time. Pages that woke a bucket early
  // stay: they would wake again at once.
  slots_.clear();
  const double early = 6 / static_cast<double>(calendars_.buckets());
  const bool crowded = band_.size() > 8 * TargetAwake();
  band_.ListBelow(claim_.level_price() * std::exp(-early), crowded ? kTidiedOfACrowd : kTidiedACall,
                  &slots_);
  for (const uint32_t slot : slots_) {
    const PageRow row = rows_[band_[slot].page];
    (void)Unfile(row);
    File(row, {});
  }
}

std::optional<IndexPick> PriceIndex::BestForced() {
  while (!forced_.empty()) {
    const PageAlarm top = forced_.front();
    const PageTimes* times = Has(top.id) ? TimesOf(top.id) : nullptr;
    const bool current =
        times != nullptr && PlaceOf(top.id) == Place::kForced && times->forced_at == top.at;
    const HostId host = current ? rows_.host(top.id) : HostId();
    if (current && !Blocked(host)) return IndexPick{top.id, kInfinity};
    std::pop_heap(forced_.begin(), forced_.end());
    forced_.pop_back();
    if (!current) continue;
    WaitingHost& gate = hosts_[host.value()];
    if (gate.pool == 0) gate.pool = pools_.Make();
    Wait(rows_[top.id], gate.pool, kInfinity, kInfinity);
  }
  return std::nullopt;
}

std::optional<IndexPick> PriceIndex::BestAwake() {
  AwakeBand::Leader leader = band_.ReadBounds(t_);
  size_t tightened = 0;
  for (;; leader = band_.Top()) {
    const uint32_t slot = leader.slot;
    if (slot == AwakeBand::kNone) return std::nullopt;
    const AwakePage& page = band_[slot];
    if (blocked_pages_ > 0 && Blocked(rows_.host(page.page))) {
      ParkAwake(slot);
      continue;
    }
    if (page.exact && page.since == now_) {
      if (leader.bound == page.jet.value) return IndexPick{page.page, page.jet.value};
      band_.TakeValue(slot);
    } else {
      const ValueJet jet = Evaluate(slot);
      // Mostly it stays the highest, and leaves with this pick.
      if (jet.value > leader.next) return IndexPick{page.page, jet.value};
      band_.Tighten(slot, jet, t_, now_);
    }
    if (++tightened == kOneByOne) TightenAbove(page.jet.value);
  }
}

void PriceIndex::TightenAbove(double value) {
  slots_.clear();
  band_.ListAbove(value, &slots_);
  for (const uint32_t slot : slots_) {
    const AwakePage& page = band_[slot];
    if (page.exact && page.since == now_) {
      band_.TakeValue(slot);
    } else {
      band_.Tighten(slot, Evaluate(slot), t_, now_);
    }
  }
}

void PriceIndex::ParkAwake(uint32_t slot) {
  const PageRow row = rows_[band_[slot].page];
  IndexRecord& record = row.record();
  const ValueJet jet = Evaluate(slot);
  const ValueParameters value =
      band_[slot].prepared ? band_.value(slot) : ValueOf(PolicyOf(record), record);
  (void)Unfile(row);
  record.NextTag();
  Park(row, value, jet);
}

void PriceIndex::WakeFirst(uint32_t pool, double rival) {
  const PageRow row = rows_[pools_.First(pool).page()];
  if (pool != 0) pools_.price(pool) = rival;
  (void)Unfile(row);
  File(row, {}, rival);
}

bool PriceIndex::WakeRival(const std::optional<IndexPick>& best) {
  const uint32_t pool = pools_.Top();
  if (pool == BoundPools::kNone) return false;
  const double reach = best ? best->value : -1;
  const WaitingPage& first = pools_.First(pool);
  const bool may_win =
      best ? BoundPools::Precedes(first, {reach, best->page}, Turns()) : first.bound() > reach;
  const bool lowest = asleep_ == 0 || claim_.lowest();
  // Below the claim sleeping pages come first.
  if (!may_win || !(first.bound() >= claim_.value() || lowest || reach >= claim_.value())) {
    return false;
  }
  WakeFirst(pool, best ? reach : lowest ? -1 : claim_.value());
  return true;
}

bool PriceIndex::Advance() {
  if (AlarmRings()) RingAlarms();
  if (size_ == 0) return false;
  if (!filed_) FileAll();
  if (blocked_pages_ == size_ || barren_) return false;
  // What may wait a pick does, so that no pick has all the work.
  bool busy = true;
  if (t_ > band_.warm_end() || pace_.late()) {
    Split(1, {});
  } else if (t_ > band_.hot_end() || pace_.hot_late()) {
    SplitWarm(1, {});
  } else if (untidy_ > 0) {
    Tidy();
  } else if (unexamined_ > 0) {
    Examine();
  } else {
    busy = false;
  }
  // What is opened now is filed from the next pick on: its records are on their way till then.
  if (t_ >= calendars_.next_open()) {
    busy = true;
    OpenDue();
  }
  while (t_ >= due_.by()) WakeDue(kWakeBatch);
  if (!due_.empty()) WakeDue(busy ? 0 : kWakeAPick);
  return true;
}

std::optional<IndexPick> PriceIndex::Best(Instant at) {
  CHECK(at >= now_, "time steps back from {} to {}", now_.micros(), at.micros());
  if (!filed_) origin_ = at;
  if (at != now_) pace_.Tick();
  now_ = at;
  t_ = Seconds(at);
  if (!Advance()) return std::nullopt;
  double step = 0;
  double shorter = 1;
  double shorter_hot = 1;
  for (;;) {
    if (const auto forced = forced_.empty() ? std::nullopt : BestForced()) {
      // One that had to wait for its host may have been forced earlier.
      const uint32_t first = pools_.Top();
      const WaitingPage turn(kInfinity, forced->page);
      if (first == BoundPools::kNone || !BoundPools::Precedes(pools_.First(first), turn, Turns())) {
        return forced;
      }
      WakeFirst(first, kInfinity);
      continue;
    }
    const std::optional<IndexPick> best = BestAwake();
    const double reach = best ? best->value : -1;
    if (band_.BelowHotLevel(reach)) {
      SplitWarm(shorter_hot, reach);
      shorter_hot *= 4;
      continue;
    }
    if (band_.BelowWarmLevel(reach)) {
      Split(shorter, reach);
      shorter *= 4;
      continue;
    }
    if (WakeRival(best)) continue;
    if (reach < claim_.value()) {
      step = step > 0 ? 2 * step : 0.25 / static_cast<double>(TargetAwake());
      if (LowerClaim(step, best ? reach : 0)) continue;
    }
    if (best) pace_.Note(best->value);
    barren_ = !best;
    DCHECK(HoldsForNext(4));
    return best;
  }
}

}  // namespace freshet
