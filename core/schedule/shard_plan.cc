// Rate policies: a plan of how often each page is crawled, taken over in slices and executed by a
// queue instead of the index; and the change from one to the other, with pages filed in both until
// the new one has all of them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/schedule/shard_impl.h"

namespace freshet {

// --- Policies

bool ShardState::Impl::SetPolicy(const CrawlPolicy& policy) {
  if (policy.plan) {
    // The index goes on with its own policy until the plan comes into force.
    options.policy.plan = policy.plan;
    if (PlanInForce()) RetireIndex();
    if (!queue) StartQueue();
    return !roomy || queue->size() < pages.size();
  }
  options.policy = policy;
  if (!PlanInForce()) {
    RetireQueue();
    return true;
  }
  if (!index) StartIndex();
  TakeOverByIndex();
  return true;
}

void ShardState::Impl::FinishFiling(const CrawlPolicy& policy) {
  // A rate policy has its plan still to come.
  if (policy != options.policy || policy.plan) return;
  if (PlanInForce()) {
    TakeOverByIndex();
  } else {
    in_force = policy;
  }
}

// --- What is made ready

namespace {

// Ids that get their room at a time: some two milliseconds of taking memory for the first time.
constexpr size_t kRoomSlice = size_t{1} << 15;

uint32_t SliceEnd(uint32_t from, size_t limit) {
  return static_cast<uint32_t>(std::min<size_t>(limit, from + kRoomSlice));
}

}  // namespace

bool ShardState::Impl::MakeRoom() {
  if (roomy) return true;
  const auto grow = [this](size_t new_pages, size_t new_hosts) {
    if (PlanInForce()) return index->GrowTo(new_pages, new_hosts);
    queue->GrowTo(new_pages, new_hosts);
    facts.GrowTo(new_pages);
  };
  if (room_hosts < hosts.id_limit()) {
    const uint32_t end = SliceEnd(room_hosts, hosts.id_limit());
    grow(0, end);
    while (room_hosts < end) {
      const HostId host(room_hosts++);
      if (hosts.FreeAt(host) > picked) FreeHost(host);
    }
  } else {
    room_pages = SliceEnd(room_pages, pages.id_limit());
    grow(room_pages, 0);
  }
  roomy = room_hosts >= hosts.id_limit() && room_pages >= pages.id_limit();
  return roomy;
}

void ShardState::Impl::StartRoom() {
  // What was left over before is not kept beside what is left over next.
  retired.clear();
  room_pages = 0;
  room_hosts = 0;
  roomy = hosts.id_limit() == 0 && pages.id_limit() == 0;
  // At once where one slice is all.
  for (int i = 0; i < 2; ++i) (void)MakeRoom();
}

void ShardState::Impl::RetireIndex() {
  if (index) retired.emplace_back(std::move(index));
  roomy = true;
}

void ShardState::Impl::RetireQueue() {
  if (queue) retired.emplace_back(std::move(queue));
  if (facts.size() > 0) {
    retired.push_back(std::make_shared<SegmentedArray<PlanFacts>>(std::exchange(facts, {})));
  }
  roomy = true;
}

void ShardState::Impl::StartIndex() {
  index = std::make_unique<PriceIndex>();
  StartRoom();
}

void ShardState::Impl::StartQueue() {
  queue = std::make_unique<PlanQueue>();
  refile = false;
  newcomer_rate = kUnplannedRate;
  StartRoom();
}

void ShardState::Impl::TakeOverByIndex() {
  if (!roomy || index->size() < pages.size()) {
    // An index files its pages at its first pick and follows the price by its picks: with one now
    // and then neither is left to the moment in which it takes over.
    if (picked > Instant()) (void)index->Best(picked);
    return;
  }
  in_force = options.policy;
  RetireQueue();
}

HostId ShardState::Impl::HostOf(PageId id) const {
  return PlanInForce() ? queue->Entry(id).host : index->Find(id)->host;
}

// --- Plans

uint32_t ShardState::Impl::CollectPlan(uint32_t first, uint32_t count, PlanColumns* columns) const {
  if (!queue || !options.policy.plan) return 0;
  const uint32_t end = std::min(pages.id_limit(), first + std::min(count, UINT32_MAX - first));
  for (uint32_t i = first; i < end; ++i) {
    const PageId id(i);
    // What is not polled has no part in the plan: if it comes back before the next one, it is a
    // newcomer.
    const bool counts = pages.known(id) && i < facts.size() && !pages.Is(id, PageTable::kGone) &&
                        facts[i].importance > 0;
    const PlanFacts page = counts ? facts[i] : PlanFacts();
    columns->page.push_back(counts ? pages.number(id) : PageNumber());
    columns->importance.push_back(page.importance);
    columns->change_rate.push_back(std::abs(page.change_rate));
    columns->complete.push_back(std::signbit(page.change_rate) ? 1 : 0);
  }
  return end > first ? end - first : 0;
}

float ShardState::Impl::ShareOf(PageId id) const {
  const float share = id.value() < facts.size() ? facts[id.value()].share : kUnplanned;
  return share == kUnplanned ? newcomer_rate : share;
}

Instant ShardState::Impl::AskedAt(PageId id, const PageState& state) const {
  const float share = ShareOf(id);
  if (!queue || share >= 0) return Instant::Infinite();
  // Signals tell of changes since the last crawl: before the first nothing is known of the page.
  if (!state.crawled()) return state.first_seen;
  int signals = 0;
  for (const SignalCounts::Entry& entry : state.signals.entries()) signals += entry.count;
  // One draw a signal, the same whenever it is asked for: it must survive a restart.
  Random draws(pages.number(id).value() ^ static_cast<uint64_t>(state.last_crawl.micros()));
  for (int i = 0; i < signals; ++i) {
    if (draws.Uniform() < -share) return state.last_event;
  }
  return Instant::Infinite();
}

void ShardState::Impl::FileInPlan(PageId id, const IndexEntry& entry, Instant asked_at) {
  facts.GrowTo(id.value() + size_t{1});
  PlanFacts& page = facts[id.value()];
  const IndexRates& rates = entry.rates;
  const bool complete = rates.signal_rate > 0 && rates.unsignalled_rate == 0;
  page.importance = rates.importance;
  page.change_rate = complete ? -rates.change_rate : rates.change_rate;
  const float share = ShareOf(id);
  PlanEntry filed = {.rate = std::max(0.0F, share),
                     .host = entry.host,
                     .eligible_from = entry.eligible_from,
                     .forced_at = entry.forced_at,
                     .asked_at = asked_at};
  if (queue->Has(id)) {
    // A page that was asked for keeps its turn when it is asked for again.
    filed.asked_at = std::min(asked_at, queue->Entry(id).asked_at);
    queue->Update(id, filed, latest);
    return;
  }
  // Canonical entries say when the page was last surely fresh. Pages that nobody has crawled do
  // not: they are spread over their first interval, so that they do not all come at once.
  const IndexEntry canonical = Canonical(entry);
  Instant fresh_at = canonical.since;
  if (std::isinf(canonical.exponent) || fresh_at.infinite()) {
    const double part = Random(pages.fingerprint(id)).Uniform();
    fresh_at = share > 0 ? latest - Duration::FromSeconds(part / share) : latest;
  }
  queue->Add(id, filed, fresh_at, latest);
  if (pages.IsAny(id, kNotToBePicked)) queue->Withhold(id);
}

double ShardState::Impl::AssignedValue(const PageRecord& page, const LeasePage& event) const {
  const std::optional<PageId> id = pages.Find(page.number);
  const auto it = id ? out.find(*id) : out.end();
  if (it == out.end() || !it->second.planned || std::isinf(event.value)) return event.value;
  PageState state = page.state;
  estimator.Advance(state, event.at);
  return DecidingValue(EntryOf(page.spec, state, it->second.host), event.at);
}

bool ShardState::Impl::BeginPlan(Rate rate) {
  if (!queue || !options.policy.plan) return false;
  newcomer_rate = static_cast<float>(rate.per_second());
  return true;
}

bool ShardState::Impl::StagePlan(uint32_t first, std::span<const PlannedCrawls> crawls,
                                 Instant now) {
  if (!queue || !options.policy.plan) return false;
  latest = std::max(latest, now);
  facts.GrowTo(first + crawls.size());
  for (uint32_t i = 0; i < crawls.size(); ++i) {
    const PlannedCrawls& page = crawls[i];
    CHECK(page.rate >= 0 && page.probability >= 0 && page.probability <= 1);
    const PageId id(first + i);
    const bool known = pages.known(id);
    const bool same_page = known && pages.number(id) == page.page;
    const float share = page.rate > 0 ? page.rate : -page.probability;
    float& before = facts[id.value()].share;
    refile |= same_page && AsksBySignal(share) && !AsksBySignal(before);
    before = same_page ? share : kUnplanned;
    if (!queue->Has(id)) continue;
    PlanEntry entry = queue->Entry(id);
    entry.rate = std::max(0.0F, ShareOf(id));
    queue->Update(id, entry, latest);
  }
  return true;
}

bool ShardState::Impl::FinishPlan(bool* refile_pages) {
  if (!queue || !options.policy.plan || !roomy || queue->size() < pages.size()) {
    return false;
  }
  *refile_pages = std::exchange(refile, false);
  in_force = CrawlPolicy(*options.policy.plan);
  price = 0;
  RetireIndex();
  return true;
}

// --- ShardState: forwards

bool ShardState::SetPolicy(const CrawlPolicy& policy) { return impl_->SetPolicy(policy); }
bool ShardState::MakeRoom() { return impl_->MakeRoom(); }
std::vector<std::shared_ptr<void>> ShardState::TakeRetired() {
  return std::exchange(impl_->retired, {});
}
void ShardState::FinishFiling(const CrawlPolicy& policy) { impl_->FinishFiling(policy); }
const CrawlPolicy& ShardState::policy() const { return impl_->options.policy; }
const CrawlPolicy& ShardState::in_force() const { return impl_->in_force; }
uint32_t ShardState::CollectPlan(uint32_t first, uint32_t count, PlanColumns* columns) const {
  return impl_->CollectPlan(first, count, columns);
}
bool ShardState::BeginPlan(Rate newcomer_rate) { return impl_->BeginPlan(newcomer_rate); }
bool ShardState::StagePlan(uint32_t first, std::span<const PlannedCrawls> crawls, Instant now) {
  return impl_->StagePlan(first, crawls, now);
}
bool ShardState::FinishPlan(bool* refile) { return impl_->FinishPlan(refile); }

}  // namespace freshet
