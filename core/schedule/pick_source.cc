#include "core/schedule/pick_source.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/random.h"

namespace freshet {
namespace {

// Ids that get their room at a time: some two milliseconds of taking memory for the first time.
constexpr size_t kRoomSlice = size_t{1} << 15;

uint32_t SliceEnd(uint32_t from, size_t limit) {
  return static_cast<uint32_t>(std::min<size_t>(limit, from + kRoomSlice));
}

}  // namespace

PickSource::PickSource(const PageTable& pages, const HostGate& hosts, const CrawlPolicy& policy,
                       const CrawlTable* crawls)
    : pages_(pages), hosts_(hosts), crawls_(crawls), policy_(policy), in_force_(policy) {
  CHECK(pages.id_limit() == 0 && hosts.id_limit() == 0, "pages or hosts that nobody has told of");
  plan_in_force() ? StartQueue() : StartIndex();
}

// --- Policies ---

bool PickSource::SetPolicy(const CrawlPolicy& policy) {
  if (policy.plan) {
    // The index goes on with its own policy until the plan comes into force.
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

void PickSource::FinishFiling(const CrawlPolicy& filed_by) {
  // A rate policy has its plan still to come.
  if (filed_by != policy_ || filed_by.plan) return;
  if (plan_in_force()) {
    TakeOverByIndex();
  } else {
    in_force_ = filed_by;
  }
}

void PickSource::TakeOverByIndex() {
  if (!index_ || !plan_in_force()) return;
  if (!roomy_ || index_->size() < pages_.size()) {
    // An index files its pages at its first pick and follows the price by its picks: with one now
    // and then neither is left to the moment in which it takes over.
    if (picked_ > Instant()) (void)index_->Best(picked_, kAllClasses);
    return;
  }
  CHECK(index_->size() == pages_.size(), "the index has {} pages of {}", index_->size(),
        pages_.size());
  CHECK(!policy_.plan, "an index is made ready for a rate policy");
  in_force_ = policy_;
  RetireQueue();
}

// --- What is made ready ---

bool PickSource::MakeRoom() {
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
      if (hosts_.FreeAt(host) > picked_ || hosts_.GroupIdOf(host) != GroupId()) HostChanged(host);
    }
  } else {
    room_pages_ = SliceEnd(room_pages_, pages_.id_limit());
    grow(room_pages_, 0);
  }
  roomy_ = room_hosts_ >= hosts_.id_limit() && room_pages_ >= pages_.id_limit();
  return roomy_;
}

void PickSource::StartRoom() {
  // What was left over before is not kept beside what is left over next.
  retired_.clear();
  room_pages_ = 0;
  room_hosts_ = 0;
  roomy_ = hosts_.id_limit() == 0 && pages_.id_limit() == 0;
  // At once where one slice is all.
  for (int i = 0; i < 2; ++i) (void)MakeRoom();
}

void PickSource::RetireIndex() {
  CHECK(plan_in_force(), "picks are taken from the index");
  if (index_) retired_.emplace_back(std::move(index_));
  roomy_ = true;
}

void PickSource::RetireQueue() {
  CHECK(!plan_in_force(), "picks are taken from the queue");
  if (queue_) retired_.emplace_back(std::move(queue_));
  if (facts_.size() > 0) {
    retired_.push_back(std::make_shared<SegmentedArray<PlanFacts>>(std::exchange(facts_, {})));
  }
  roomy_ = true;
}

void PickSource::StartIndex() {
  CHECK(!index_, "there is an index");
  index_ = std::make_unique<ClassedIndex>(hosts_);
  StartRoom();
}

void PickSource::StartQueue() {
  CHECK(!queue_, "there is a queue");
  queue_ = std::make_unique<PlanQueue>();
  refile_ = false;
  newcomer_rate_ = kUnplannedRate;
  StartRoom();
}

// --- Groups of hosts ---

void PickSource::FollowGroupOf(HostId host) {
  const GroupId group = hosts_.GroupIdOf(host);
  const bool room = roomy_ || host.value() < room_hosts_;
  if (index_ && (room || !plan_in_force())) index_->SetHostGroup(host, group);
  if (group != GroupId()) GroupChanged(group);
}

void PickSource::GroupChanged(GroupId group) {
  if (index_) index_->SetGroupFree(group, hosts_.groups().FreeAt(group));
  const auto blocked = blocked_with_group_.find(group);
  if (blocked == blocked_with_group_.end()) return;
  const absl::btree_set<HostId> hosts = std::move(blocked->second);
  blocked_with_group_.erase(blocked);
  for (const HostId host : hosts) {
    if (queue_) queue_->SetHostFree(host, hosts_.FreeAt(host));
    if (forced_) forced_->SetHostFree(host, hosts_.FreeAt(host));
  }
}

template <typename Hosts>
bool PickSource::GroupIsFree(HostId host, Instant at, Hosts& its) {
  const GroupId group = groups_ ? hosts_.GroupIdOf(host) : GroupId();
  if (group == GroupId()) return true;
  const Instant free_at = hosts_.groups().FreeAt(group);
  if (free_at <= at) return true;
  its.SetHostFree(host, std::max(free_at, hosts_.FreeAt(host)));
  if (free_at.infinite()) blocked_with_group_[group].insert(host);
  return false;
}

std::optional<PlanPick> PickSource::BestOfPlan(Instant at) {
  while (true) {
    const std::optional<PlanPick> first = queue_->Best(at);
    if (!first || GroupIsFree(queue_->Entry(first->page).host, at, *queue_)) return first;
  }
}

// --- Picks ---

std::optional<ClassedPick> PickSource::Best(Instant at, ClassSet among, bool forced_first) {
  Hear(at);
  picked_ = std::max(picked_, at);
  if (!forced_) return BestByWorth(at, among);
  const std::optional<ClassedPick> first =
      forced_first ? BestForced(at, among) : BestByWorth(at, among);
  if (first) return first;
  return forced_first ? BestByWorth(at, among) : BestForced(at, among);
}

std::optional<ClassedPick> PickSource::BestByWorth(Instant at, ClassSet among) {
  if (!plan_in_force()) return index_->Best(at, among);
  const std::optional<PlanPick> first = BestOfPlan(at);
  if (!first) return std::nullopt;
  return ClassedPick{first->page, first->urgency, 0};
}

std::optional<ClassedPick> PickSource::BestForced(Instant at, ClassSet among) {
  // A plan knows no classes.
  const bool classed = !plan_in_force();
  while (true) {
    const std::optional<ClassedPick> best = forced_->Best(at, classed ? among : kAllClasses);
    if (best && GroupIsFree(forced_->HostOf(best->page), at, *forced_)) {
      return ClassedPick{best->page, best->value, classed ? best->crawl_class : CrawlClass{0}};
    }
    if (!best) return std::nullopt;
  }
}

ForcedTurn PickSource::TakeTurn(const ClassedPick& pick) {
  if (!std::isinf(pick.value) || !IsForcible(pick.page)) return {};
  forced_->TakeTurn(pick.page);
  return forced_->TurnOf(pick.page);
}

// --- Pages ---

void PickSource::File(PageId id, const IndexEntry& entry, Instant asked_at) {
  CHECK(pages_.known(id), "page {} is not known", id.value());
  CHECK(entry.host.value() < hosts_.id_limit(), "host {} is not known", entry.host.value());
  FileForced(id, entry);
  IndexEntry by_worth = entry;
  by_worth.forced_at = Instant::Infinite();
  // What is worth nothing goes out only where it is forced.
  if (entry.rates.importance == 0 && !entry.forced_at.infinite()) {
    by_worth.eligible_from = Instant::Infinite();
  }
  if (FilesInIndex()) {
    index_->Put(id, by_worth, ClassOf(id));
    if (pages_.IsAny(id, PageTable::kNotToBePicked)) index_->Suspend(id);
  }
  if (FilesInQueue()) FileInQueue(id, by_worth, asked_at);
}

void PickSource::FileForced(PageId id, const IndexEntry& entry) {
  if (entry.forced_at.infinite()) {
    if (IsForcible(id)) forced_->Remove(id);
    return;
  }
  if (!forced_) forced_ = std::make_unique<ForcedPages>(hosts_, crawls_);
  IndexEntry forced = entry;
  forced.eligible_from = std::max(entry.eligible_from, entry.forced_at);
  forced_->Put(id, forced);
  if (pages_.IsAny(id, PageTable::kNotToBePicked)) forced_->Suspend(id);
}

void PickSource::FileInQueue(PageId id, const IndexEntry& entry, Instant asked_at) {
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
    // A page that was asked for keeps its turn when it is asked for again.
    filed.asked_at = std::min(asked_at, queue_->Entry(id).asked_at);
    queue_->Update(id, filed, latest_);
    return;
  }
  // Canonical entries say when the page was last surely fresh. Pages that nobody has crawled do
  // not: they are spread over their first interval, so that they do not all come at once.
  const IndexEntry canonical = Canonical(entry);
  Instant fresh_at = canonical.since;
  if (std::isinf(canonical.exponent) || fresh_at.infinite()) {
    const double part = Random(pages_.fingerprint(id)).Uniform();
    fresh_at = share > 0 ? latest_ - Duration::FromSeconds(part / share) : latest_;
  }
  queue_->Add(id, filed, fresh_at, latest_);
  if (pages_.IsAny(id, PageTable::kNotToBePicked)) queue_->Suspend(id);
}

