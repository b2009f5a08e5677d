#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/index/price_index_impl.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Pages that a wheel hands out ahead of time are filed a few at every pick.
constexpr size_t kWakeAPick = 4;
constexpr size_t kWakeBatch = 32;
// After each split the threshold is steered in one pick and the band tidied in the others of so
// many, each of which files so many pages; more of them while far too many are awake.
constexpr int kTidyCalls = 5;
constexpr size_t kTidiedACall = 2;
constexpr size_t kTidiedOfACrowd = 8;
// After a split of warm pages the next period of them is prepared in so many picks.
constexpr int kExamineCalls = 2;
// More contenders than this are evaluated in one pass: thousands of pages may be worth the same, as
// an import of crawls of one day makes them, and each would take a search among all of them.
constexpr size_t kOneByOne = 64;
// Picks are worth far more than what moves where they are worth so many times the threshold.
constexpr double kFarAbove = 8;
// The threshold is placed once this share of all pages was picked, because the pace tells where. As
// long as fewer than this sleep it is corrected at once, later so that about so many wake at a
// time.
constexpr double kPlacedAfter = 1.0 / 256;
constexpr double kFewAsleep = 1.0 / 64;
constexpr double kFarPages = 1 << 14;

}  // namespace

// --- Records ---

void PriceIndex::Impl::SetPlace(PageRow row, Place place, uint32_t position) {
  IndexRecord& record = row.record();
  record.set_place(place);
  // A waiting page has been told its position by its pool already, or will be.
  if (place != Place::kWaiting) record.position = position;
}

