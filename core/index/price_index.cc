#include "core/index/price_index.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/model/crossing.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The claim is this share of the lowest price of the last two windows. Lower: fewer scans when the
// price falls, more pages awake. Only cost depends on it.
constexpr double kClaimShare = 0.85;
// Bounds are computed with rounding errors of some 1e-15; this covers them many times over.
constexpr double kBoundSlack = 1 + 1e-12;

Instant WaitingSince(const IndexEntry& entry) {
  return entry.forced_at.infinite() ? entry.since : entry.forced_at;
}

// The instant from which the value may be at least `claim`, rounded so that it is never too late.
Instant EarliestAt(const IndexEntry& entry, const ValueParameters& value, double claim) {
  const double seconds = TimeToReach(value, entry.exponent, claim);
  if (std::isinf(seconds)) return entry.forced_at;
  const Duration safe = Duration::FromSeconds(seconds * (1 - 1e-8)) - Duration::Micros(2);
  const Instant since = entry.since.infinite() ? Instant() : entry.since;
  return std::min(entry.forced_at, since + safe);
}

}  // namespace

bool PriceIndex::Current(PageId page, uint32_t version) const {
  return pages_[page.value()].version == version;
}

Instant PriceIndex::HostFreeAt(HostId host) const {
  return host.value() < hosts_.size() ? hosts_[host.value()].free_at : Instant();
}

std::optional<IndexEntry> PriceIndex::Find(PageId page) const {
  if (page.value() >= pages_.size()) return std::nullopt;
  const Page& filed = pages_[page.value()];
  if (filed.place == Place::kNone) return std::nullopt;
  return filed.entry;
}

void PriceIndex::Put(PageId page, const IndexEntry& entry) {
  if (page.value() >= pages_.size()) pages_.resize(page.value() + 1);
  Page& filed = pages_[page.value()];
  if (filed.place == Place::kNone) ++size_;
  filed.entry = Canonical(entry);
  filed.value = ValueOf(filed.entry);
  barren_until_ = Instant();
  if (filed.place != Place::kWithheld) File(page);
}

double PriceIndex::ExponentOf(PageId page, Instant at) const {
  return ExponentAt(pages_[page.value()].entry, pages_[page.value()].value, at);
}

void PriceIndex::Restart(PageId page, double exponent, Instant since) {
  CHECK(Find(page).has_value(), "page {} is not in", page.value());
  IndexEntry entry = pages_[page.value()].entry;
  entry.exponent = exponent;
  entry.since = since;
  Put(page, entry);
}

void PriceIndex::Withhold(PageId page) {
  CHECK(Find(page).has_value(), "page {} is not in", page.value());
  pages_[page.value()].place = Place::kWithheld;
  ++pages_[page.value()].version;
}

void PriceIndex::Offer(PageId page) {
  CHECK(Find(page).has_value(), "page {} is not in", page.value());
  if (pages_[page.value()].place != Place::kWithheld) return;
  barren_until_ = Instant();
  File(page);
}

void PriceIndex::Remove(PageId page) {
  if (!Find(page)) return;
  Page& filed = pages_[page.value()];
  filed.place = Place::kNone;
  ++filed.version;
  --size_;
}

void PriceIndex::SetHostFree(HostId host, Instant free_at) {
  if (host.value() >= hosts_.size()) hosts_.resize(host.value() + 1);
  Host& entry = hosts_[host.value()];
  if (free_at < entry.free_at) barren_until_ = Instant();
  entry.free_at = free_at;
  if (!entry.parked.empty() && !free_at.infinite()) host_wakes_.push({free_at, host});
}

void PriceIndex::File(PageId page) {
  Page& filed = pages_[page.value()];
  const uint32_t version = ++filed.version;
  const Instant wake =
      std::max(filed.entry.eligible_from, EarliestAt(filed.entry, filed.value, claim_));
  if (wake > now_) {
    filed.place = Place::kAsleep;
    if (!wake.infinite()) asleep_.push({wake, page, version});
    return;
  }
  filed.place = Place::kAwake;
  awake_.push_back({BoundUntilHorizon(filed), WaitingSince(filed.entry), page, version});
  std::push_heap(awake_.begin(), awake_.end());
}

double PriceIndex::BoundUntilHorizon(const Page& page) const {
  const IndexEntry& entry = page.entry;
  if (horizon_ >= entry.forced_at) return kInfinity;
  const Instant from = entry.since.infinite() ? now_ : std::max(now_, entry.since);
  const ValueJet jet = CrawlValueJet(page.value, ExponentAt(entry, page.value, from));
  const double d = std::max(0.0, (horizon_ - from).seconds());
  if (jet.value >= page.value.ceiling) return jet.value;
  const double bound = (jet.value + d * (jet.slope + d * jet.curvature / 2)) * kBoundSlack;
  return std::min(bound, std::max(page.value.ceiling * kBoundSlack, jet.value));
}

