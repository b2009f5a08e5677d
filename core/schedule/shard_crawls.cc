// Steps for events about crawl ids, the admission of pages, and the deletion of all pages of a
// crawl id or host: see shard_steps.h.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "core/base/limits.h"
#include "core/schedule/shard_steps.h"
#include "core/schedule/staged.h"

namespace freshet {
namespace {

Status BeingDeleted(std::string_view field, std::string_view name) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "{}: {} is being deleted, and accepts pages only when that is done", field,
                    name);
}

// The batch's last event for the crawl id; nullptr = none.
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

// OK if the client is allowed to add a page under a new crawl id, which then counts against the
// client's share.
Status AdmitNewCrawl(const std::string& crawl_id, const Claim& claim, const Books& books,
                     Transaction& txn) {
  const CrawlTable& crawls = books.crawls.table;
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

// OK if the host can have one more page. Takes a place for a new host.
Status AdmitToHost(const std::string& host, const Books& books, Transaction& txn) {
  const std::shared_ptr<Quota>& quota = books.options.host_quota;
  if (quota == nullptr && books.options.max_pages_per_host == UINT64_MAX) return absl::OkStatus();
  const std::optional<HostId> id = books.hosts.gate.Find(host);
  const uint64_t created = txn.CreatedPagesOf(host);
  const uint64_t pages_of_host = (id ? books.hosts.use.pages(*id) : 0) + created;
  if (pages_of_host >= books.options.max_pages_per_host) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "url: host {} already has {} pages, the maximum", host, pages_of_host);
  }
  const bool counted = id && books.hosts.use.Counts(*id);
  if (counted || created > 0 || quota == nullptr) return absl::OkStatus();
  if (!quota->Take()) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "url: host {} is new, but this server already has {} hosts, the maximum",
                      host, quota->most());
  }
  txn.places.Add(quota);
  return absl::OkStatus();
}

}  // namespace

// --- Terms of crawl ids

Reply Step(const SetCrawl& event, Instant, const Books& books, Transaction& txn) {
  const bool known = books.crawls.table.Find(event.terms.record.crawl_id).has_value();
  if (!known &&
      books.crawls.table.size() + txn.new_crawls.size() + txn.crawls.size() >= limits::kMaxCrawls) {
    return Refused(TooManyCrawls("crawl_id: "));
  }
  txn.crawls.emplace_back(event);
  return {};
}

Reply Step(const ForgetCrawl& event, Instant, const Books&, Transaction& txn) {
  txn.crawls.emplace_back(event);
  return {};
}

// --- Admission of pages

Status AdmitUpsert(const UpsertPage& event, bool created, const Books& books, Transaction& txn) {
  const CrawlTable& crawls = books.crawls.table;
  const std::string& crawl_id = event.key.crawl_id;
  const std::optional<CrawlIndex> crawl = crawls.Find(crawl_id);
  bool deleting = crawl && crawls[*crawl].deleting;
  if (const auto* staged = StagedCrawl(crawl_id, txn)) {
    const auto* set = std::get_if<SetCrawl>(staged);
    deleting = set != nullptr && set->terms.record.deleting;
  }
  if (deleting) return BeingDeleted("crawl_id", crawl_id);
  // The deletion of a host is either installed (books.hosts.deleted) or staged by this batch.
  const HostRecord* host =
      books.hosts.deleted.empty() ? txn.FindHost(event.host) : KnownHost(event.host, books, txn);
  if (host != nullptr && host->deleting) return BeingDeleted("host", event.host);
  if (!created) return absl::OkStatus();
  RETURN_IF_ERROR(AdmitToHost(event.host, books, txn));
  if (!crawl) return AdmitNewCrawl(crawl_id, event.claim, books, txn);
  const CrawlTerms* terms = crawls[*crawl].terms.get();
  if (terms == nullptr || terms->quota == nullptr) return absl::OkStatus();
  if (!terms->quota->Take()) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "crawl_id: {} already has {} pages, the maximum that its max_pages sets",
                      crawl_id, terms->quota->most());
  }
  txn.places.Add(terms->quota);
  return absl::OkStatus();
}

// --- Deletions

Reply Step(const DeleteHost& event, Instant, const Books& books, Transaction& txn) {
  const bool known = books.hosts.gate.Find(event.host) || txn.FindHost(event.host) != nullptr ||
                     txn.CreatedPagesOf(event.host) > 0;
  if (!known) return Refused(NotFound("host: {} has neither pages nor settings", event.host));
  StagedHost(event.host, books, txn)->deleting = true;
  return {};
}

Reply Step(const RemoveDeleted& event, Instant, const Books& books, Transaction& txn) {
  if (Transaction::Page* page = txn.Find(event.page)) RemoveStaged(*page, books, txn);
  return {};
}

Reply Step(const EndHostDeletion& event, Instant, const Books& books, Transaction& txn) {
  const std::optional<HostId> id = books.hosts.gate.Find(event.host);
  if (!id || books.hosts.use.pages(*id) > 0 || txn.CreatedPagesOf(event.host) > 0) return {};
  HostRecord* host = StagedHost(event.host, books, txn);
  if (!host->deleting) return {};
  // Keeps only what delays the next fetch from the host. The host is forgotten later, when these
  // delays have ended.
  *host = {.host = host->host,
           .blocked_until = host->blocked_until,
           .last_assignment = host->last_assignment,
           .throttles = host->throttles,
           .last_throttled = host->last_throttled,
           .recent_crawls = std::move(host->recent_crawls)};
  return {};
}

}  // namespace freshet
