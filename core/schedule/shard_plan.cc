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
// --------------------------------------------------------------------------------------

bool ShardState::Impl::SetPolicy(const CrawlPolicy& policy) {
  if (policy.plan) {
    // The index goes on with its own policy until the plan comes into force.
    options.policy.plan = policy.plan;
    if (PlanInForce()) index.reset();
    if (!queue) StartQueue();
    return queue->size() < pages.size();
  }
  options.policy = policy;
  if (!PlanInForce()) {
    queue.reset();
    facts = {};
    return true;
  }
  if (!index) StartIndex();
  TakeOverByIndex();
  return true;
}

void ShardState::Impl::FinishFiling(const CrawlPolicy& policy) {
  // A rate policy has its plan still to come.
  if (policy == options.policy && !policy.plan && !PlanInForce()) in_force = policy;
}

void ShardState::Impl::StartIndex() {
  index.emplace();
  for (uint32_t i = 0; i < hosts.size(); ++i) {
    const Instant free_at = hosts.FreeAt(HostId(i));
    if (free_at > picked) index->SetHostFree(HostId(i), free_at);
  }
}

void ShardState::Impl::StartQueue() {
  queue.emplace();
  facts = {};
  refile = false;
  newcomer_rate = kUnplannedRate;
  for (uint32_t i = 0; i < hosts.size(); ++i) {
    const Instant free_at = hosts.FreeAt(HostId(i));
    if (free_at > picked) queue->SetHostFree(HostId(i), free_at);
  }
}

void ShardState::Impl::TakeOverByIndex() {
  if (index->size() < pages.size()) {
    // An index files its pages at its first pick and follows the price by its picks: with one now
    // and then neither is left to the moment in which it takes over.
    if (picked > Instant()) (void)index->Best(picked);
    return;
  }
  in_force = options.policy;
  queue.reset();
  facts = {};
}

HostId ShardState::Impl::HostOf(PageId id) const {
  return PlanInForce() ? queue->Entry(id).host : index->Find(id)->host;
}

// --- Plans
// -----------------------------------------------------------------------------------------

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
  return DecidingValue(MakeEntry(page.spec, state, it->second.host), event.at);
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
  if (!queue || !options.policy.plan || queue->size() < pages.size()) return false;
  *refile_pages = std::exchange(refile, false);
  in_force = CrawlPolicy(*options.policy.plan);
  price = 0;
  index.reset();
  return true;
}

// --- ShardState: forwards
// -----------------------------------------------------------------------------

bool ShardState::SetPolicy(const CrawlPolicy& policy) { return impl_->SetPolicy(policy); }
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
