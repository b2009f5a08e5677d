// Crawl ids: what is set for them, what is counted of them, and how all pages of one, or of a host,
// are deleted.
//
// A deletion is a mark in the stored record of the crawl id or host, so that it outlives a restart.
// While there is one, passes over all pages, a slice every few milliseconds, have those removed
// that are of it. Pages that come meanwhile are refused, so the first pass finds all.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/id_limits.h"
#include "core/base/limits.h"
#include "core/schedule/shard_impl.h"

namespace freshet {
namespace {

// Between two slices of a deletion: each costs a commit, for which everything else waits.
constexpr Duration kSweepPause = Duration::Millis(10);
// Pages that are moved to another class at a time: some milliseconds.
constexpr size_t kMovedAtOnce = 2048;

Reply Refused(Status status) {
  return {.disposition = Disposition::kRefused, .status = std::move(status)};
}

Status BeingDeleted(std::string_view field, std::string_view name) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "{}: {} is being deleted, and accepts pages only when that is done", field,
                    name);
}

// What the batch has said of the crawl id last; null: nothing.
const std::variant<SetCrawl, ForgetCrawl>* StagedCrawl(const std::string& crawl_id,
                                                       const Transaction& txn) {
  for (auto it = txn.crawls.rbegin(); it != txn.crawls.rend(); ++it) {
    const auto* set = std::get_if<SetCrawl>(&*it);
    const std::string& id =
        set != nullptr ? set->terms.record.crawl_id : std::get<ForgetCrawl>(*it).crawl_id;
    if (id == crawl_id) return &*it;
  }
  return nullptr;
}

}  // namespace

// --- What is set ---

Reply ShardState::Impl::Step(const SetCrawl& event, Instant, Transaction& txn) const {
  const bool known = crawls.Find(event.terms.record.crawl_id).has_value();
  if (!known && crawls.size() + txn.new_crawls.size() + txn.crawls.size() >= limits::kMaxCrawls) {
    return Refused(TooManyCrawls("crawl_id: "));
  }
  txn.crawls.emplace_back(event);
  return {};
}

Reply ShardState::Impl::Step(const ForgetCrawl& event, Instant, Transaction& txn) const {
  txn.crawls.emplace_back(event);
  return {};
}

void ShardState::Impl::OwnCrawl(const std::string& crawl_id, const Transaction& txn) {
  const auto its = txn.new_crawls.find(crawl_id);
  if (its != txn.new_crawls.end()) crawls.Own(*crawls.Find(crawl_id), its->second);
}

void ShardState::Impl::InstallCrawls(const Transaction& txn) {
  for (const auto& crawl : txn.crawls) {
    if (const auto* set = std::get_if<SetCrawl>(&crawl)) {
      InstallCrawl(set->terms);
      continue;
    }
    const std::string& crawl_id = std::get<ForgetCrawl>(crawl).crawl_id;
    told_empty.erase(crawl_id);
    const std::optional<CrawlIndex> index = crawls.Find(crawl_id);
    if (!index) continue;
    LeaveClass(*index, 0);
    crawls.DropTerms(*index);
    reclassing = 0;
    following = 0;
  }
}

void ShardState::Impl::InstallCrawl(const CrawlTerms& terms) {
  const std::optional<CrawlIndex> index = crawls.Intern(terms.record.crawl_id);
  CHECK(index, "{} crawl ids", crawls.size());
  const CrawlTerms* before = crawls.terms(*index);
  if ((before == nullptr ? 0 : before->crawl_class) != terms.crawl_class) reclassing = 0;
  LeaveClass(*index, terms.crawl_class);
  const auto politeness = [](const CrawlRecord& record) {
    return std::pair(record.min_delay, record.max_in_flight);
  };
  const CrawlRecord none;
  if (politeness(before == nullptr ? none : before->record) != politeness(terms.record)) {
    following = 0;
  }
  crawls.SetTerms(*index, terms);
  if (!terms.record.deleting) return;
  // Also when it is asked for again: then its end is told again.
  told_empty.erase(terms.record.crawl_id);
  BeginSweep();
}

void ShardState::Impl::LeaveClass(CrawlIndex crawl, CrawlClass for_another) {
  const std::string& crawl_id = crawls.name(crawl);
  std::erase(declassed, crawl_id);
  const CrawlTerms* terms = crawls.terms(crawl);
  const bool left = terms != nullptr && terms->crawl_class != 0 && for_another == 0;
  if (left) declassed.push_back(crawl_id);
}

std::vector<std::string> ShardState::Impl::TakeDeclassed() {
  if (declassed.empty() || reclassing < pages.id_limit()) return {};
  return std::exchange(declassed, {});
}

