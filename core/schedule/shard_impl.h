// The inside of ShardState: the pages and hosts of a shard, and what each event does to them. What
// it is made of has files of its own: the names of pages (page_table.h), what picks are taken from,
// index or plan (pick_source.h), which hosts are free (host_gate.h), what is out with workers
// (leases.h, pages_out.h), which signals were taken (signal_memory.h), when rates change by age
// (age_bin_wheel.h), how fresh the pages are believed to be (freshness_sample.h), how long they
// wait for what signals ask for (signal_waits.h), how many hosts are free (host_census.h).
//
//   shard_state.cc     start-up, installing, picks, timers, politeness
//   shard_steps.cc     one function per event: what it stages
//   shard_crawls.cc    crawl ids: what is set for them; deletions
//   shard_pages.cc     how a page is filed: what index and plan are told of its record
//   shard_waits.cc     how long what was not fetched waits
//   shard_view.cc      looking: why a page is, or is not, crawled now
//   shard_forwards.cc  ShardState's own functions, as calls of these
//
// Not for others.
#ifndef FRESHET_CORE_SCHEDULE_SHARD_IMPL_H_
#define FRESHET_CORE_SCHEDULE_SHARD_IMPL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/estimate/estimator.h"
#include "core/estimate/lessons.h"
#include "core/estimate/page_estimate.h"
#include "core/index/index_entry.h"
#include "core/model/page.h"
#include "core/schedule/age_bin_wheel.h"
#include "core/schedule/crawl_table.h"
#include "core/schedule/explanation.h"
#include "core/schedule/freshness_sample.h"
#include "core/schedule/host_census.h"
#include "core/schedule/host_gate.h"
#include "core/schedule/leases.h"
#include "core/schedule/page_table.h"
#include "core/schedule/page_to_load.h"
#include "core/schedule/pages_out.h"
#include "core/schedule/pick.h"
#include "core/schedule/pick_source.h"
#include "core/schedule/shard_counters.h"
#include "core/schedule/shard_options.h"
#include "core/schedule/shard_state.h"
#include "core/schedule/signal_waits.h"
#include "core/schedule/transaction.h"
#include "core/schedule/urgency.h"

namespace freshet {

// Owner thread only.
//
// Invariants: every known page is in `picks`, there withheld exactly when it is leased or taken, or
// no time makes it worth a crawl; it is in `out` exactly when it is leased or taken, and leased
// exactly when its lease there is open. The other leases in `out` are of removed pages.
class ShardState::Impl {
 public:
  explicit Impl(const ShardOptions& shard_options);

  // --- shard_state.cc: start-up, installing, picks, timers, politeness
  [[nodiscard]] Status LoadPages(std::span<const PageToLoad> batch, Instant now);
  void LoadAssignment(PageNumber page, Instant at);
  void LoadLease(const LeaseRecord& lease);
  // Of a page that was removed.
  void LoadOrphan(const LeaseRecord& lease);
  [[nodiscard]] std::vector<PageNumber> FinishLoad();
  void FinishLeases();
  [[nodiscard]] Status Follow(const FollowedChanges& changes, Instant now);
  void Install(Transaction& txn);
  void TakeDueTimers(Instant now, size_t max, std::vector<Event>* events);
  [[nodiscard]] Instant next_timer() const;
  // That of picks whose host is within its hours; none also where there is more to be looked at
  // than one call does.
  [[nodiscard]] std::optional<ClassedPick> Best(Instant at, ClassSet among, bool forced_first);
  [[nodiscard]] std::optional<Pick> Peek(Instant at);
  [[nodiscard]] double BestValue(Instant now);
  [[nodiscard]] std::optional<Pick> Take(Instant at, ClassSet among, bool forced_first);
  void PutBack(PageNumber number);
  void HearOfGroup(const GroupNews& news, Instant now);
  void SetPoliteness(const PolitenessDefaults& defaults);
  // A slice of the hosts that are to follow new defaults.
  void FollowPoliteness();
  void InstallHosts(Transaction& txn);
  void InstallHost(const HostRecord& record);
  void DropHost(HostId host);
  void InstallPages(Transaction& txn);
  // What a signal or a crawl of the page means for how long it waits.
  void CountWait(PageId id, const Transaction::Page& page);
  void InstallLeases(Transaction& txn);
  // `field` is what the request is refused for, if there is one.
  [[nodiscard]] Status TooManyPages(std::string_view field) const {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "{}a shard has at most {} pages: the server needs more shards", field,
                      options.max_pages);
  }