void PickSource::Crawled(PageId id) {
  if (InQueue(id)) queue_->Crawled(id, latest_);
}

void PickSource::Remove(PageId id) {
  CHECK(pages_.known(id), "page {} was removed before", id.value());
  if (index_) index_->Remove(id);
  if (queue_) queue_->Remove(id);
  if (IsForcible(id)) forced_->Remove(id);
  // A later page may be given the id.
  if (id.value() < facts_.size()) facts_[id.value()] = PlanFacts();
}

void PickSource::Suspend(PageId id) {
  DCHECK(pages_.IsAny(id, PageTable::kNotToBePicked));
  if (InIndex(id)) index_->Suspend(id);
  if (InQueue(id)) queue_->Suspend(id);
  if (IsForcible(id)) forced_->Suspend(id);
}

void PickSource::Resume(PageId id) {
  DCHECK(!pages_.IsAny(id, PageTable::kNotToBePicked));
  if (InIndex(id)) index_->Resume(id);
  if (InQueue(id)) queue_->Resume(id);
  if (IsForcible(id)) forced_->Resume(id);
}

// --- Plans ---

void PickSource::SampleRates(size_t most, std::vector<IndexRates>* rates) const {
  if (!index_ || most == 0) return;
  const uint32_t ids = pages_.id_limit();
  const auto step = static_cast<uint32_t>(std::max<size_t>(1, ids / most));
  for (uint32_t i = 0; i < ids && rates->size() < most; i += step) {
    const PageId id(i);
    if (!pages_.known(id) || pages_.Is(id, PageTable::kGone)) continue;
    if (const auto entry = index_->Find(id)) rates->push_back(entry->rates);
  }
}

