#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/index/price_index_impl.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Each pick refiles this many of the pages that wheels have handed out early.
constexpr size_t kWakeAPick = 4;
// The first kTidyCalls picks after each split do maintenance: the first one steers the threshold,
// and the others tidy the band. A tidying pick refiles kTidiedACall pages, or kTidiedOfACrowd while
// far too many pages are awake.
constexpr int kTidyCalls = 5;
constexpr size_t kTidiedACall = 2;
constexpr size_t kTidiedOfACrowd = 8;
// The number of picks after a split that prepare the next period of warm pages.
constexpr int kExamineCalls = 2;
// If a pick has more contenders than this, it evaluates all of them in one pass. Thousands of pages
// can have the same value, for example if their imported crawls are all of one day. Evaluating them
// one by one would take a search among all contenders for each page.
constexpr size_t kOneByOne = 64;
// One host can have any number of pages of nearly equal value. A pick wakes at most this many pages
// that wait for their host, and parks at most this many awake ones. After that, the pick takes the
// best page that it has found.
constexpr size_t kMostRivals = 256;
// A pass over the hot pages parks one page in this many. This costs about as much as the rest of
// the pass.
constexpr size_t kParkedAPass = 64;
// A pass parks at most this many further pages of each shared line.
constexpr size_t kMostOfALine = 1024;
// A bound below all values. A page with this bound is not considered again in this pick.
constexpr double kPassedOver = -1;
// Picks that are worth more than this many times the threshold are worth far more than pages whose
// values still grow.
constexpr double kFarAbove = 8;
// If no value grew at the first pick, the first threshold is only a guess. It is replaced once the
// share kPlacedAfter of all pages has been picked, because the pace is then known well enough.
// While less than the share kFewAsleep of all pages sleep, the threshold is corrected in one step.
// Later it falls in small steps, which wake about kFarPages pages each.
constexpr double kPlacedAfter = 1.0 / 256;
constexpr double kFewAsleep = 1.0 / 64;
constexpr double kFarPages = 1 << 14;
// Clients choose instants, so any number of pages and hosts can become free at one instant. A pick
// handles at most this many, and later picks the rest.
constexpr size_t kRungAPick = 2048;

// The approximate value of picks when every page has been crawled once; 0 = not known.
double PriceAhead(const IndexPages& pages, const PickPace& pace) {
  constexpr size_t kSample = 32;
  if (!pace.known()) return 0;
  const double cycle = pace.interval() * static_cast<double>(pages.size());
  std::array<double, kSample> values{};
  size_t known = 0;
  for (size_t i = 0; i < kSample; ++i) {
    const PageId page(static_cast<uint32_t>(pages.room() * (2 * i + 1) / (2 * kSample)));
    if (!pages.Has(page)) continue;
    const IndexRecord& record = pages.record(page);
    const ValueParameters value = ValueOf(pages.PolicyOf(record), record);
    const double ahead = CrawlValue(value, value.speed * cycle);
    if (ahead > 0) values[known++] = ahead;
  }
  if (known == 0) return 0;
  std::sort(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(known));
  return values[known / 2];
}

}  // namespace

// --- Records ---

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
  const bool other_times = pages_.Enter(row, entry, now_);
  hosts_.AddPage(entry.host);
  if (other_times) alarms_.Set(page, now_);
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
  waiting_.Move(host, group);
}

void PriceIndex::Impl::SetGroupFree(GroupId group, Instant free_at) {
  if (groups_.SetFree(group, free_at, now_)) SetOpen(group);
}

void PriceIndex::Impl::SetOpen(GroupId group) {
  if (!groups_.IsBlocked(group)) none_eligible_ = false;
  waiting_.SetOpen(group);
}

// Call this when the host has become free or blocked.
void PriceIndex::Impl::SetOpen(const IndexHost& host) {
  if (!host.blocked) none_eligible_ = false;
  waiting_.SetOpen(host);
}

// --- Time ---

bool PriceIndex::Impl::AlarmRings() const {
  return hosts_.Rings(now_) || groups_.Rings(now_) || alarms_.Rings(now_) || waiting_.Expires(t_);
}

void PriceIndex::Impl::RingAlarms() {
  size_t left = kRungAPick;
  while (const std::optional<HostId> host = hosts_.NextFree(now_, &left)) SetOpen(hosts_[*host]);
  while (const std::optional<GroupId> group = groups_.NextFree(now_, &left)) SetOpen(*group);
  while (const std::optional<PageId> page = alarms_.NextDue(now_, &left)) {
    if (pages_.PlaceOf(*page) == Place::kSuspended) continue;
    none_eligible_ = false;
    const PageRow row = pages_[*page];
    File(row, Unfile(row));
  }
  while (waiting_.Expires(t_)) {
    const std::optional<PageId> page = waiting_.PopExpired();
    if (!page) continue;
    const PageRow row = pages_[*page];
    File(row, Unfile(row));
  }
}