void ShardState::Impl::InstallCounts(const Transaction::Page& page) {
  if (page.counts == CrawlCounters()) return;
  const std::optional<PageId> id = pages.Find(page.record.number);
  // One that this batch has created and removed is of a crawl id that may not be known.
  const std::optional<CrawlIndex> crawl =
      id ? crawls.Of(*id) : crawls.Find(page.record.key.crawl_id);
  if (crawl) crawls.Count(*crawl) += page.counts;
}

Duration ShardState::Impl::IntervalOf(CrawlIndex crawl, HostId host) const {
  if (crawls.polite().empty() || hosts.HasPageInterval(host)) return hosts.PageInterval(host);
  const CrawlTerms* terms = crawls.terms(crawl);
  const bool own = terms != nullptr && terms->record.min_page_interval;
  return own ? *terms->record.min_page_interval : hosts.PageInterval(host);
}

void ShardState::Impl::FollowCrawlsOf(HostId host) {
  const uint32_t all = hosts.pages(host);
  uint32_t polite = 0;
  std::optional<PolitenessDefaults> strictest;
  const auto heed = [&strictest](Duration min_delay, uint32_t max_in_flight) {
    if (!strictest) strictest.emplace();
    strictest->min_delay = std::max(strictest->min_delay, min_delay);
    uint32_t& limit = strictest->max_in_flight;
    if (limit == 0 || (max_in_flight != 0 && max_in_flight < limit)) limit = max_in_flight;
  };
  const PolitenessDefaults& usual = hosts.defaults();
  for (const CrawlIndex crawl : crawls.polite()) {
    const uint32_t pages_of_crawl = crawls.PagesOf(host, crawl, all);
    if (pages_of_crawl == 0) continue;
    polite += pages_of_crawl;
    const CrawlRecord& record = crawls.terms(crawl)->record;
    heed(record.min_delay.value_or(usual.min_delay),
         record.max_in_flight.value_or(usual.max_in_flight));
  }
  if (strictest && polite < all) heed(usual.min_delay, usual.max_in_flight);
  if (strictest) {
    strictest->min_page_interval = usual.min_page_interval;
    strictest->max_crawls = usual.max_crawls;
    strictest->hours = usual.hours;
  }
  hosts.SetDefaultsOf(host, strictest);
}

void ShardState::Impl::FollowClasses() {
  size_t left = kMovedAtOnce;
  uint32_t looks = limits::kDeletionScan;
  for (; reclassing < pages.id_limit() && left > 0 && looks > 0; ++reclassing, --looks) {
    const PageId id(reclassing);
    if (pages.known(id) && picks.FollowClass(id)) --left;
  }
  if (reclassing >= pages.id_limit()) reclassing = UINT32_MAX;
}

// --- Which pages are taken ---

Status ShardState::Impl::AdmitUpsert(const UpsertPage& event, bool created,
                                     Transaction& txn) const {
  const std::string& crawl_id = event.key.crawl_id;
  const std::optional<CrawlIndex> crawl = crawls.Find(crawl_id);
  bool deleting = crawl && crawls.deleting(*crawl);
  if (const auto* staged = StagedCrawl(crawl_id, txn)) {
    const auto* set = std::get_if<SetCrawl>(staged);
    deleting = set != nullptr && set->terms.record.deleting;
  }
  if (deleting) return BeingDeleted("crawl_id", crawl_id);
  // One that is being deleted is among deleted_hosts, or its deletion is of this batch.
  const HostRecord* host =
      deleted_hosts.empty() ? txn.FindHost(event.host) : KnownHost(event.host, txn);
  if (host != nullptr && host->deleting) return BeingDeleted("host", event.host);
  if (!created) return absl::OkStatus();
  RETURN_IF_ERROR(AdmitToHost(event.host, txn));
  if (!crawl) return AdmitNewCrawl(crawl_id, event.claim, txn);
  const CrawlTerms* terms = crawls.terms(*crawl);
  if (terms == nullptr || terms->quota == nullptr) return absl::OkStatus();
  if (!terms->quota->Take()) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "crawl_id: {} already has {} pages, the maximum that its max_pages sets",
                      crawl_id, terms->quota->most());
  }
  txn.places.Add(terms->quota);
  return absl::OkStatus();
}

Status ShardState::Impl::AdmitNewCrawl(const std::string& crawl_id, const Claim& claim,
                                       Transaction& txn) const {
  if (txn.new_crawls.contains(crawl_id)) return absl::OkStatus();
  const size_t staged = txn.new_crawls.size() + txn.crawls.size();
  if (crawls.size() + staged >= limits::kMaxCrawls) return TooManyCrawls("crawl_id: ");
  uint64_t& own = txn.new_crawls_of_client[claim.client];
  if (crawls.shares().Left(claim, staged - own, own) == 0) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "crawl_id: {} is new, but this client already has {} crawl ids, the maximum "
                      "for one client while the server has {}",
                      crawl_id, crawls.shares().held(claim.client) + own, crawls.size() + staged);
  }
  ++own;
  txn.new_crawls.emplace(crawl_id, claim.client);
  return absl::OkStatus();
}

