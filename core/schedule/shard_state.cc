#include "core/schedule/shard_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "core/schedule/shard_impl.h"

namespace freshet {
namespace {

constexpr int kSerialBits = 48;
constexpr uint64_t kSerialMask = (uint64_t{1} << kSerialBits) - 1;

Slot SlotOf(PageNumber number) {
  return Slot(static_cast<uint16_t>(number.value() >> kSerialBits));
}

}  // namespace

ShardState::Impl::Impl(const ShardOptions& shard_options)
    : options(shard_options),
      estimator(shard_options.estimator),
      hosts(shard_options.default_min_delay, shard_options.default_max_in_flight),
      leases(shard_options.generation) {}

// --- Pages in memory
// --------------------------------------------------------------------------------

IndexEntry ShardState::Impl::MakeEntry(const PageSpec& spec, const PageState& state,
                                       HostId host) const {
  IndexEntry entry;
  entry.policy = options.policy;
  entry.rates = MakeIndexRates(spec.importance, state.rates);
  const bool fresh_once = std::isfinite(state.staleness) || state.crawled();
  const double elapsed = state.crawled() ? (state.carried_at - state.last_crawl).seconds() : 0;
  // A page that nobody has fetched yet is worth what a page that is surely stale is worth.
  entry.exponent = fresh_once ? PolicyExponent(options.policy, state.rates, state.staleness,
                                               std::max(0.0, elapsed), !state.signals.empty())
                              : kNeverCrawledStaleness;
  entry.since = state.carried_at;
  entry.host = host;
  entry.eligible_from = std::max(spec.not_before, state.retry_at);
  if (state.crawled()) {
    entry.eligible_from = std::max(entry.eligible_from, state.last_crawl + spec.min_interval);
    if (spec.max_interval > Duration()) entry.forced_at = state.last_crawl + spec.max_interval;
  }
  if (state.recheck) {
    // Out of turn: neither the minimal interval nor a back-off holds it, only politeness does.
    entry.eligible_from = spec.not_before;
    entry.forced_at = Instant();
  }
  return entry;
}

PageId ShardState::Impl::AddSlot(PageNumber number, uint64_t fingerprint, HostId host) {
  PageId id(static_cast<uint32_t>(slots.size()));
  if (free_ids.empty()) {
    slots.emplace_back();
  } else {
    id = free_ids.back();
    free_ids.pop_back();
  }
  PageSlot& slot = slots[id.value()];
  slot = PageSlot();
  slot.known = true;
  slot.number = number;
  slot.fingerprint = fingerprint;
  slot.host = host;
  by_number[number] = id;
  by_fingerprint[fingerprint] = id;
  uint64_t& next = next_serial[SlotOf(number)];
  next = std::max(next, (number.value() & kSerialMask) + 1);
  ++counters.pages;
  return id;
}

void ShardState::Impl::DropSlot(PageId id) {
  PageSlot& slot = slots[id.value()];
  index.Remove(id);
  if (slot.taken) {
    hosts.Leave(slot.host);
    FreeHost(slot.host);
  }
  by_number.erase(slot.number);
  by_fingerprint.erase(slot.fingerprint);
  slot = PageSlot();
  free_ids.push_back(id);
  --counters.pages;
}

ShardState::Impl::PageSlot* ShardState::Impl::FindSlot(PageNumber number) {
  const auto it = by_number.find(number);
  return it == by_number.end() ? nullptr : &slots[it->second.value()];
}

const ShardState::Impl::PageSlot* ShardState::Impl::FindSlot(PageNumber number) const {
  const auto it = by_number.find(number);
  return it == by_number.end() ? nullptr : &slots[it->second.value()];
}

std::optional<PageNumber> ShardState::Impl::FindNumber(const PageKey& key) const {
  const auto it = by_fingerprint.find(Fingerprint(key.crawl_id, key.url));
  if (it == by_fingerprint.end()) return std::nullopt;
  return slots[it->second.value()].number;
}

void ShardState::Impl::FileOrRemove(PageSlot& slot, PageId id) {
  if (slot.gone || slot.taken || slot.lease != LeaseId()) {
    index.Remove(id);
  } else {
    index.Put(id, slot.entry);
  }
}

void ShardState::Impl::Refile(PageSlot& slot, PageId id, const PageSpec& spec,
                              const PageState& state) {
  slot.entry = MakeEntry(spec, state, slot.host);
  slot.importance = spec.importance;
  slot.staleness = state.staleness;
  slot.carried_at = state.carried_at;
  slot.staleness_rate = state.rates.staleness_rate;
  slot.gone = state.gone;
  const Instant edge = estimator.NextEdge(state);
  if (edge != slot.edge && !edge.infinite()) timers.push({edge, slot.number, LeaseId()});
  slot.edge = edge;
  FileOrRemove(slot, id);
}

// --- Start-up
// -----------------------------------------------------------------------------------------

Status ShardState::Impl::LoadPage(PageNumber number, uint64_t fingerprint, const std::string& host,
                                  const PageSpec& spec, const PageState& state) {
  if (by_fingerprint.contains(fingerprint) || by_number.contains(number)) {
    return MakeStatus(absl::StatusCode::kInternal, "page {:x} of host {} is stored twice",
                      number.value(), host);
  }
  const HostId host_id = hosts.Intern(host);
  const PageId id = AddSlot(number, fingerprint, host_id);
  Refile(slots[id.value()], id, spec, state);
  return absl::OkStatus();
}

void ShardState::Impl::LoadLease(const LeaseRecord& lease) {
  PageSlot* slot = FindSlot(lease.page);
  // The page may have been removed by a release that left its lease behind; the lease then just
  // ends.
  if (slot == nullptr) return;
  slot->lease = lease.id;
  leases.Put(lease);
  hosts.Enter(slot->host, lease.assigned);
  timers.push({lease.deadline, lease.page, lease.id});
  FileOrRemove(*slot, by_number.at(lease.page));
}

void ShardState::Impl::FinishLoad() {
  for (uint32_t i = 0; i < hosts.size(); ++i) FreeHost(HostId(i));
  counters.hosts = hosts.size();
  counters.leases = leases.size();
}

// --- Installing
// ---------------------------------------------------------------------------------------

void ShardState::Impl::Install(Transaction& txn) {
  for (const HostRecord& record : txn.hosts()) FreeHost(hosts.Put(record));
  for (const Transaction::Lease& lease : txn.leases()) {
    PageSlot* slot = FindSlot(lease.record.page);
    const bool was_open = leases.Find(lease.record.id) != nullptr;
    if (lease.closed) {
      if (!was_open) continue;  // opened and closed within the batch
      leases.Close(lease.record.id);
      CHECK(slot != nullptr, "lease of an unknown page");
      slot->lease = LeaseId();
      hosts.Leave(slot->host);
      FreeHost(slot->host);
      FileOrRemove(*slot, by_number.at(lease.record.page));
      continue;
    }
    leases.Put(lease.record);
    if (was_open) continue;
    CHECK(slot != nullptr && slot->taken, "a lease without a pick");
    // The host was entered by the pick.
    slot->taken = false;
    slot->lease = lease.record.id;
    timers.push({lease.record.deadline, lease.record.page, lease.record.id});
  }
  for (Transaction::Page& page : txn.pages()) {
    const PageRecord& record = page.record;
    if (page.removed) {
      const auto it = by_number.find(record.number);
      if (it != by_number.end()) DropSlot(it->second);
      continue;
    }
    if (!page.reindex) continue;
    auto it = by_number.find(record.number);
    if (it == by_number.end()) {
      (void)AddSlot(record.number, Fingerprint(record.key.crawl_id, record.key.url),
                    hosts.Intern(record.host));
      it = by_number.find(record.number);
    }
    Refile(slots[it->second.value()], it->second, record.spec, record.state);
  }
  for (const uint64_t id : txn.signal_ids) {
    if (!signal_ids.insert(id).second) continue;
    if (signal_id_ring.size() < limits::kMaxRememberedSignalIds) {
      signal_id_ring.push_back(id);
      continue;
    }
    signal_ids.erase(std::exchange(signal_id_ring[signal_id_next], id));
    signal_id_next = (signal_id_next + 1) % limits::kMaxRememberedSignalIds;
  }
  counters.hosts = hosts.size();
  counters.leases = leases.size();
}

// --- Timers
// -------------------------------------------------------------------------------------------

void ShardState::Impl::TakeDueTimers(Instant now, size_t max, std::vector<Event>* events) {
  while (!timers.empty() && timers.top().at <= now && max > 0) {
    const Timer timer = timers.top();
    timers.pop();
    if (timer.lease != LeaseId()) {
      const LeaseRecord* lease = leases.Find(timer.lease);
      if (lease == nullptr || lease->deadline != timer.at) continue;
      events->push_back(ExpireLease{timer.lease});
    } else {
      const PageSlot* slot = FindSlot(timer.page);
      if (slot == nullptr || slot->edge != timer.at) continue;
      events->push_back(CrossAgeEdge{timer.page});
    }
    --max;
  }
}

Instant ShardState::Impl::next_timer() const {
  return timers.empty() ? Instant::Infinite() : timers.top().at;
}

// --- Picks
// --------------------------------------------------------------------------------------------

std::optional<Pick> ShardState::Impl::Peek(Instant at) {
  const std::optional<IndexPick> best = index.Best(at);
  if (!best) return std::nullopt;
  return Pick{slots[best->page.value()].number, best->value};
}

std::optional<Pick> ShardState::Impl::Take(Instant at) {
  if (leases.size() >= limits::kMaxLeasesPerShard) return std::nullopt;
  const std::optional<IndexPick> best = index.Best(at);
  if (!best) return std::nullopt;
  PageSlot& slot = slots[best->page.value()];
  CHECK(!slot.taken && !slot.gone && slot.lease == LeaseId(), "picked a page that is out");
  slot.taken = true;
  index.Remove(best->page);
  hosts.Enter(slot.host, at);
  FreeHost(slot.host);
  if (!std::isinf(best->value)) price = best->value;
  return Pick{slot.number, best->value};
}

void ShardState::Impl::PutBack(PageNumber number) {
  PageSlot* slot = FindSlot(number);
  if (slot == nullptr || !slot->taken) return;
  slot->taken = false;
  hosts.Leave(slot->host);
  FreeHost(slot->host);
  FileOrRemove(*slot, by_number.at(number));
}

// --- ShardState: forwards
// -----------------------------------------------------------------------------

ShardState::ShardState(const ShardOptions& options) : impl_(std::make_unique<Impl>(options)) {}
ShardState::~ShardState() = default;

void ShardState::LoadHost(const HostRecord& host) { impl_->hosts.Put(host); }

Status ShardState::LoadPage(PageNumber number, uint64_t fingerprint, const std::string& host,
                            const PageSpec& spec, const PageState& state) {
  return impl_->LoadPage(number, fingerprint, host, spec, state);
}

void ShardState::LoadLease(const LeaseRecord& lease) { impl_->LoadLease(lease); }

Status ShardState::LoadEpoch(const EpochRecord& epoch) {
  RETURN_IF_ERROR(impl_->estimator.RestoreModel(epoch.site_model));
  impl_->epoch = epoch.number;
  return absl::OkStatus();
}

void ShardState::LoadNextSerial(Slot slot, uint64_t next_serial) {
  uint64_t& next = impl_->next_serial[slot];
  next = std::max(next, next_serial);
}

void ShardState::FinishLoad() { impl_->FinishLoad(); }

void ShardState::Want(const Event& event, std::vector<PageNumber>* numbers) const {
  impl_->Want(event, numbers);
}

Reply ShardState::Step(const Event& event, Instant now, Transaction& txn) {
  return std::visit([&](const auto& e) { return impl_->Step(e, now, txn); }, event);
}

void ShardState::Install(Transaction& txn) { impl_->Install(txn); }

void ShardState::TakeDueTimers(Instant now, size_t max, std::vector<Event>* events) {
  impl_->TakeDueTimers(now, max, events);
}

Instant ShardState::next_timer() const { return impl_->next_timer(); }
std::optional<Pick> ShardState::Peek(Instant at) { return impl_->Peek(at); }
std::optional<Pick> ShardState::Take(Instant at) { return impl_->Take(at); }
void ShardState::PutBack(PageNumber page) { impl_->PutBack(page); }
double ShardState::price() const { return impl_->price; }

void ShardState::BeginEpoch(Instant now) { impl_->estimator.BeginEpoch(now); }
void ShardState::CollectForEpoch(const PageRecord& page) { impl_->estimator.Collect(page); }

void ShardState::FinishEpoch(Instant now, Transaction& txn) {
  impl_->estimator.FinishEpoch();
  ++impl_->counters.epochs;
  txn.epoch = EpochRecord{.shard = impl_->options.shard,
                          .number = ++impl_->epoch,
                          .finished = now,
                          .site_model = impl_->estimator.SerialiseModel()};
}

void ShardState::SetPolicy(const Policy& policy) { impl_->options.policy = policy; }

std::optional<PageNumber> ShardState::FindNumber(const PageKey& key) const {
  return impl_->FindNumber(key);
}

std::optional<LeaseRecord> ShardState::FindLease(LeaseId id) const {
  const LeaseRecord* lease = impl_->leases.Find(id);
  if (lease == nullptr) return std::nullopt;
  return *lease;
}

Explanation ShardState::Explain(const PageRecord& page, Instant now) const {
  return impl_->Explain(page, now);
}

StatusOr<HostRecord> ShardState::FindHost(const std::string& host, uint32_t* in_flight) const {
  const std::optional<HostId> id = impl_->hosts.Find(host);
  if (!id) return NotFound("host: {} has no page", host);
  *in_flight = impl_->hosts.in_flight(*id);
  return impl_->hosts.record(*id);
}

BelievedFreshness ShardState::Believed(Instant now) const { return impl_->Believed(now); }
std::vector<SourceTrust> ShardState::Trust() const { return impl_->estimator.Trust(); }
const ShardCounters& ShardState::counters() const { return impl_->counters; }
const Policy& ShardState::policy() const { return impl_->options.policy; }

}  // namespace freshet
