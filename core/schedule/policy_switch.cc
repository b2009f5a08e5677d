#include "core/schedule/policy_switch.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/random.h"

namespace freshet {
namespace {

// Memory for this many ids is taken in one slice. Touching it takes about two milliseconds.
constexpr size_t kRoomSlice = size_t{1} << 15;

uint32_t SliceEnd(uint32_t from, size_t limit) {
  return static_cast<uint32_t>(std::min<size_t>(limit, from + kRoomSlice));
}

}  // namespace

PolicySwitch::PolicySwitch(const PageTable& pages, const HostGate& hosts, const CrawlPolicy& policy,
                           const CrawlTable* crawls)
    : pages_(pages), hosts_(hosts), crawls_(crawls), policy_(policy), in_force_(policy) {
  CHECK(pages.id_limit() == 0 && hosts.id_limit() == 0, "pages or hosts that nobody has told of");
  plan_in_force() ? StartQueue() : StartIndex();
}

// --- Policies ---

bool PolicySwitch::SetPolicy(const CrawlPolicy& policy) {
  if (policy.plan) {
    // The index keeps its present policy until picks follow the plan.
    policy_.plan = policy.plan;
    if (plan_in_force()) RetireIndex();
    if (!queue_) StartQueue();
    return !roomy_ || queue_->size() < pages_.size();
  }
  policy_ = policy;
  if (!plan_in_force()) {
    RetireQueue();
    return true;
  }
  if (!index_) StartIndex();
  TakeOverByIndex();
  return true;
}

void PolicySwitch::FinishFiling(const CrawlPolicy& filed_by) {
  // A rate policy is in force only once it has a plan (FinishPlan).
  if (filed_by != policy_ || filed_by.plan) return;
  if (plan_in_force()) {
    TakeOverByIndex();
  } else {
    in_force_ = filed_by;
  }
}

void PolicySwitch::TakeOverByIndex() {
  if (!index_ || !plan_in_force()) return;
  if (!roomy_ || index_->size() < pages_.size()) {
    // An index files its pages at its first pick, and its picks keep its threshold near the price.
    // Occasional calls of Best do this work now, so that the take-over is fast.
    if (picked_ > Instant()) (void)index_->Best(picked_, kAllClasses);
    return;
  }
  CHECK(index_->size() == pages_.size(), "the index has {} pages of {}", index_->size(),
        pages_.size());
  CHECK(!policy_.plan, "an index is made ready for a rate policy");
  in_force_ = policy_;
  RetireQueue();
}

// --- Preparation ---

bool PolicySwitch::MakeRoom() {
  if (roomy_) return true;
  CHECK(index_ && queue_, "room for nothing");
  const auto grow = [this](size_t new_pages, size_t new_hosts) {
    if (plan_in_force()) return index_->GrowTo(new_pages, new_hosts);
    queue_->GrowTo(new_pages, new_hosts);
    facts_.GrowTo(new_pages);
  };
  if (room_hosts_ < hosts_.id_limit()) {
    const uint32_t end = SliceEnd(room_hosts_, hosts_.id_limit());
    grow(0, end);
    while (room_hosts_ < end) {
      const HostId host(room_hosts_++);
      const GroupId group = hosts_.host(host).group;
      if (hosts_.FreeAt(host) > picked_ || group != GroupId()) TellHost(host);
      if (index_ && group != GroupId()) index_->SetGroupFree(group, hosts_.groups().FreeAt(group));
    }
  } else {
    room_pages_ = SliceEnd(room_pages_, pages_.id_limit());
    grow(room_pages_, 0);
  }
  roomy_ = room_hosts_ >= hosts_.id_limit() && room_pages_ >= pages_.id_limit();
  return roomy_;
}

void PolicySwitch::StartRoom() {
  // Destroys the structures of an earlier change of policy, if the owner has not taken them.
  retired_.clear();
  room_pages_ = 0;
  room_hosts_ = 0;
  roomy_ = hosts_.id_limit() == 0 && pages_.id_limit() == 0;
  // If all hosts fit into one slice and all pages into another, the preparation ends here.
  for (int i = 0; i < 2; ++i) (void)MakeRoom();
}

void PolicySwitch::RetireIndex() {
  CHECK(plan_in_force(), "picks are taken from the index");
  if (index_) retired_.emplace_back(std::move(index_));
  roomy_ = true;
}

void PolicySwitch::RetireQueue() {
  CHECK(!plan_in_force(), "picks are taken from the queue");
  if (queue_) retired_.emplace_back(std::move(queue_));
  if (facts_.size() > 0) {
    retired_.push_back(std::make_shared<SegmentedArray<PlanFacts>>(std::exchange(facts_, {})));
  }
  roomy_ = true;
}

void PolicySwitch::StartIndex() {
  CHECK(!index_, "there is an index");
  index_ = std::make_unique<ClassedIndex>(hosts_);
  StartRoom();
}

void PolicySwitch::StartQueue() {
  CHECK(!queue_, "there is a queue");
  queue_ = std::make_unique<PlanQueue>();
  refile_ = false;
  newcomer_rate_ = kUnplannedRate;
  StartRoom();
}

void PolicySwitch::TellHost(HostId host) {
  const bool room = roomy_ || host.value() < room_hosts_;
  const bool tell_index = index_ && (room || !plan_in_force());
  if (tell_index) index_->SetHostFree(host, hosts_.FreeAt(host));
  if (queue_ && (room || plan_in_force())) queue_->SetHostFree(host, hosts_.FreeAt(host));
  groups_ |= hosts_.groups().any();
  if (groups_ && tell_index) index_->SetHostGroup(host, hosts_.host(host).group);
}

// --- Plans ---

void PolicySwitch::FileInQueue(PageId id, const IndexEntry& entry, Instant asked_at) {
  facts_.GrowTo(id.value() + size_t{1});
  PlanFacts& page = facts_[id.value()];
  const IndexRates& rates = entry.rates;
  DCHECK(rates.importance >= 0 && rates.change_rate >= 0);
  const bool complete = rates.signal_rate > 0 && rates.unsignalled_rate == 0;
  page.importance = rates.importance;
  page.change_rate = complete ? -rates.change_rate : rates.change_rate;
  const float share = ShareOf(id);
  PlanEntry filed = {.rate = std::max(0.0F, share),
                     .host = entry.host,
                     .eligible_from = entry.eligible_from,
                     .forced_at = entry.forced_at,
                     .asked_at = asked_at};
  if (queue_->Has(id)) {
    // A page keeps its place in the queue if signals ask for it again.
    filed.asked_at = std::min(asked_at, queue_->Entry(id).asked_at);
    queue_->Update(id, filed, latest_);
    return;
  }
  // A canonical entry tells when the page was last certainly fresh. A page that was never crawled
  // has no such time: these pages are spread over their first intervals, so that they do not all
  // become due at once.
  const IndexEntry canonical = Canonical(entry);
  Instant fresh_at = canonical.since;
  if (std::isinf(canonical.exponent) || fresh_at.infinite()) {
    const double part = Random(pages_.fingerprint(id)).Uniform();
    fresh_at = share > 0 ? latest_ - Duration::FromSeconds(part / share) : latest_;
  }
  queue_->Add(id, filed, fresh_at, latest_);
  if (pages_.IsAny(id, PageTable::kNotToBePicked)) queue_->Suspend(id);
}

void PolicySwitch::SampleRates(size_t most, std::vector<IndexRates>* rates) const {
  if (!index_ || most == 0) return;
  const uint32_t ids = pages_.id_limit();
  const auto step = static_cast<uint32_t>(std::max<size_t>(1, ids / most));
  for (uint32_t i = 0; i < ids && rates->size() < most; i += step) {
    const PageId id(i);
    if (!pages_.known(id) || pages_.Is(id, PageTable::kGone)) continue;
    if (const auto entry = index_->Find(id)) rates->push_back(entry->rates);
  }
}

uint32_t PolicySwitch::CollectPlan(uint32_t first, uint32_t count, PlanColumns* columns) const {
  if (!AwaitsPlan()) return 0;
  const uint32_t end = std::min(pages_.id_limit(), first + std::min(count, UINT32_MAX - first));
  for (uint32_t i = first; i < end; ++i) {
    const PageId id(i);
    // Pages that are not polled are not part of the plan. If they return before the next plan, they
    // are newcomers.
    const bool counts = pages_.known(id) && i < facts_.size() && !pages_.Is(id, PageTable::kGone) &&
                        !(crawls_ != nullptr && crawls_->IsShadow(id)) && facts_[i].importance > 0;
    const PlanFacts page = counts ? facts_[i] : PlanFacts();
    columns->page.push_back(counts ? pages_.number(id) : PageNumber());
    columns->importance.push_back(page.importance);
    columns->change_rate.push_back(std::abs(page.change_rate));
    columns->complete.push_back(std::signbit(page.change_rate) ? 1 : 0);
  }
  return end > first ? end - first : 0;
}

bool PolicySwitch::BeginPlan(Rate newcomer_rate) {
  CHECK(newcomer_rate >= Rate(), "a rate of {} per second", newcomer_rate.per_second());
  if (!AwaitsPlan()) return false;
  newcomer_rate_ = static_cast<float>(newcomer_rate.per_second());
  return true;
}

bool PolicySwitch::StagePlan(uint32_t first, std::span<const PlannedCrawls> crawls, Instant now) {
  if (!AwaitsPlan()) return false;
  Hear(now);
  facts_.GrowTo(first + crawls.size());
  for (uint32_t i = 0; i < crawls.size(); ++i) {
    const PlannedCrawls& page = crawls[i];
    CHECK(page.rate >= 0 && page.probability >= 0 && page.probability <= 1);
    const PageId id(first + i);
    const bool known = pages_.known(id);
    const bool same_page = known && pages_.number(id) == page.page;
    const float share = page.rate > 0 ? page.rate : -page.probability;
    float& before = facts_[id.value()].share;
    refile_ |= same_page && AsksBySignal(share) && !AsksBySignal(before);
    before = same_page ? share : kUnplanned;
    if (!queue_->Has(id)) continue;
    PlanEntry entry = queue_->Entry(id);
    entry.rate = std::max(0.0F, ShareOf(id));
    queue_->Update(id, entry, latest_);
  }
  return true;
}

bool PolicySwitch::FinishPlan(bool* refile) {
  if (!AwaitsPlan() || !roomy_ || queue_->size() < pages_.size()) return false;
  CHECK(queue_->size() == pages_.size(), "the queue has {} pages of {}", queue_->size(),
        pages_.size());
  *refile = std::exchange(refile_, false);
  in_force_ = CrawlPolicy(*policy_.plan);
  // The urgency of a planned pick is not a price.
  prices_.last = 0;
  prices_.of_class.fill(0);
  RetireIndex();
  return true;
}

float PolicySwitch::ShareOf(PageId id) const {
  const float share = id.value() < facts_.size() ? facts_[id.value()].share : kUnplanned;
  return share == kUnplanned ? newcomer_rate_ : share;
}

Rate PolicySwitch::PlannedRate(std::optional<PageId> id) const {
  return Rate::PerSecond(std::max(0.0F, id ? ShareOf(*id) : newcomer_rate_));
}

float PolicySwitch::SignalProbability(PageId id) const {
  return queue_ ? std::max(0.0F, -ShareOf(id)) : 0;
}

std::optional<Instant> PolicySwitch::PlannedAt(PageId id) const {
  if (!plan_in_force() || !queue_->Has(id)) return std::nullopt;
  return queue_->Due(id);
}

}  // namespace freshet