Status ShardState::Impl::AdmitToHost(const std::string& host, Transaction& txn) const {
  const std::shared_ptr<Quota>& quota = options.host_quota;
  if (quota == nullptr && options.max_pages_per_host == UINT64_MAX) return absl::OkStatus();
  const std::optional<HostId> id = hosts.Find(host);
  const uint64_t created = txn.CreatedPagesOf(host);
  const uint64_t pages_of_host = (id ? hosts.pages(*id) : 0) + created;
  if (pages_of_host >= options.max_pages_per_host) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "url: host {} already has {} pages, the maximum", host, pages_of_host);
  }
  const bool counted = id && !hosts.IsAtRest(*id);
  if (counted || created > 0 || quota == nullptr) return absl::OkStatus();
  if (!quota->Take()) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "url: host {} is new, but this server already has {} hosts, the maximum",
                      host, quota->most());
  }
  txn.places.Add(quota);
  return absl::OkStatus();
}

// --- Deletions ---

void ShardState::Impl::RemoveStaged(Transaction::Page& page, Transaction& txn) const {
  if (Transaction::Lease* lease = OpenLease(LeaseOf(page.record.number, txn), txn)) {
    // Its worker fetches the page all the same: until it answers, its host is not free for another.
    lease->record.host = page.record.host;
  }
  page.removed = true;
}

Reply ShardState::Impl::Step(const DeleteHost& event, Instant, Transaction& txn) const {
  const bool known = hosts.Find(event.host) || txn.FindHost(event.host) != nullptr ||
                     txn.CreatedPagesOf(event.host) > 0;
  if (!known) return Refused(NotFound("host: {} has neither pages nor settings", event.host));
  StagedHost(event.host, txn)->deleting = true;
  return {};
}

Reply ShardState::Impl::Step(const RemoveDeleted& event, Instant, Transaction& txn) const {
  if (Transaction::Page* page = txn.Find(event.page)) RemoveStaged(*page, txn);
  return {};
}

Reply ShardState::Impl::Step(const EndHostDeletion& event, Instant, Transaction& txn) const {
  const std::optional<HostId> id = hosts.Find(event.host);
  if (!id || hosts.pages(*id) > 0 || txn.CreatedPagesOf(event.host) > 0) return {};
  HostRecord* host = StagedHost(event.host, txn);
  if (!host->deleting) return {};
  // What it has asked for, and when it was fetched, is forgotten in its time, and the host with it.
  *host = {.host = host->host,
           .blocked_until = host->blocked_until,
           .last_assignment = host->last_assignment,
           .throttles = host->throttles,
           .last_throttled = host->last_throttled,
           .recent_crawls = std::move(host->recent_crawls)};
  return {};
}

void ShardState::Impl::BeginSweep() { sweep = 0; }

bool ShardState::Impl::IsDeleted(PageId id) const {
  if (crawls.deletions() > 0 && crawls.deleting(crawls.Of(id))) return true;
  return !deleted_hosts.empty() && deleted_hosts.contains(picks.HostOf(id));
}

void ShardState::Impl::SweepDeleted(Instant now, size_t max, std::vector<Event>* events) {
  if (sweep == UINT32_MAX || now < sweep_at) return;
  sweep_at = now + kSweepPause;
  size_t left = std::min(max, limits::kDeletionSlice);
  if (sweep >= pages.id_limit()) return EndSweep(left, events);
  const uint32_t end = sweep + std::min(pages.id_limit() - sweep, limits::kDeletionScan);
  for (; sweep < end && left > 0; ++sweep) {
    const PageId id(sweep);
    if (!pages.known(id) || !IsDeleted(id)) continue;
    events->push_back(RemoveDeleted{pages.number(id)});
    --left;
  }
}

void ShardState::Impl::EndSweep(size_t max, std::vector<Event>* events) {
  bool more = false;
  for (uint16_t i = 0; i < crawls.index_limit(); ++i) {
    const CrawlIndex crawl(i);
    if (!crawls.known(crawl) || !crawls.deleting(crawl)) continue;
    if (crawls.counters(crawl).pages > 0) {
      more = true;
    } else if (told_empty.insert(crawls.name(crawl)).second) {
      emptied.push_back(crawls.name(crawl));
    }
  }
  for (const HostId host : deleted_hosts) {
    more = true;
    if (hosts.pages(host) > 0 || max == 0) continue;
    events->push_back(EndHostDeletion{hosts.record(host).host});
    --max;
  }
  sweep = more ? 0 : UINT32_MAX;
}

}  // namespace freshet