  [[nodiscard]] static Status TooManyCrawls(std::string_view field) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "{}this server already has {} crawl ids, the maximum", field,
                      limits::kMaxCrawls);
  }

  // --- shard_pages.cc: how a page is filed
  [[nodiscard]] PageToLoad PrepareLoad(PageNumber number, uint64_t fingerprint, HostId host,
                                       const PageSpec& spec, const PageState& state,
                                       CrawlClass crawl_class = 0) const;
  void FindNumbers(const PageKey& key, std::vector<PageNumber>* numbers) const;
  // What is known of a page without its host.
  [[nodiscard]] IndexEntry MakeEntry(const PageSpec& spec, const PageState& state, HostId host,
                                     CrawlClass crawl_class) const;
  // What `default` makes of it: the value counts as far as the page is likely there, and less where
  // it can wait.
  void WeighAsDefault(const PageState& state, CrawlClass crawl_class, IndexEntry* entry) const;
  void FileAsGone(const PageSpec& spec, const PageState& state, IndexEntry* entry) const;
  // All of it.
  [[nodiscard]] IndexEntry EntryOf(PageId id, const PageSpec& spec, const PageState& state,
                                   HostId host) const;
  // Has the page wait until so long after its last crawl; none: it does not hold.
  static void Hold(IndexEntry* entry, Instant last_crawl, Duration interval);
  // Takes over spec and state of a page, and files it.
  void Refile(PageId id, HostId host, const PageSpec& spec, const PageState& state);
  // Takes over what was computed of a page. `asked_at`: see AskedAt.
  // `entry`: that of the page, held by the page interval of its host.
  void File(PageId id, const PageToLoad& page, const IndexEntry& entry, Instant asked_at);
  // When a signal since the last crawl asked for a crawl by the plan; infinite: none did. A page
  // that the plan crawls on signals alone and nobody has crawled yet asked when it was first seen.
  [[nodiscard]] Instant AskedAt(PageId id, const PageState& state) const;
  // `places`: those that were taken for new pages, of which it uses one where it needs one.
  [[nodiscard]] PageId AddPage(const PageRecord& record, HostId host, TakenPlaces& places);
  // The host has one page more, of this crawl id. `placed`: see CrawlTable::Add.
  void CountPage(PageId id, HostId host, CrawlIndex crawl, bool placed);
  void DropPage(PageId id);
  void SetGone(PageId id, bool gone);
  // Sets a flag, and withholds or offers the page accordingly.
  void Mark(PageId id, PageTable::Flag flag, bool value);
  // Installs the lease of a page that was picked.
  void HandOut(PageId id, const LeaseRecord& lease);
  // The page is not out any more. Its host may be free with that.
  void TakeBack(PageId id);
  // The page never left: its host is as if it had not been assigned.
  void TakeBackAssignment(PageId id, const Transaction::Lease& lease);
  // The page is about to be removed, and its lease, staged now or before, goes on.
  void Orphan(const Transaction::Lease& lease);
  // Such a lease has ended. Its host may be free with that, or be forgotten.
  void EndOrphan(LeaseId lease);
  // And files it again.
  void ComeBack(PageId id);

  // --- shard_steps.cc: stages what one event does. All that changes is in the transaction
  void Want(const Event& event, std::vector<PageNumber>* numbers) const;
  [[nodiscard]] Reply Step(const UpsertPage& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const RemovePage& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const RecheckPage& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const ReportCrawl& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const SignalChange& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const LeasePage& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const ReturnLease& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const ExpireLease& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const SetHost& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const BlockHost& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const ForgetHost& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const SetSource& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const ChangeSettings& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const EnterAgeBin& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const ReweighSignals& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const Reestimate& event, Instant now, Transaction& txn) const;
  // The staged lease, or the installed one staged now; nullptr: not open.
  [[nodiscard]] Transaction::Lease* OpenLease(LeaseId id, Transaction& txn) const;
  // Whether another identity than the one that reports holds the lease, or held it.
  [[nodiscard]] bool IsHeldByAnother(LeaseId id, const Reporter& reporter, Transaction& txn) const;
  // Ends a staged lease; of those remembered the oldest may make room for it. That of a removed
  // page is not remembered.
  void End(Transaction::Lease& lease, bool reported, Transaction& txn) const;
  // What is known of a lease that is over, also by this batch.
  [[nodiscard]] std::optional<Leases::Past> PastLease(LeaseId id, Transaction& txn) const;
  // Whether the host has a page of the crawl id, or comes to have one by this batch.
  [[nodiscard]] bool HasPageOf(const std::string& host, const std::string& crawl_id,
                               const Transaction& txn) const;
  // As the batch so far leaves it; nullptr: nothing is known of it.
  [[nodiscard]] const HostRecord* KnownHost(const std::string& host, Transaction& txn) const;
  [[nodiscard]] HostRecord* StagedHost(const std::string& host, Transaction& txn) const;
  // Has the host written as one that was fetched from at `at`.
  void NoteAssignment(const PageRecord& page, Instant at, Transaction& txn) const;
  // Has the host written as one that was assigned a page at `at`, as far as a start must know it.
  void CountAssignment(const PageRecord& page, Instant at, Transaction& txn) const;
  // Rates and staleness of a page, whose state was carried to `now`, as they are believed now.
  void TakeEstimate(PageRecord& page, Instant now, const Lessons& lessons) const;
  // The same where they differ notably; false: they do not.
  bool TakeNewRates(PageRecord& page, Instant now) const;
  bool TakeNewRates(const PageEstimate& estimate, Instant now, PageRecord& page) const;
  bool CollectForEpoch(PageRecord& page, Instant now);
  void CountSites() {
    const Estimator::SiteMemory memory = estimator.site_memory();
    counters.site_models = memory.models;
    counters.site_model_bytes = memory.bytes;
    CountQuarantines();
  }
  void CountQuarantines() {
    const Estimator::QuarantineCounts quarantines = estimator.quarantine_counts();
    counters.quarantined_sources = quarantines.now;
    counters.quarantines = quarantines.begun;
  }
  // Records the interval that a successful crawl ended; false where it ended none. The first crawl
  // of a page has nothing to compare with, so it observes nothing. A late one is no copy: it counts
  // until the next crawl.
  bool Observe(const ReportCrawl& report, bool changed, bool late, Transaction::Page& page,
               Transaction& txn) const;
  // The page was fetched (`outcome` is changed or unchanged): it is fresh as of the fetch.
  void Succeed(const ReportCrawl& report, CrawlOutcome outcome, const LeaseRecord* lease,
               Transaction::Page& page, Transaction& txn) const;
  // What a worker says of the host, where that is news.
  void HearOfHost(const ReportCrawl& report, const std::string& host, Transaction& txn) const;
  // What the answer says of the host: it may ask to be left alone for a while.
  void HeedHost(const ReportCrawl& report, CrawlOutcome outcome, const LeaseRecord* lease,
                const std::string& host, Instant now, Transaction& txn) const;
  // The page was not fetched: it stays as stale as it is, and waits.
  void Fail(const ReportCrawl& report, CrawlOutcome outcome, Instant now, Transaction::Page& page,
            Transaction& txn) const;
  // A result that changes the page: of the open lease, or of a crawl that nobody ordered.
  void Take(const ReportCrawl& report, CrawlOutcome outcome, const LeaseRecord* lease, Instant now,
            Transaction::Page& page, Transaction& txn) const;
  // A result that comes too late to change it: what is known of its lease, if it has one.
  [[nodiscard]] Reply ObserveOnly(const ReportCrawl& report, CrawlOutcome outcome,
                                  const std::optional<Leases::Past>& past, Transaction::Page& page,
                                  Transaction& txn) const;
  // The lease that is open on the page, as the batch sees it.
  [[nodiscard]] LeaseId LeaseOf(PageNumber page, Transaction& txn) const;
  // What a worker is told that the page is worth: its crawl value, also where a plan picked it.
  [[nodiscard]] double AssignedValue(const PageRecord& page, const LeasePage& event) const;

  // --- shard_crawls.cc: crawl ids and deletions
  [[nodiscard]] Reply Step(const SetCrawl& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const ForgetCrawl& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const DeleteHost& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const RemoveDeleted& event, Instant now, Transaction& txn) const;
  [[nodiscard]] Reply Step(const EndHostDeletion& event, Instant now, Transaction& txn) const;
  // Stages the removal of a page.
  void RemoveStaged(Transaction::Page& page, Transaction& txn) const;
  // Whether an upsert is taken, as far as its crawl id and host go; `created`: of a new page, whose
  // place is then taken.
  [[nodiscard]] Status AdmitUpsert(const UpsertPage& event, bool created, Transaction& txn) const;
  // Whether the host may have one more page; takes the place of a host that is not known.
  [[nodiscard]] Status AdmitToHost(const std::string& host, Transaction& txn) const;
  // Whether the client may have pages under a crawl id that is new, which counts for it then.
  [[nodiscard]] Status AdmitNewCrawl(const std::string& crawl_id, const Claim& claim,
                                     Transaction& txn) const;
  // The crawl id, which has a page, counts for the client whose page was its first in this batch.
  void OwnCrawl(const std::string& crawl_id, const Transaction& txn);
  // The crawl id is of another class from now on; 0: of none.
  void LeaveClass(CrawlIndex crawl, CrawlClass for_another);
  [[nodiscard]] std::vector<std::string> TakeDeclassed();
  void InstallCrawls(const Transaction& txn);
  void InstallCrawl(const CrawlTerms& terms);
  void InstallCounts(const Transaction::Page& page);
  // Between two crawls of a page of that host.
  [[nodiscard]] Duration IntervalOf(CrawlIndex crawl, HostId host) const;
  // Has the host go by what is set for the crawl ids that have pages of it.
  void FollowCrawlsOf(HostId host);
  // Has pages of what is being deleted removed, some at a time.
  void SweepDeleted(Instant now, size_t max, std::vector<Event>* events);
  // A pass over all pages is over: what of the deletions is done.
  void EndSweep(size_t max, std::vector<Event>* events);
  void BeginSweep();
  [[nodiscard]] bool IsDeleted(PageId id) const;
  // A slice of the pages that are to follow the class of their crawl id.
  void FollowClasses();

  // --- shard_waits.cc: not to be crawled before some instant
  // A crawl failed.
  void WaitAfterError(const ReportCrawl& report, Instant now, PageRecord& page) const;
  // The host's robots.txt forbids the page.
  void WaitWhileDenied(Duration asked, Instant now, PageRecord& page) const;
  // A crawl found the page gone or moved.
  void WaitWhileGone(CrawlOutcome outcome, Duration asked, Instant now, PageRecord& page) const;
  // A page that a release found gone which never looked again gets its turn; `state` is the page's.
  void PlanLookForGone(Instant now, const PageRecord& page, PageState& state) const;
  // Somebody has reason to believe that a page which was gone is there.
  void BringBack(Instant now, PageRecord& page) const;
  // A crawl of a page that may be gone teaches how likely such pages come back.
  void LearnFromLook(const PageRecord& page, Instant at, bool returned, Lessons& lessons) const;
  // How long a page that is gone and waits for `wait` has been gone at `at`, as far as is known.
  [[nodiscard]] static Duration GoneFor(const PageState& state, Instant at, Duration wait);
  // Between two fetches of any page of its host.
  [[nodiscard]] Duration PageInterval(const PageRecord& page) const;
  // Between two fetches of the page, whatever comes of them.
  [[nodiscard]] Duration LeastInterval(const PageRecord& page) const;
  // How long a page that is gone is not looked for.
  [[nodiscard]] Duration GoneWait(const PageRecord& page) const;
  // The same, but for what the page's spec and its host ask for.
  [[nodiscard]] Duration GoneWait(const PageState& state) const;
  // A lease ran out. True: so many did in a row that the page waits for its normal turn.
  [[nodiscard]] bool WaitUnanswered(Instant now, PageRecord& page) const;
  // A lease was given back.
  void WaitReturned(Instant now, PageState& state) const;
  // About how long after a crawl the page is crawled again at the present price, or by the plan.
  [[nodiscard]] Duration NormalInterval(const PageRecord& page) const;

  // --- shard_view.cc: looking
  [[nodiscard]] Explanation Explain(const PageRecord& page, Instant now) const;
  // When the value of the page is the price, or was already: then now.
  [[nodiscard]] Instant ReachesPrice(const IndexEntry& entry, double price, Instant now) const;
  [[nodiscard]] std::optional<LeaseRecord> LeaseOut(PageId id) const;
  [[nodiscard]] HostStatus Describe(HostId host, Instant now) const;

  ShardOptions options;  // of which the policy is that of the start; see picks.policy()
  Estimator estimator;
  HostGate hosts;
  Leases leases;
  ShardCounters counters;
  double price = 0;   // value of the last page taken by an index
  Instant best_at;    // of the last call of Best
  Instant looked_at;  // by BestValue: no pick is made as of an earlier instant
  // The same by class, where pages compete with those of their own.
  std::array<double, limits::kMaxCrawlClasses> prices{};
  std::array<Urgency, limits::kMaxCrawlClasses> urgencies;
  uint64_t epoch = 0;
  Instant loaded_at = Instant::Infinite();  // the last load or Follow; infinite: not known
  absl::btree_set<PageNumber> ahead;        // to be written with the times of then
  PageTable pages;
  CrawlTable crawls;
  PickSource picks;
  PagesOut out;
  AgeBinWheel edges;
  FreshnessSample freshness;
  SignalWaits waits;
  HostCensus census;
  uint64_t picked = 0;               // from an index
  uint32_t following = UINT32_MAX;   // hosts from here on are still to follow new defaults
  uint32_t reclassing = UINT32_MAX;  // pages from here on are still to follow their class
  uint32_t sweep = UINT32_MAX;       // the next page to look at for deletions; most: there are none
  Instant sweep_at;                  // not before
  absl::flat_hash_set<HostId> deleted_hosts;
  absl::flat_hash_set<std::string> told_empty;      // crawl ids
  std::vector<std::string> emptied;                 // to be told
  std::vector<std::string> declassed;               // lost their class; pages may still be of it
  absl::flat_hash_map<Slot, uint64_t> next_serial;  // of the next page of the slot
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_IMPL_H_
