// The inside of ShardState, shared by its source files: shard_state.cc (start-up, installing,
// picks, timers), shard_pages.cc (how a page is filed), shard_plan.cc (rate plans), shard_steps.cc
// (one function per event), shard_waits.cc (how long what was not fetched waits) and shard_view.cc
// (looking). Not for others.
#ifndef FRESHET_CORE_SCHEDULE_SHARD_IMPL_H_
#define FRESHET_CORE_SCHEDULE_SHARD_IMPL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/index/price_index.h"
#include "core/plan/plan_queue.h"
#include "core/schedule/edge_calendar.h"
#include "core/schedule/freshness_sample.h"
#include "core/schedule/host_gate.h"
#include "core/schedule/leases.h"
#include "core/schedule/page_table.h"
#include "core/schedule/shard_state.h"

namespace freshet {

// Owner thread only.
//
// Invariants: every known page is in what picks are taken from, the index or the plan's queue,
// there withheld exactly when it is leased or taken, or no time makes it worth a crawl; it is in
// `out` exactly when it is leased or taken. Of index and queue one is there; both only while a new
// policy is made ready beside the old one. What is made ready has pages only once there is room for
// all.
class ShardState::Impl {
 public:
  explicit Impl(const ShardOptions& shard_options);

  // --- shard_state.cc
  [[nodiscard]] PageToLoad PrepareLoad(PageNumber number, uint64_t fingerprint, HostId host,
                                       const PageSpec& spec, const PageState& state) const;
  [[nodiscard]] Status LoadPages(std::span<const PageToLoad> batch, Instant now);
  void LoadLease(const LeaseRecord& lease);
  [[nodiscard]] std::vector<PageNumber> FinishLoad();
  void Install(Transaction& txn);
  void TakeDueTimers(Instant now, size_t max, std::vector<Event>* events);
  [[nodiscard]] Instant next_timer() const;
  [[nodiscard]] std::optional<Pick> Peek(Instant at);
  [[nodiscard]] std::optional<Pick> Take(Instant at);
  void PutBack(PageNumber number);
  void FindNumbers(const PageKey& key, std::vector<PageNumber>* numbers) const;

  // --- shard_plan.cc
  [[nodiscard]] bool SetPolicy(const CrawlPolicy& policy);
  [[nodiscard]] bool MakeRoom();
  void FinishFiling(const CrawlPolicy& policy);
  uint32_t CollectPlan(uint32_t first, uint32_t count, PlanColumns* columns) const;
  [[nodiscard]] bool BeginPlan(Rate rate);
  [[nodiscard]] bool StagePlan(uint32_t first, std::span<const PlannedCrawls> crawls, Instant now);
  [[nodiscard]] bool FinishPlan(bool* refile_pages);

  // --- shard_steps.cc: stage what one event does
  // ------------------------------------------------------
  void Want(const Event& event, std::vector<PageNumber>* numbers) const;
  [[nodiscard]] Reply Step(const UpsertPage& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const RemovePage& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const RecheckPage& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const ReportCrawl& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const SignalChange& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const LeasePage& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const ReturnLease& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const ExpireLease& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const SetHost& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const ForgetHost& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const SetSource& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const ChangeSettings& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const CrossAgeEdge& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const ReweighSignals& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const Reestimate& event, Instant now, Transaction& txn);

  // --- shard_waits.cc: not to be crawled before some instant
  // A crawl failed.
  void WaitAfterError(const ReportCrawl& report, Instant now, PageRecord& page) const;
  // A crawl found the page gone or moved.
  void WaitWhileGone(CrawlOutcome outcome, Duration asked, Instant now, PageRecord& page) const;
  // A page that a release found gone which never looked again gets its turn; `state` is the page's.
  void PlanLookForGone(Instant now, const PageRecord& page, PageState& state) const;
  // Somebody has reason to believe that a page which was gone is there.
  void BringBack(Instant now, PageRecord& page) const;
  // Between two fetches of the page, whatever comes of them.
  [[nodiscard]] Duration LeastInterval(const PageRecord& page) const;
  // How long a page that is gone is not looked for.
  [[nodiscard]] Duration GoneWait(const PageRecord& page) const;
  // A lease ran out. True: so many did in a row that the page waits for its normal turn.
  [[nodiscard]] bool WaitUnanswered(Instant now, PageRecord& page) const;
  // A lease was given back.
  void WaitReturned(Instant now, PageState& state) const;
  // About how long after a crawl the page is crawled again at the present price, or by the plan.
  [[nodiscard]] Duration NormalInterval(const PageRecord& page) const;