uint32_t PickSource::CollectPlan(uint32_t first, uint32_t count, PlanColumns* columns) const {
  if (!AwaitsPlan()) return 0;
  const uint32_t end = std::min(pages_.id_limit(), first + std::min(count, UINT32_MAX - first));
  for (uint32_t i = first; i < end; ++i) {
    const PageId id(i);
    // What is not polled has no part in the plan: if it comes back before the next one, it is a
    // newcomer.
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

bool PickSource::BeginPlan(Rate newcomer_rate) {
  CHECK(newcomer_rate >= Rate(), "a rate of {} per second", newcomer_rate.per_second());
  if (!AwaitsPlan()) return false;
  newcomer_rate_ = static_cast<float>(newcomer_rate.per_second());
  return true;
}

bool PickSource::StagePlan(uint32_t first, std::span<const PlannedCrawls> crawls, Instant now) {
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

bool PickSource::FinishPlan(bool* refile) {
  if (!AwaitsPlan() || !roomy_ || queue_->size() < pages_.size()) return false;
  CHECK(queue_->size() == pages_.size(), "the queue has {} pages of {}", queue_->size(),
        pages_.size());
  *refile = std::exchange(refile_, false);
  in_force_ = CrawlPolicy(*policy_.plan);
  RetireIndex();
  return true;
}

float PickSource::ShareOf(PageId id) const {
  const float share = id.value() < facts_.size() ? facts_[id.value()].share : kUnplanned;
  return share == kUnplanned ? newcomer_rate_ : share;
}

Rate PickSource::PlannedRate(std::optional<PageId> id) const {
  return Rate::PerSecond(std::max(0.0F, id ? ShareOf(*id) : newcomer_rate_));
}

float PickSource::SignalProbability(PageId id) const {
  return queue_ ? std::max(0.0F, -ShareOf(id)) : 0;
}

std::optional<Instant> PickSource::PlannedAt(PageId id) const {
  if (!plan_in_force() || !queue_->Has(id)) return std::nullopt;
  return queue_->Due(id);
}

}  // namespace freshet