Crossing PriceIndex::Impl::TakeOut(PageRow row) {
  const bool slept = row.record().place() == Place::kAsleep;
  const Crossing crossing = Unfile(row);
  // Its wheel still has an entry of it, which does not count any more.
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

void PriceIndex::Impl::GrowTo(size_t pages, size_t hosts) {
  pages_.GrowTo(pages);
  hosts_.GrowTo(hosts);
}

void PriceIndex::Impl::Put(PageId page, const IndexEntry& entry) {
  GrowTo(size_t{page.value()} + 1, size_t{entry.host.value()} + 1);
  const PageRow row = pages_[page];
  const Place before = row.record().place();
  if (before != Place::kNone) {
    (void)TakeOut(row);
    hosts_.RemovePage(row.host());
  }
  pages_.Enter(row, entry, now_);
  hosts_.AddPage(entry.host);
  for (const Instant at : {entry.eligible_from, entry.forced_at}) {
    if (at > now_ && !at.infinite()) alarms_.Push({at, page});
  }
  none_eligible_ = false;
  if (before == Place::kSuspended) {
    SetPlace(row, Place::kSuspended, 0);
  } else {
    File(row, {});
  }
}

void PriceIndex::Impl::Restart(PageId page, double exponent, Instant since) {
  CHECK(pages_.Has(page), "page {} is not in", page.value());
  CHECK(exponent >= 0, "exponent {}", exponent);
  const PageRow row = pages_[page];
  const bool suspended = row.record().place() == Place::kSuspended;
  const Crossing crossing = TakeOut(row);
  pages_.Restart(row, exponent, since);
  none_eligible_ = false;
  if (suspended) return;
  File(row, crossing);
}

void PriceIndex::Impl::Remove(PageId page) {
  if (!pages_.Has(page)) return;
  const PageRow row = pages_[page];
  (void)TakeOut(row);
  hosts_.RemovePage(row.host());
  pages_.Leave(row);
  SetPlace(row, Place::kNone, 0);
}

void PriceIndex::Impl::Suspend(PageId page) {
  CHECK(pages_.Has(page), "page {} is not in", page.value());
  const PageRow row = pages_[page];
  (void)TakeOut(row);
  SetPlace(row, Place::kSuspended, 0);
}

void PriceIndex::Impl::Resume(PageId page) {
  CHECK(pages_.Has(page), "page {} is not in", page.value());
  if (pages_.PlaceOf(page) != Place::kSuspended) return;
  none_eligible_ = false;
  File(pages_[page], {});
}

void PriceIndex::Impl::SetHostFree(HostId host, Instant free_at) {
  if (hosts_.SetFree(host, free_at, now_)) SetOpen(hosts_[host]);
}

void PriceIndex::Impl::SetHostGroup(HostId host, GroupId group) {
  if (groups_.Of(host) == group) return;
  GrowTo(0, size_t{host.value()} + 1);
  groups_.Put(host, group);
  none_eligible_ = false;
  if (hosts_[host].pool != 0) pools_.Move(hosts_[host].pool, group, Turns());
}

void PriceIndex::Impl::SetGroupFree(GroupId group, Instant free_at) {
  if (groups_.SetFree(group, free_at, now_)) SetOpen(group);
}

void PriceIndex::Impl::SetOpen(GroupId group) {
  const bool blocked = groups_.IsBlocked(group);
  if (!blocked) none_eligible_ = false;
  pools_.SetGroupOpen(group, !blocked, Turns());
}

// The host has become free, or is not any more.
void PriceIndex::Impl::SetOpen(const IndexHost& host) {
  if (!host.blocked) none_eligible_ = false;
  if (host.pool != 0) pools_.SetOpen(host.pool, !host.blocked, Turns());
}

// --- Time ---

bool PriceIndex::Impl::AlarmRings() const {
  return hosts_.Rings(now_) || groups_.Rings(now_) || alarms_.Rings(now_) || expiries_.Rings(t_);
}

void PriceIndex::Impl::RingAlarms() {
  while (const std::optional<HostId> host = hosts_.NextFree(now_)) SetOpen(hosts_[*host]);
  while (const std::optional<GroupId> group = groups_.NextFree(now_)) SetOpen(*group);
  while (alarms_.Rings(now_)) {
    const auto alarm = alarms_.Pop();
    const PageTimes* times = pages_.Has(alarm.id) ? pages_.TimesOf(alarm.id) : nullptr;
    if (times == nullptr || pages_.PlaceOf(alarm.id) == Place::kSuspended) continue;
    if (times->eligible_from != alarm.at && times->forced_at != alarm.at) continue;
    none_eligible_ = false;
    const PageRow row = pages_[alarm.id];
    File(row, Unfile(row));
  }
  while (expiries_.Rings(t_)) {
    const auto expiry = expiries_.Pop();
    const PageRow row = pages_[expiry.id];
    if (row.record().place() != Place::kWaiting || row.record().tag() != expiry.tag) continue;
    File(row, Unfile(row));
  }
}

void PriceIndex::Impl::OpenDue() {
  for (;;) {
    const std::optional<OpenedBucket> opened = wheels_.Open(t_, due_.Room());
    if (!opened) return;
    due_.Add(opened->by, opened->slow_high);
    if (t_ < opened->by) {
      // Other buckets that are not due either can wait for the next pick.
      if (t_ < wheels_.next_due()) return;
      continue;
    }
    while (t_ >= due_.by()) WakeDue(kWakeBatch);
    if (band_.size() > awake_limit_) RaiseThreshold();
  }
}

// --- The threshold ---

size_t PriceIndex::Impl::TargetAwake() const {
  const double root = std::sqrt(static_cast<double>(pages_.size()));
  return static_cast<size_t>(std::clamp(root, 32.0, 16384.0));
}

void PriceIndex::Impl::MoveThreshold(double log_threshold) {
  const double before = threshold_.log();
  threshold_.Set(log_threshold);
  const double rise = threshold_.log() - before;
  wheels_.MoveThreshold(rise, t_);
  if (rise < 0) due_.ThresholdFell(-rise);
}

// Moves rarely: each time the threshold falls and rises again, wheels wake pages earlier than
// they need (docs/index-tuning.md).
void PriceIndex::Impl::SteerThreshold() {
  const bool far = !placed_ || pace_.price() > kFarAbove * threshold_.value();
  const size_t target = TargetAwake();
  const size_t lines = band_.CountAtLeast(threshold_.value());
  const size_t above = band_.size() > 0 ? lines * band_.pages() / band_.size() : 0;
  if (far) SteerFarBelow(above);
  if (above > 4 * target || band_.size() > 8 * target) RaiseThreshold();
  if (far) return;
  if (4 * above < target) descending_ = true;
  if (above >= target) descending_ = false;
  // So far that about as many pages wake as are picked.
  if (descending_) (void)LowerThreshold(kWakeBatch / static_cast<double>(pages_.size()), 0);
}

double PriceIndex::Impl::PriceAhead() const {
  constexpr size_t kSample = 32;
  if (!pace_.known()) return 0;
  const double cycle = pace_.interval() * static_cast<double>(pages_.size());
  std::array<double, kSample> values{};
  size_t known = 0;
  for (size_t i = 0; i < kSample; ++i) {
    const PageId page(static_cast<uint32_t>(pages_.room() * (2 * i + 1) / (2 * kSample)));
    if (!pages_.Has(page)) continue;
    const IndexRecord& record = pages_.record(page);
    const ValueParameters value = ValueOf(pages_.PolicyOf(record), record);
    const double ahead = CrawlValue(value, value.speed * cycle);
    if (ahead > 0) values[known++] = ahead;
  }
  if (known == 0) return 0;
  std::sort(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(known));
  return values[known / 2];
}

// What is picked meanwhile stands still, as pages do that nobody has crawled yet. What moves is
// filed for the time when they are through, and no page need wake before.
void PriceIndex::Impl::SteerFarBelow(size_t awake) {
  const auto pages = static_cast<double>(pages_.size());
  if (!placed_ && pace_.total() < kPlacedAfter * pages) return;
  const double ahead = PriceAhead();
  if (!(ahead > 0)) return;
  const double rise = std::log(ahead) - threshold_.log();
  const bool few_asleep = static_cast<double>(asleep_) < kFewAsleep * pages;
  if (!placed_) {
    DCHECK(asleep_ == 0);
    threshold_.Rebase(std::log(ahead));
    placed_ = true;
  } else if (rise > 1 && kFarAbove * ahead < pace_.price()) {
    if (few_asleep || awake > 4 * TargetAwake()) MoveThreshold(threshold_.log() + rise);
  } else if (rise < -1 && 4 * awake < TargetAwake()) {
    (void)LowerThreshold(few_asleep ? -rise : std::clamp(kFarPages / pages, 0x1p-10, 0x1p-4), 0);
  }
}

void PriceIndex::Impl::RaiseThreshold() {
  const double value = band_.ValueAtRank(TargetAwake());
  awake_limit_ = std::max(awake_limit_, 2 * band_.size());
  if (!(value > threshold_.value()) || std::isinf(value)) return;
  MoveThreshold(std::log(value));
}

bool PriceIndex::Impl::LowerThreshold(double step, double enough) {
  if (threshold_.lowest()) return false;
  if (asleep_ == 0) {
    if (placed_ && enough > 0) MoveThreshold(std::min(std::log(enough), threshold_.log()));
    return false;
  }
  double log_threshold = threshold_.log() - step;
  // Lower than what there is to beat is of no use.
  if (enough > 0)
    log_threshold = std::max(log_threshold, std::min(std::log(enough), threshold_.log()) - 1e-6);
  MoveThreshold(log_threshold);
  OpenDue();
  while (t_ >= due_.by()) WakeDue(kWakeBatch);
  return true;
}

void PriceIndex::Impl::FileAll() {
  filed_ = true;
  RenewWheels();
  // A first threshold from a sample of values that move; any would do, at a cost.
  std::vector<double> sample;
  std::vector<double> still;
  const bool few = unfiled_pages_.size() < kFewUnfiled;
  const auto page_at = [&](size_t i) {
    return few ? unfiled_pages_[i] : PageId(static_cast<uint32_t>(i));
  };
  size_t end = few ? unfiled_pages_.size() : pages_.room();
  while (!few && end > 0 && !pages_.Has(page_at(end - 1))) --end;
  for (size_t i = 0; i < end; i += std::max<size_t>(1, end / 4096)) {
    const PageId page = page_at(i);
    if (pages_.PlaceOf(page) != Place::kUnfiled) continue;
    const IndexEntry entry = *pages_.Find(page);
    const double value = CrawlValue(ValueOf(entry), ExponentAt(entry, now_));
    const bool moves = std::isfinite(entry.exponent) && !entry.since.infinite();
    if (value > 0 && std::isfinite(value)) (moves ? sample : still).push_back(value);
  }
  placed_ = !sample.empty();
  if (!placed_) sample = std::move(still);
  if (!sample.empty()) {
    const double share =
        static_cast<double>(2 * TargetAwake()) / static_cast<double>(pages_.size());
    const auto rank = std::min(static_cast<size_t>(share * static_cast<double>(sample.size())),
                               sample.size() - 1);
    std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(rank),
                     sample.end(), std::greater<>());
    const double log_threshold = std::log(sample[rank]);
    threshold_.Rebase(log_threshold);
  }
  awake_limit_ = 16 * TargetAwake();
  for (size_t i = 0; i < end; ++i) {
    const PageId page = page_at(i);
    if (pages_.PlaceOf(page) != Place::kUnfiled) continue;
    --unfiled_;
    File(pages_[page], {});
    if (band_.size() > awake_limit_) RaiseThreshold();
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

ValueJet PriceIndex::Impl::Evaluate(uint32_t slot) {
  ++evaluations_;
  const AwakePage& page = band_[slot];
  const double elapsed = std::max((now_ - Instant::FromMicros(page.turn)).seconds(), 0.0);
  if (page.plain) return PlainPageJet(page, elapsed);
  if (!page.prepared) {
    const IndexRecord& record = pages_.record(page.page);
    band_.Prepare(slot, ValueOf(pages_.PolicyOf(record), record));
  }
  const ValueParameters& value = band_.value(slot);
  if (page.running) return CrawlValueJet(value, value.speed * elapsed);
  return CrawlValueJet(value, StandingExponent(pages_.record(page.page)));
}

// Inlined early, as what it calls: see PageRows.
[[gnu::always_inline]] inline void PriceIndex::Impl::PrefetchHot() const {
  for (const uint32_t slot : band_.hot()) {
    pages_.PrefetchRecord(band_[slot].page);
    if (AnyBlocked()) pages_.PrefetchHost(band_[slot].page);
  }
}

void PriceIndex::Impl::SplitWarm(double shorter, std::optional<double> reach) {
  pace_.BeginHot();
  const AwakeBand::Period hot = pace_.Hot(shorter, reach.value_or(0));
  band_.SplitWarm(t_, now_, hot);
  PrefetchHot();
  if (!reach && band_.PrepareDue(t_, pace_.Warm(1, 0))) unexamined_ = kExamineCalls;
}

void PriceIndex::Impl::Examine() {
  --unexamined_;
  band_.Prepare(t_, now_, pace_.Warm(1, 0), pace_.Hot(1, 0).length / kExamineCalls,
                [this](uint32_t slot) { return Evaluate(slot); });
  DCHECK(band_.Holds());
}

void PriceIndex::Impl::Split(double shorter, std::optional<double> reach) {
  pace_.Begin(t_, pages_.size());
  band_.Split(t_, now_, pace_.Warm(shorter, reach.value_or(0)),
              pace_.Hot(shorter, reach.value_or(0)),
              [this](uint32_t slot) { return Evaluate(slot); });
  DCHECK(band_.Holds());
  PrefetchHot();
  unexamined_ = 0;
  if (!reach) untidy_ = kTidyCalls;
}

void PriceIndex::Impl::Tidy() {
  if (untidy_-- == kTidyCalls) {
    RenewWheels();
    awake_limit_ = 16 * TargetAwake();
    SteerThreshold();
    return;
  }
  // What the threshold has left behind sleeps again, a few at a time. Pages that woke a bucket
  // early stay: they would wake again at once.
  slots_.clear();
  const double early = 6 / static_cast<double>(wheels_.buckets());
  const bool crowded = band_.size() > 8 * TargetAwake();
  band_.ListBelow(threshold_.level_price() * std::exp(-early),
                  crowded ? kTidiedOfACrowd : kTidiedACall, &slots_);
  for (const uint32_t slot : slots_) {
    const PageRow row = pages_[band_[slot].page];
    (void)Unfile(row);
    File(row, {});
  }
}

std::optional<IndexPick> PriceIndex::Impl::BestForced() {
  while (!forced_.empty()) {
    const auto top = forced_.First();
    const PageTimes* times = pages_.Has(top.id) ? pages_.TimesOf(top.id) : nullptr;
    const bool current =
        times != nullptr && pages_.PlaceOf(top.id) == Place::kForced && times->forced_at == top.at;
    const HostId host = current ? pages_.host(top.id) : HostId();
    if (current && !Blocked(host)) return IndexPick{top.id, kInfinity};
    (void)forced_.Pop();
    if (!current) continue;
    Wait(pages_[top.id], PoolOf(host), kInfinity, kInfinity);
  }
  return std::nullopt;
}

std::optional<IndexPick> PriceIndex::Impl::BestAwake() {
  AwakeBand::Leader leader = band_.ReadBounds(t_);
  size_t tightened = 0;
  for (;; leader = band_.Top()) {
    const uint32_t slot = leader.slot;
    if (slot == AwakeBand::kNone) return std::nullopt;
    const AwakePage& page = band_[slot];
    if (AnyBlocked() && Blocked(pages_.host(page.page))) {
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

void PriceIndex::Impl::TightenAbove(double value) {
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

void PriceIndex::Impl::ParkAwake(uint32_t slot) {
  const PageRow row = pages_[band_[slot].page];
  IndexRecord& record = row.record();
  const ValueJet jet = Evaluate(slot);
  const ValueParameters value =
      band_[slot].prepared ? band_.value(slot) : ValueOf(pages_.PolicyOf(record), record);
  (void)Unfile(row);
  record.NextTag();
  Park(row, value, jet);
}

void PriceIndex::Impl::WakeFirst(uint32_t pool, double rival) {
  const PageRow row = pages_[pools_.First(pool).page()];
  if (pool != 0) pools_.price(pool) = rival;
  (void)Unfile(row);
  File(row, {}, rival);
}

bool PriceIndex::Impl::WakeRival(const std::optional<IndexPick>& best) {
  const uint32_t pool = pools_.Top(Turns());
  if (pool == BoundPools::kNone) return false;
  const double reach = best ? best->value : -1;
  const WaitingPage& first = pools_.First(pool);
  const bool may_win =
      best ? BoundPools::Precedes(first, {reach, best->page}, Turns()) : first.bound() > reach;
  const bool lowest = asleep_ == 0 || threshold_.lowest();
  // Below the threshold sleeping pages come first.
  if (!may_win || !(first.bound() >= threshold_.value() || lowest || reach >= threshold_.value())) {
    return false;
  }
  WakeFirst(pool, best ? reach : lowest ? -1 : threshold_.value());
  return true;
}

bool PriceIndex::Impl::Advance() {
  if (AlarmRings()) RingAlarms();
  if (pages_.size() == 0) return false;
  if (!filed_) FileAll();
  if (hosts_.blocked_pages() == pages_.size() || none_eligible_) return false;
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
  if (t_ >= wheels_.next_open()) {
    busy = true;
    OpenDue();
  }
  while (t_ >= due_.by()) WakeDue(kWakeBatch);
  if (!due_.empty()) WakeDue(busy ? 0 : kWakeAPick);
  return true;
}

std::optional<IndexPick> PriceIndex::Impl::Best(Instant at) {
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
      const uint32_t first = pools_.Top(Turns());
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
    if (reach < threshold_.value()) {
      step = step > 0 ? 2 * step : 0.25 / static_cast<double>(TargetAwake());
      const double next = wheels_.FallToNext(t_);
      // Not blindly where nothing wakes before: what follows may be many pages.
      const bool far = next > step && !std::isinf(next);
      if (LowerThreshold(far ? next : step, best ? reach : 0)) {
        if (far) step = 0;
        continue;
      }
    }
    if (best) pace_.Note(best->value);
    none_eligible_ = !best;
    DCHECK(HoldsForNext(4));
    return best;
  }
}

// --- What users call ---

PriceIndex::PriceIndex() : impl_(std::make_unique<Impl>()) {}
PriceIndex::~PriceIndex() = default;
void PriceIndex::GrowTo(size_t pages, size_t hosts) { impl_->GrowTo(pages, hosts); }
void PriceIndex::Put(PageId page, const IndexEntry& entry) { impl_->Put(page, entry); }
void PriceIndex::Restart(PageId page, double exponent, Instant since) {
  impl_->Restart(page, exponent, since);
}
void PriceIndex::Remove(PageId page) { impl_->Remove(page); }
void PriceIndex::Suspend(PageId page) { impl_->Suspend(page); }
void PriceIndex::Resume(PageId page) { impl_->Resume(page); }
void PriceIndex::SetHostFree(HostId host, Instant free_at) { impl_->SetHostFree(host, free_at); }
void PriceIndex::SetHostGroup(HostId host, GroupId group) { impl_->SetHostGroup(host, group); }
void PriceIndex::SetGroupFree(GroupId group, Instant free_at) {
  impl_->SetGroupFree(group, free_at);
}
std::optional<IndexPick> PriceIndex::Best(Instant at) { return impl_->Best(at); }
std::optional<IndexEntry> PriceIndex::Find(PageId page) const { return impl_->Find(page); }
HostId PriceIndex::HostOf(PageId page) const { return impl_->HostOf(page); }
double PriceIndex::ExponentOf(PageId page, Instant at) const { return impl_->ExponentOf(page, at); }
size_t PriceIndex::size() const { return impl_->size(); }
size_t PriceIndex::awake() const { return impl_->awake(); }
uint64_t PriceIndex::evaluations() const { return impl_->evaluations(); }
uint64_t PriceIndex::entries() const { return impl_->entries(); }

}  // namespace freshet
