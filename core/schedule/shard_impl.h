// The inside of ShardState, shared by its three source files: shard_state.cc (start-up, installing,
// picks, timers), shard_steps.cc (one function per event) and shard_view.cc (looking). Not for
// others.
#ifndef FRESHET_CORE_SCHEDULE_SHARD_IMPL_H_
#define FRESHET_CORE_SCHEDULE_SHARD_IMPL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/index/price_index.h"
#include "core/schedule/host_gate.h"
#include "core/schedule/leases.h"
#include "core/schedule/shard_state.h"

namespace freshet {

// Owner thread only.
//
// Invariant: a page is in the index exactly when it is known, not gone, not leased and not taken.
class ShardState::Impl {
 public:
  explicit Impl(const ShardOptions& shard_options);

  // --- shard_state.cc
  // -------------------------------------------------------------------------------
  [[nodiscard]] Status LoadPage(PageNumber number, uint64_t fingerprint, const std::string& host,
                                const PageSpec& spec, const PageState& state);
  void LoadLease(const LeaseRecord& lease);
  void FinishLoad();
  void Install(Transaction& txn);
  void TakeDueTimers(Instant now, size_t max, std::vector<Event>* events);
  [[nodiscard]] Instant next_timer() const;
  [[nodiscard]] std::optional<Pick> Peek(Instant at);
  [[nodiscard]] std::optional<Pick> Take(Instant at);
  void PutBack(PageNumber number);
  [[nodiscard]] std::optional<PageNumber> FindNumber(const PageKey& key) const;

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
  [[nodiscard]] Reply Step(const RegisterSource& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const ChangeSettings& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const CrossAgeEdge& event, Instant now, Transaction& txn);
  [[nodiscard]] Reply Step(const Reestimate& event, Instant now, Transaction& txn);

  // --- shard_view.cc
  // --------------------------------------------------------------------------------
  [[nodiscard]] Explanation Explain(const PageRecord& page, Instant now) const;
  [[nodiscard]] BelievedFreshness Believed(Instant now) const;

  // What the shard holds in memory of a page besides its place in the index.
  struct PageSlot {
    PageNumber number;
    uint64_t fingerprint = 0;
    HostId host;
    LeaseId lease;     // zero: not out
    IndexEntry entry;  // as last put, also while the page is out
    double importance = 0;
    double staleness = 0;  // at `carried_at`
    Instant carried_at;
    double staleness_rate = 0;
    Instant edge = Instant::Infinite();  // when the rates change by age alone
    bool known = false;
    bool taken = false;  // picked, lease not installed yet
    bool gone = false;
  };
  struct Timer {
    Instant at;
    PageNumber page;  // of an age edge
    LeaseId lease;    // zero: an age edge
    bool operator>(const Timer& other) const { return at > other.at; }
  };

  // --- helpers of several files
  // -----------------------------------------------------------------------
  [[nodiscard]] IndexEntry MakeEntry(const PageSpec& spec, const PageState& state,
                                     HostId host) const;
  // Takes over spec and state of a page and files it in the index if it belongs there.
  void Refile(PageSlot& slot, PageId id, const PageSpec& spec, const PageState& state);
  void FileOrRemove(PageSlot& slot, PageId id);
  void FreeHost(HostId host) { index.SetHostFree(host, hosts.FreeAt(host)); }
  [[nodiscard]] PageId AddSlot(PageNumber number, uint64_t fingerprint, HostId host);
  void DropSlot(PageId id);
  [[nodiscard]] PageSlot* FindSlot(PageNumber number);
  [[nodiscard]] const PageSlot* FindSlot(PageNumber number) const;
  // The staged lease, or the installed one staged now; nullptr: not open.
  [[nodiscard]] Transaction::Lease* OpenLease(LeaseId id, Transaction& txn) const;
  [[nodiscard]] HostRecord* StagedHost(const std::string& host, Transaction& txn);
  // Records the interval that a successful crawl ended; false where it ended none. The first crawl
  // of a page has nothing to compare with, so it observes nothing.
  bool Observe(const ReportCrawl& report, bool changed, const SignalCounts& signals,
               Transaction::Page& page);
  // The page was fetched (`outcome` is changed or unchanged): it is fresh as of the fetch.
  void Succeed(const ReportCrawl& report, CrawlOutcome outcome, const LeaseRecord* lease,
               Instant now, Transaction::Page& page);
  // The page was not fetched: it stays as stale as it is, and waits or leaves.
  void Fail(const ReportCrawl& report, CrawlOutcome outcome, Instant now, Transaction::Page& page,
            Transaction& txn);
  // The lease that is open on the page, as the batch sees it.
  [[nodiscard]] LeaseId LeaseOf(PageNumber page, Transaction& txn) const;

  ShardOptions options;
  Estimator estimator;
  PriceIndex index;
  HostGate hosts;
  Leases leases;
  ShardCounters counters;
  double price = 0;
  uint64_t epoch = 0;
  std::vector<PageSlot> slots;  // by PageId
  std::vector<PageId> free_ids;
  absl::flat_hash_map<PageNumber, PageId> by_number;
  absl::flat_hash_map<uint64_t, PageId> by_fingerprint;
  absl::flat_hash_map<Slot, uint64_t> next_serial;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<Timer>> timers;
  absl::flat_hash_set<uint64_t> signal_ids;
  std::vector<uint64_t> signal_id_ring;  // oldest at `signal_id_next` once full
  size_t signal_id_next = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_IMPL_H_