  // --- shard_view.cc
  [[nodiscard]] Explanation Explain(const PageRecord& page, Instant now) const;
  // When the value of the page is the price, or was already: then now.
  [[nodiscard]] Instant ReachesPrice(const IndexEntry& entry, Instant now) const;
  [[nodiscard]] std::optional<LeaseRecord> LeaseOut(PageId id) const;

  // A page that is with a worker or on its way to one.
  struct Out {
    LeaseId lease;  // zero: picked, lease not installed yet
    HostId host;
    bool planned = false;  // picked by a plan
  };
  struct LeaseEnd {
    Instant at;
    LeaseId lease;
    bool operator>(const LeaseEnd& other) const { return at > other.at; }
  };

  // --- helpers of several files
  // What is known of a page without its host.
  [[nodiscard]] IndexEntry MakeEntry(const PageSpec& spec, const PageState& state,
                                     HostId host) const;
  // All of it.
  [[nodiscard]] IndexEntry EntryOf(const PageSpec& spec, const PageState& state, HostId host) const;
  // Has the page wait until so long after its last crawl; epoch: it does not hold.
  static void Hold(IndexEntry* entry, Instant last_crawl, Duration interval);
  // Takes over spec and state of a page and files it in index and queue, whichever are there.
  void Refile(PageId id, HostId host, const PageSpec& spec, const PageState& state);
  // Takes over what was computed of a page. `asked_at`: see AskedAt.
  // `entry`: that of the page, held by the page interval of its host.
  void File(PageId id, const PageToLoad& page, const IndexEntry& entry, Instant asked_at);
  // The page of highest value, or the first of the plan.
  [[nodiscard]] std::optional<IndexPick> Best(Instant at);
  // The host under which the page is filed.
  [[nodiscard]] HostId HostOf(PageId id) const;
  [[nodiscard]] bool PlanInForce() const { return in_force.plan.has_value(); }
  // What the plan has for the page, as PlanFacts holds it; newcomers have their rate.
  [[nodiscard]] float ShareOf(PageId id) const;
  // Whether a page with this share is crawled when signals ask for it.
  [[nodiscard]] static bool AsksBySignal(float share) { return share < 0 && share != kUnplanned; }
  void FileInPlan(PageId id, const IndexEntry& entry, Instant asked_at);
  // What a worker is told that the page is worth: its crawl value, also where a plan picked it.
  [[nodiscard]] double AssignedValue(const PageRecord& page, const LeasePage& event) const;
  // When a signal since the last crawl asked for a crawl by the plan; infinite: none did. A page
  // that the plan crawls on signals alone and nobody has crawled yet asked when it was first seen.
  [[nodiscard]] Instant AskedAt(PageId id, const PageState& state) const;
  // Index and queue without pages, beside the one that picks are taken from.
  void StartIndex();
  void StartQueue();
  void StartRoom();
  // Those that are not needed any more; taking them apart is left to others.
  void RetireIndex();
  void RetireQueue();
  // Whether the one picks are taken from, or the one that is made ready, is the index; likewise the
  // queue. Both take what they have room for.
  [[nodiscard]] bool FilesInIndex() const { return index && (roomy || !PlanInForce()); }
  [[nodiscard]] bool FilesInQueue() const { return queue && (roomy || PlanInForce()); }
  [[nodiscard]] bool HasRoomFor(HostId host) const { return roomy || host.value() < room_hosts; }
  // An index that was made ready beside a plan takes over once it has every page.
  void TakeOverByIndex();
  void SetPoliteness(const PolitenessDefaults& defaults);
  // A slice of the hosts that are to follow new defaults.
  void FollowPoliteness();
  void FreeHost(HostId host) {
    const bool room = HasRoomFor(host);
    if (index && (room || !PlanInForce())) index->SetHostFree(host, hosts.FreeAt(host));
    if (queue && (room || PlanInForce())) queue->SetHostFree(host, hosts.FreeAt(host));
  }
  [[nodiscard]] PageId AddPage(PageNumber number, uint64_t fingerprint, HostId host);
  // `field` is what the request is refused for, if there is one.
  [[nodiscard]] Status TooManyPages(std::string_view field) const {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "{}a shard has at most {} pages: the server needs more shards", field,
                      options.max_pages);
  }
  void DropPage(PageId id);
  void SetGone(PageId id, bool gone);
  // Sets a flag, and withholds or offers the page accordingly.
  void Mark(PageId id, PageTable::Flag flag, bool value);
  // The page is not out any more. Its host may be free with that.
  void TakeBack(PageId id);
  // And files it again.
  void ComeBack(PageId id);
  void InstallHosts(Transaction& txn);
  void InstallPages(Transaction& txn);
  void InstallLeases(Transaction& txn);
  // The staged lease, or the installed one staged now; nullptr: not open.
  [[nodiscard]] Transaction::Lease* OpenLease(LeaseId id, Transaction& txn) const;
  // Ends a staged lease; of those remembered the oldest may make room for it.
  void End(Transaction::Lease& lease, bool reported, Transaction& txn) const;
  // What is known of a lease that is over, also by this batch.
  [[nodiscard]] std::optional<Leases::Past> PastLease(LeaseId id, Transaction& txn) const;
  [[nodiscard]] HostRecord* StagedHost(const std::string& host, Transaction& txn);
  // Records the interval that a successful crawl ended; false where it ended none. The first crawl
  // of a page has nothing to compare with, so it observes nothing.
  bool Observe(const ReportCrawl& report, bool changed, const SignalCounts& signals,
               Transaction::Page& page);
  // The page was fetched (`outcome` is changed or unchanged): it is fresh as of the fetch.
  void Succeed(const ReportCrawl& report, CrawlOutcome outcome, const LeaseRecord* lease,
               Instant now, Transaction::Page& page);
  // What the answer says of the host: it may ask to be left alone for a while.
  void HeedHost(const ReportCrawl& report, CrawlOutcome outcome, const LeaseRecord* lease,
                const std::string& host, Instant now, Transaction& txn);
  // The page was not fetched: it stays as stale as it is, and waits.
  void Fail(const ReportCrawl& report, CrawlOutcome outcome, Instant now, Transaction::Page& page);
  // A result that changes the page: of the open lease, or of a crawl that nobody ordered.
  void Take(const ReportCrawl& report, CrawlOutcome outcome, const LeaseRecord* lease, Instant now,
            Transaction::Page& page);
  // A result that comes too late to change it: what is known of its lease, if it has one.
  [[nodiscard]] Reply ObserveOnly(const ReportCrawl& report, CrawlOutcome outcome,
                                  const std::optional<Leases::Past>& past, Transaction::Page& page,
                                  Transaction& txn);
  // The lease that is open on the page, as the batch sees it.
  [[nodiscard]] LeaseId LeaseOf(PageNumber page, Transaction& txn) const;