// --- The threshold ---

// The threshold moves rarely: each time it falls and rises again, wheels wake pages too early
// (docs/index-tuning.md).
void PriceIndex::Impl::SteerThreshold() {
  const bool far = !placed_ || pace_.price() > kFarAbove * threshold_.value();
  const size_t target = TargetAwake();
  const size_t lines = band_.CountAtLeast(threshold_.value());
  const size_t above =
      band_.size() > 0 ? lines * (band_.size() + band_.shared().followers()) / band_.size() : 0;
  if (far) SteerFarBelow(above);
  if (above > 4 * target || band_.size() > 8 * target) RaiseThreshold();
  if (far) return;
  if (4 * above < target) descending_ = true;
  if (above >= target) descending_ = false;
  // Lowers the threshold just enough that about as many pages wake as are picked.
  if (descending_) (void)LowerThreshold(kWakeBatch / static_cast<double>(pages_.size()), 0);
}

// Steers the threshold while the picked pages have constant values, as pages have before their
// first crawl. Pages whose values grow are filed for the time after these picks, and need not wake
// before then.
void PriceIndex::Impl::SteerFarBelow(size_t awake) {
  const auto pages = static_cast<double>(pages_.size());
  if (!placed_ && pace_.total() < kPlacedAfter * pages) return;
  const double ahead = PriceAhead(pages_, pace_);
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

// --- The pick ---

// Always inlined, like the functions that it calls (see PageRows).
[[gnu::always_inline]] inline void PriceIndex::Impl::PrefetchHot() const {
  for (const uint32_t slot : band_.hot()) {
    pages_.PrefetchRecord(awake_[slot].page);
    if (AnyBlocked()) pages_.PrefetchHost(awake_[slot].page);
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
  // Each tidying pick puts a few pages back to sleep whose values are well below the threshold,
  // because the threshold has risen. Pages that woke only one bucket early stay awake, because they
  // would soon wake again.
  slots_.clear();
  const double early = 6 / static_cast<double>(wheels_.buckets());
  const bool crowded = band_.size() > 8 * TargetAwake();
  band_.ListBelow(threshold_.level_price() * std::exp(-early),
                  crowded ? kTidiedOfACrowd : kTidiedACall, &slots_);
  for (const uint32_t slot : slots_) {
    const PageRow row = pages_[awake_[slot].page];
    (void)Unfile(row);
    File(row, {});
  }
}

std::optional<IndexPick> PriceIndex::Impl::BestForced() {
  while (!forced_.empty()) {
    const auto top = forced_.First();
    const bool current = pages_.IsIn(top.id, Place::kForced, top.tag);
    const HostId host = current ? pages_.host(top.id) : HostId();
    if (current && !Blocked(host)) return IndexPick{top.id, kInfinity};
    (void)forced_.Pop();
    if (!current) continue;
    Wait(pages_[top.id], waiting_.PoolOf(host), kInfinity, kInfinity);
  }
  return std::nullopt;
}

std::optional<IndexPick> PriceIndex::Impl::BestAwake(size_t* parks) {
  AwakeBand::Leader leader = band_.ReadBounds(t_);
  size_t tightened = 0;
  for (;; leader = band_.Top()) {
    const uint32_t slot = leader.slot;
    if (slot == AwakeBand::kNone || leader.bound == kPassedOver) return std::nullopt;
    const AwakePage& page = awake_[slot];
    if (AnyBlocked() && Blocked(pages_.host(page.page))) {
      if (*parks == 0 || --*parks % kOneByOne == 0) {
        LeaveBlocked(parks);
      } else {
        ParkAwake(slot);
      }
      continue;
    }
    if (page.exact && page.since == now_) {
      if (leader.bound == page.jet.value) return IndexPick{page.page, page.jet.value};
      band_.SetBound(slot, page.jet.value);
    } else {
      const ValueJet jet = Evaluate(slot);
      // Usually the page stays the highest, and leaves the band with this pick.
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
    const AwakePage& page = awake_[slot];
    if (page.exact && page.since == now_) {
      band_.SetBound(slot, page.jet.value);
    } else {
      band_.Tighten(slot, Evaluate(slot), t_, now_);
    }
  }
}

void PriceIndex::Impl::ParkAwake(uint32_t slot) {
  const PageRow row = pages_[awake_[slot].page];
  IndexRecord& record = row.record();
  const ValueJet jet = Evaluate(slot);
  const ValueParameters value =
      awake_[slot].prepared ? awake_.value(slot) : ValueOf(pages_.PolicyOf(record), record);
  (void)Unfile(row);
  record.NextTag();
  Park(row, value, jet);
}

// Excludes all blocked hot pages from this pick at once, because each search for the highest bound
// visits all hot pages. Parks as many of these pages as `parks` allows, or a fixed share of them if
// that is more, so that later picks have fewer pages to exclude. Pages that share a line can be on
// different hosts. A line is therefore excluded only if none of its pages can be picked, or if too
// many of them would have to be parked.
void PriceIndex::Impl::LeaveBlocked(size_t* parks) {
  size_t left = std::max(*parks, band_.hot().size() / kParkedAPass);
  *parks = 0;
  size_t of_line = 0;
  for (size_t place = 0; place < band_.hot().size();) {
    const uint32_t slot = band_.hot()[place];
    if (Blocked(pages_.host(awake_[slot].page))) {
      const bool shared = band_.shared().IsFollowed(slot);
      if (left > 0 || (shared && of_line < kMostOfALine)) {
        left > 0 ? --left : ++of_line;
        ParkAwake(slot);  // another page now has this place, or the place is past the end
        continue;
      }
      left_out_ |= shared;
      band_.SetBound(slot, kPassedOver);
    }
    ++place;
    of_line = 0;
  }
}

void PriceIndex::Impl::WakeFirst(uint32_t pool, double rival) {
  const PageRow row = pages_[waiting_.pools().First(pool).page()];
  // The bounds of pages that stand still do not depend on the price.
  if (pool != 0 && row.record().running()) waiting_.pools().price(pool) = rival;
  (void)Unfile(row);
  File(row, {}, rival);
}

bool PriceIndex::Impl::WakeRival(const std::optional<IndexPick>& best) {
  const uint32_t pool = waiting_.Top();
  if (pool == WaitingPages::kNone) return false;
  const double reach = best ? best->value : -1;
  const double bound = waiting_.pools().First(pool).bound();
  const bool may_win = best ? waiting_.FirstPrecedes(pool, reach, best->page) : bound > reach;
  const bool lowest = asleep_ == 0 || threshold_.lowest();
  // If the bound is below the threshold, a sleeping page might be worth more. The threshold must
  // fall first.
  if (!may_win || !(bound >= threshold_.value() || lowest || reach >= threshold_.value())) {
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
  // A pick does only one kind of deferrable work, so that no pick is slow.
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
  // Later picks refile those entries that the wheels hand out now and that are not due yet.
  // Meanwhile their records are prefetched.
  if (t_ >= wheels_.next_open()) {
    busy = true;
    OpenDue();
  }
  WakeAllDue();
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
  size_t rivals = 1;
  size_t rivals_left = kMostRivals;
  size_t parks_left = kMostRivals;
  left_out_ = false;
  for (;;) {
    if (const auto forced = forced_.empty() ? std::nullopt : BestForced()) {
      // A page that waits for its host might have been forced earlier.
      const uint32_t first = waiting_.Top();
      if (first == WaitingPages::kNone || !waiting_.FirstPrecedes(first, kInfinity, forced->page)) {
        return forced;
      }
      WakeFirst(first, kInfinity);
      continue;
    }
    const std::optional<IndexPick> best = BestAwake(&parks_left);
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
    size_t woken = 0;
    for (; woken < rivals && rivals_left > 0 && WakeRival(best); ++woken) --rivals_left;
    if (woken > 0) {
      rivals *= 2;
      continue;
    }
    if (reach < threshold_.value()) {
      step = step > 0 ? 2 * step : 0.25 / static_cast<double>(TargetAwake());
      const double next = wheels_.FallToNext(t_);
      // If no page wakes within `step`, the threshold falls just far enough to wake the next page,
      // because many other pages might follow closely.
      const bool far = next > step && !std::isinf(next);
      if (LowerThreshold(far ? next : step, best ? reach : 0)) {
        if (far) step = 0;
        continue;
      }
    }
    if (best) pace_.Note(best->value);
    none_eligible_ = !best && !left_out_ && rivals_left > 0;
    DCHECK(HoldsForNext(4));
    return best;
  }
}

// --- The public functions ---

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
size_t PriceIndex::alarms() const { return impl_->alarms(); }

}  // namespace freshet
