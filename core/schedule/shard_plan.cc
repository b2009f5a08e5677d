// Rate policies: a plan of how often each page is crawled, taken over in slices and then executed
// by a queue instead of the index.
#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/schedule/shard_impl.h"

namespace freshet {

void ShardState::Impl::SetPolicy(const CrawlPolicy& policy) {
  options.policy = policy;
  if (policy.plan) return;
  plan_in_force = false;
  queue.reset();
}

uint32_t ShardState::Impl::CollectPlan(uint32_t first, uint32_t count, PlanColumns* columns) const {
  const uint32_t end = std::min(pages.id_limit(), first + std::min(count, UINT32_MAX - first));
  for (uint32_t i = first; i < end; ++i) {
    const PageId id(i);
    const bool counts = pages.known(id) && !pages.Is(id, PageTable::kGone);
    const std::optional<IndexEntry> entry = counts ? index.Find(id) : std::nullopt;
    const IndexRates rates = entry ? entry->rates : IndexRates();
    columns->page.push_back(pages.known(id) ? pages.number(id) : PageNumber());
    columns->importance.push_back(rates.importance);
    columns->change_rate.push_back(rates.change_rate);
    columns->complete.push_back(rates.signal_rate > 0 && rates.unsignalled_rate == 0 ? 1 : 0);
  }
  return end > first ? end - first : 0;
}

float ShardState::Impl::ShareOf(PageId id) const {
  const float share = id.value() < planned.size() ? planned[id.value()] : kUnplanned;
  return share == kUnplanned ? newcomer_rate : share;
}

Instant ShardState::Impl::AskedAt(PageId id, const PageState& state) const {
  const float share = ShareOf(id);
  if (share >= 0) return Instant::Infinite();
  int signals = 0;
  for (const SignalCounts::Entry& entry : state.signals.entries()) signals += entry.count;
  // One draw a signal, the same whenever it is asked for: it must survive a restart.
  Random draws(pages.number(id).value() ^ static_cast<uint64_t>(state.last_crawl.micros()));
  for (int i = 0; i < signals; ++i) {
    if (draws.Uniform() < -share) return state.last_event;
  }
  return Instant::Infinite();
}

void ShardState::Impl::FileInPlan(PageId id, Instant asked_at) {
  const IndexEntry entry = *index.Find(id);
  const float share = ShareOf(id);
  const PlanEntry planned_entry = {.rate = std::max(0.0F, share),
                                   .host = entry.host,
                                   .eligible_from = entry.eligible_from,
                                   .forced_at = entry.forced_at,
                                   .asked_at = asked_at};
  if (queue->Has(id)) {
    queue->Update(id, planned_entry, latest);
    return;
  }
  // The entry's instant is when the page was last surely fresh. Pages that nobody has crawled have
  // none: they are spread over their first interval, so that they do not all come at once.
  Instant fresh_at = entry.since;
  if (std::isinf(entry.exponent) || fresh_at.infinite()) {
    const double part = Random(pages.fingerprint(id)).Uniform();
    fresh_at = share > 0 ? latest - Duration::FromSeconds(part / share) : latest;
  }
  queue->Add(id, planned_entry, fresh_at, latest);
  constexpr int kNotToBePicked = PageTable::kTaken | PageTable::kLeased | PageTable::kGone;
  if (pages.IsAny(id, kNotToBePicked)) queue->Withhold(id);
}

void ShardState::Impl::BeginPlan(Rate rate) {
  CHECK(options.policy.plan, "a plan without a rate policy");
  newcomer_rate = static_cast<float>(rate.per_second());
  if (queue) return;
  queue.emplace();
  for (uint32_t i = 0; i < hosts.size(); ++i) FreeHost(HostId(i));
}

bool ShardState::Impl::StagePlan(uint32_t first, std::span<const PlannedCrawls> crawls,
                                 Instant now) {
  if (!queue) return false;
  latest = std::max(latest, now);
  planned.GrowTo(first + crawls.size());
  for (uint32_t i = 0; i < crawls.size(); ++i) {
    const PlannedCrawls& page = crawls[i];
    CHECK(page.rate >= 0 && page.probability >= 0 && page.probability <= 1);
    const PageId id(first + i);
    const bool known = pages.known(id);
    const bool same_page = known && pages.number(id) == page.page;
    const float share = page.rate > 0 ? page.rate : -page.probability;
    planned[id.value()] = same_page ? share : kUnplanned;
    if (known) FileInPlan(id, queue->Has(id) ? queue->AskedAt(id) : Instant::Infinite());
  }
  return true;
}

bool ShardState::Impl::FinishPlan() {
  plan_in_force = queue.has_value();
  return plan_in_force;
}

}  // namespace freshet