void PriceIndex::WakeDue() {
  while (!host_wakes_.empty() && host_wakes_.top().at <= now_) {
    Host& host = hosts_[host_wakes_.top().host.value()];
    host_wakes_.pop();
    if (host.free_at > now_) continue;  // it was blocked again; a later wake is queued
    std::vector<std::pair<PageId, uint32_t>> parked;
    parked.swap(host.parked);
    for (const auto& [page, version] : parked) {
      if (Current(page, version)) File(page);
    }
  }
  while (!asleep_.empty() && asleep_.top().at <= now_) {
    const Wake wake = asleep_.top();
    asleep_.pop();
    if (Current(wake.page, wake.version)) File(wake.page);
  }
}

void PriceIndex::RenewBounds() {
  claim_ = std::max(claim_, kClaimShare * std::min(lowest_price_, lowest_price_before_));
  // Twice the time that the last bounds served: they then cost about as much as they save.
  const Duration served =
      std::clamp(now_ - last_renewal_, Duration::Micros(1), Duration::Days(365));
  horizon_ = now_ + served;
  last_renewal_ = now_;
  examined_since_renewal_ = 0;
  std::vector<Awake> old;
  old.swap(awake_);
  for (const Awake& awake : old) {
    if (Current(awake.page, awake.version)) File(awake.page);
  }
}

bool PriceIndex::MayBeat(const Awake& awake, const IndexPick& best) const {
  if (awake.bound != best.value) return awake.bound > best.value;
  const IndexEntry& entry = pages_[awake.page.value()].entry;
  return WaitsLonger(entry, awake.page, pages_[best.page.value()].entry, best.page);
}

std::optional<IndexPick> PriceIndex::BestAwake() {
  std::optional<IndexPick> best;
  examined_.clear();
  while (!awake_.empty()) {
    const Awake top = awake_.front();
    const bool current = Current(top.page, top.version);
    if (current && best && !MayBeat(top, *best)) break;
    std::pop_heap(awake_.begin(), awake_.end());
    awake_.pop_back();
    if (!current) continue;
    Page& page = pages_[top.page.value()];
    const HostId host = page.entry.host;
    if (HostFreeAt(host) > now_) {
      page.place = Place::kParked;
      Host& gate = hosts_[host.value()];
      if (gate.parked.empty() && !gate.free_at.infinite()) host_wakes_.push({gate.free_at, host});
      gate.parked.emplace_back(top.page, top.version);
      continue;
    }
    examined_.push_back(top);
    ++evaluations_;
    const double value = DecidingValue(page.entry, page.value, now_);
    const bool wins =
        !best || value > best->value ||
        (value == best->value &&
         WaitsLonger(page.entry, top.page, pages_[best->page.value()].entry, best->page));
    if (wins) best = IndexPick{top.page, value};
  }
  // The bounds of the examined pages still hold until the horizon.
  examined_since_renewal_ += examined_.size();
  for (const Awake& awake : examined_) {
    awake_.push_back(awake);
    std::push_heap(awake_.begin(), awake_.end());
  }
  return best;
}

std::optional<IndexPick> PriceIndex::Scan() {
  ++scans_;
  std::optional<IndexPick> best;
  barren_until_ = Instant::Infinite();
  double highest = 0;
  for (uint32_t i = 0; i < pages_.size(); ++i) {
    const Page& page = pages_[i];
    if (page.place == Place::kNone || page.place == Place::kWithheld) continue;
    const Instant eligible = std::max(page.entry.eligible_from, HostFreeAt(page.entry.host));
    if (eligible > now_) {
      barren_until_ = std::min(barren_until_, eligible);
      continue;
    }
    ++evaluations_;
    const double value = DecidingValue(page.entry, page.value, now_);
    if (!std::isinf(value)) highest = std::max(highest, value);
    const bool wins =
        !best || value > best->value ||
        (value == best->value &&
         WaitsLonger(page.entry, PageId(i), pages_[best->page.value()].entry, best->page));
    if (wins) best = IndexPick{PageId(i), value};
  }
  if (!best) return best;
  barren_until_ = Instant();
  claim_ = kClaimShare * highest;
  lowest_price_ = lowest_price_before_ = highest;
  picks_in_window_ = 0;
  asleep_ = {};
  awake_.clear();
  host_wakes_ = {};
  for (Host& host : hosts_) host.parked.clear();
  for (uint32_t i = 0; i < pages_.size(); ++i) {
    if (pages_[i].place != Place::kNone && pages_[i].place != Place::kWithheld) File(PageId(i));
  }
  return best;
}

void PriceIndex::NotePrice(double price) {
  if (std::isinf(price)) return;
  lowest_price_ = std::min(lowest_price_, price);
  const uint64_t window = std::max<uint64_t>(1024, size_ / 8);
  if (++picks_in_window_ < window) return;
  picks_in_window_ = 0;
  lowest_price_before_ = lowest_price_;
  lowest_price_ = price;
}

std::optional<IndexPick> PriceIndex::Best(Instant at) {
  CHECK(at >= now_, "time steps back from {} to {}", now_.micros(), at.micros());
  now_ = at;
  if (size_ == 0 || at < barren_until_) return std::nullopt;
  WakeDue();
  if (at > horizon_ || examined_since_renewal_ > 64 + awake_.size()) RenewBounds();
  std::optional<IndexPick> best = BestAwake();
  if (!best || best->value < claim_) best = Scan();
  if (best) NotePrice(best->value);
  return best;
}

}  // namespace freshet