  ShardOptions options;
  Estimator estimator;
  HostGate hosts;
  Leases leases;
  ShardCounters counters;
  double price = 0;
  uint64_t epoch = 0;
  PageTable pages;
  absl::flat_hash_map<PageId, Out> out;
  EdgeCalendar edges;
  FreshnessSample freshness;
  static constexpr int kNotToBePicked = PageTable::kTaken | PageTable::kLeased | PageTable::kNever;
  // The share of a page that came after the plan; no probability is below -1.
  static constexpr float kUnplanned = -2;
  // Until the first plan all pages are crawled equally often, the one that waits longest first.
  static constexpr float kUnplannedRate = 1.0F / (30 * 86400);
  // What plans are made of, and what became of it.
  struct PlanFacts {
    float importance = 0;
    float change_rate = 0;     // sign bit: every change is signalled
    float share = kUnplanned;  // rate per second or, below zero, - probability or kUnplanned
  };
  std::unique_ptr<PriceIndex> index;
  std::unique_ptr<PlanQueue> queue;
  CrawlPolicy in_force;             // with a plan: picks are taken from the queue
  SegmentedArray<PlanFacts> facts;  // by PageId, with the queue
  bool refile = false;              // the plan staged has pages asked for that were not before
  // What is made ready has room for every page and knows every host; until then it has room for
  // pages below room_pages, and knows hosts below room_hosts.
  bool roomy = true;
  uint32_t room_pages = 0;
  uint32_t room_hosts = 0;
  std::vector<std::shared_ptr<void>> retired;  // for others to destroy
  float newcomer_rate = kUnplannedRate;
  uint32_t following = UINT32_MAX;  // hosts from here on are still to follow new defaults
  Instant latest;                   // the latest instant heard of
  Instant picked;                   // that of the latest pick, never later than the next one's
  absl::flat_hash_map<Slot, uint64_t> next_serial;
  std::priority_queue<LeaseEnd, std::vector<LeaseEnd>, std::greater<>> lease_ends;
  absl::flat_hash_set<uint64_t> signal_ids;
  std::vector<uint64_t> signal_id_ring;  // oldest at `signal_id_next` once full
  size_t signal_id_next = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_IMPL_H_
