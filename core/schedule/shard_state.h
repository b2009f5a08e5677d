// The shard as a deterministic state machine: (event, now) -> staged changes and a reply. It owns
// which page is crawled next and everything that decides it; it does no I/O, reads no clock and
// starts no thread. The server's shard thread and the simulator drive the same code:
//
//   Transaction txn;
//   for each event e: state.Want(e, &numbers);     what must be read
//   for each record read: txn.Load(record);        the only place where storage is read
//   for each event e: replies += state.Step(e, now, txn);      staged, nothing visible yet
//   store.Commit(txn.Finish());                    a failed commit needs no undo
//   state.Install(txn);                            visible; only now are the replies sent
//
// A pick is Take (the page leaves the index), then a LeasePage event through the same cycle.
#ifndef FRESHET_CORE_SCHEDULE_SHARD_STATE_H_
#define FRESHET_CORE_SCHEDULE_SHARD_STATE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/estimate/trust.h"
#include "core/model/page_number.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/event.h"

namespace freshet {

struct BelievedFreshness;
struct CrawlPolicy;
struct EpochRecord;
class EpochSums;
struct Explanation;
struct FollowedChanges;
struct GroupNews;
struct GroupStanding;
struct HostBackoff;
struct HostQuery;
struct HostRecord;
struct HostStatus;
struct IndexRates;
struct LearnedSites;
struct LeaseRecord;
struct PageRecord;
struct PageSpec;
struct PageState;
struct PageToLoad;
struct Pick;
struct PlanColumns;
struct PlannedCrawls;
struct PolitenessDefaults;
struct QuarantineNews;
struct ShardCounters;
struct ShardFigures;
struct ShardOptions;
class Transaction;

// Owner thread only, but for what says otherwise.
class ShardState {
 public:
  explicit ShardState(const ShardOptions& options);
  ~ShardState();
  ShardState(const ShardState&) = delete;
  ShardState& operator=(const ShardState&) = delete;

  // --- Start-up: LoadEpoch and LoadCrawl, then every record of the shard's slots once, hosts
  // before their pages and pages before their leases, then FinishLoad. Or without leases: then any
  // number of Follow, all leases, and FinishLeases
  [[nodiscard]] Status LoadEpoch(const EpochRecord& epoch);
  // What is set for a crawl id. ResourceExhausted beyond limits::kMaxCrawls, as is InternCrawl.
  [[nodiscard]] Status LoadCrawl(const CrawlTerms& terms);
  // The index of a crawl id, for PageToLoad. Valid until a page of another is loaded, unless a page
  // of it is.
  [[nodiscard]] StatusOr<CrawlIndex> InternCrawl(std::string_view crawl_id);
  HostId LoadHost(const HostRecord& host);
  // Most of the work of loading a page. May be called by several threads at a time, and while
  // others load hosts, pages and leases.
  [[nodiscard]] PageToLoad PrepareLoad(PageNumber number, uint64_t fingerprint, HostId host,
                                       const PageSpec& spec, const PageState& state) const;
  // `now`: no pick is asked for an earlier instant; none: not known. Internal when a number is
  // taken by another page, ResourceExhausted beyond max_pages. Pages whose state was capped are
  // written as such by TakeDueTimers.
  [[nodiscard]] Status LoadPages(std::span<const PageToLoad> batch, Instant now = {});
  // The page was assigned at `at`; nothing where it is not known.
  void LoadAssignment(PageNumber page, Instant at);
  void LoadLease(const LeaseRecord& lease);
  // Page numbers of `slot` from this serial on were never given to a page.
  void LoadNextSerial(Slot slot, uint64_t next_serial);
  // Returns pages whose fingerprint another page has too, at most kMostShared: such a pair is most
  // likely one page that is stored twice. All are in the shard.
  static constexpr size_t kMostShared = 1000;
  std::vector<PageNumber> FinishLoad();
  // Takes over what another shard, which owns these records, has committed since; a page, host or
  // removal that is known already changes nothing. `now` is as in LoadPages. ResourceExhausted and
  // Internal: what it says does not fit what was loaded, and the shard is of no use.
  [[nodiscard]] Status Follow(const FollowedChanges& changes, Instant now);
  void FinishLeases();

  // --- The cycle

  // Has a stored page count as of the last load, or Follow, where its times are later than `now`:
  // core/schedule/clock_ahead.h. True: it is to be written.
  [[nodiscard]] bool CapTimes(Instant now, PageRecord* page) const;
  // Appends the numbers of the pages that Step(event) will look up.
  void Want(const Event& event, std::vector<PageNumber>* numbers) const;
  // Changes nothing but `txn`, and what time it is: what is not installed leaves no trace.
  [[nodiscard]] Reply Step(const Event& event, Instant now, Transaction& txn);
  // Precondition: txn.Finish() was committed.
  void Install(Transaction& txn);

  // Appends the expired leases and age edges that are due and the signals that other crawls have
  // shown in a new light, pages whose times were later than now at the start, and the next pages of
  // what is being deleted, as events, at most `max`.
  // Each is told once: what is not committed is for the owner to step again. Has a slice of the
  // hosts follow new defaults of politeness, and a slice of the pages the class of their crawl id.
  void TakeDueTimers(Instant now, size_t max, std::vector<Event>* events);
  // When TakeDueTimers has something to do again.
  [[nodiscard]] Instant next_timer() const;

  // --- Picks

  // The page of highest value at `at`, or the first of the plan, among those that are eligible
  // then: not leased, not before its time, host free. Exact. `at` must not step back.
  [[nodiscard]] std::optional<Pick> Peek(Instant at);
  // The value of that page, also between picks that are asked for as of instants ahead of `now`:
  // they are made as of this one where that is later. 0: there is none, or a plan is in force.
  [[nodiscard]] double BestValue(Instant now);
  // Takes that page out of the picks, and its host for one assignment, until LeasePage is installed
  // or PutBack. Several picks may be out at a time. `among`: the page of highest value among those
  // of these classes; while a plan is in force, of all. Pages that are forced go before all others;
  // without `forced_first` they go by their value, and as such only where there is nothing else.
  [[nodiscard]] std::optional<Pick> Take(Instant at, ClassSet among = kAllClasses,
                                         bool forced_first = true);
  void PutBack(PageNumber page);
  // What the hosts of other shards have of a group. To be told before picks.
  void HearOfGroup(const GroupNews& news, Instant now);
  // Appends what this shard has of groups that has changed since the last call, without picks that
  // are out.
  void TakeGroupStandings(std::vector<GroupStanding>* standings);
  // Value of the last page taken; zero before the first.
  [[nodiscard]] double price() const;

  // --- Politeness

  // Of hosts that have none of their own, from the next pick on; those that wait are looked at anew
  // by the next TakeDueTimers, in slices. Pages wait by an interval of before until they are filed
  // anew, for example by a crawl: the owner has that done if min_page_interval has changed.
  void SetPoliteness(const PolitenessDefaults& defaults);
  [[nodiscard]] const PolitenessDefaults& politeness() const;

  // --- Crawl ids

  // Those that have pages or something set, in no order.
  [[nodiscard]] std::vector<CrawlStatus> Crawls() const;
  // Those of them that have something set.
  [[nodiscard]] std::vector<CrawlStatus> CrawlsWithTerms() const;
  // Crawl ids being deleted of which the shard has no page any more. Each is told once a start.
  [[nodiscard]] std::vector<std::string> TakeEmptied();
  // Crawl ids that have lost their class, once no page is of it any more.
  [[nodiscard]] std::vector<std::string> TakeDeclassed();
  // Appends the hosts that fit, of those of ids from `first` on, at most `most`, and looks at no
  // more than limits::kHostScan; the id to go on with, host_ids() or more: that was all. Hosts that
  // come or go between two calls may be in or out.
  // `now`: see HostStatus.
  [[nodiscard]] uint32_t ListHosts(const HostQuery& query, uint32_t first, size_t most, Instant now,
                                   std::vector<HostStatus>* hosts) const;

  // --- Epochs
  void BeginEpoch(Instant now);
  // Collects `page`, as stored, and does what TakeNewRates does, by the model of the last epoch;
  // true: it is to be written.
  [[nodiscard]] bool CollectForEpoch(PageRecord& page, Instant now);
  // All are.
  void EndCollecting();
  // These two take long. Between EndCollecting and FinishEpoch they may run on another thread while
  // the owner goes on with all but epochs.
  //
  // What was collected, for LearnEpoch of this shard and of the others.
  [[nodiscard]] EpochSums CollectedInEpoch() const;
  // Learns from what all shards collected, this one among them. Breaks off, with something to be
  // thrown away, once `stop` is set.
  [[nodiscard]] LearnedSites LearnEpoch(const EpochSums& all, const std::atomic<bool>& stop) const;
  // What the store is to keep of it, before FinishEpoch; from the same thread as those two.
  [[nodiscard]] EpochRecord RecordOf(const LearnedSites& learned, Instant now) const;
  // Goes by what was learned from here on. Afterwards the owner has those pages written that
  // TakeNewRates changes, in the slots whose models have moved: those of others would be changed by
  // too little. The next epoch takes what little there is.
  void FinishEpoch(LearnedSites learned);
  // Gives `page`, as stored, the rates of the current model, if those notably differ from the ones
  // it has; else it is as it was, but for being carried to `now`.
  [[nodiscard]] bool TakeNewRates(PageRecord& page, Instant now) const;
  // Number of the last epoch that learned, over all starts; zero: there was none.
  [[nodiscard]] uint64_t epoch() const;

  // The policy by which pages are filed from now on. Where true is returned, the owner then has
  // every page filed anew, in slices: once MakeRoom has returned true by Reestimate, or by
  // transactions that mark it for reindexing, and calls FinishFiling with what policy() was before.
  // Between index policies, those whose turn has not come are still filed by the policy before.
  // Between an index policy and a rate policy, the one before goes on picking until the new one is
  // ready: an index policy with the last page, a rate policy with FinishPlan; between rate policies
  // nothing need be filed.
  [[nodiscard]] bool SetPolicy(const CrawlPolicy& policy);
  // Takes a slice of the memory that filing needs; true: there is all, filing is not in vain.
  [[nodiscard]] bool MakeRoom();
  void FinishFiling(const CrawlPolicy& filed_by);
  // What a change of policy has left over, for the owner to destroy where nobody waits for it: that
  // takes a while with many pages. The next change destroys it otherwise.
  [[nodiscard]] std::vector<std::shared_ptr<void>> TakeRetired();
  // What picks follow: the policy set last, or while that is made ready the one before.
  [[nodiscard]] const CrawlPolicy& in_force() const;

  // What decides the values of some pages, at most so many, evenly drawn. Of those that the index
  // of a policy has; under a rate policy there are none.
  void SampleRates(size_t most, std::vector<IndexRates>* rates) const;

  // --- Rate plans, in slices of page ids, so that picks go on in between
  // Appends what a plan needs of at most `count` ids from `first` on; how many. Pages that are
  // gone, of importance 0 or of a shadow count as none. 0: that was all, or the policy is no rate
  // policy.
  uint32_t CollectPlan(uint32_t first, uint32_t count, PlanColumns* columns) const;
  // Pages that no plan knows are crawled at this rate from now on. False, as from the other two,
  // and nothing is done: an index policy was set, and the plan is to be dropped.
  [[nodiscard]] bool BeginPlan(Rate newcomer_rate);
  // Takes over the plan of the ids from `first` on. An id that went to another page since the plan
  // was collected counts as a newcomer.
  [[nodiscard]] bool StagePlan(uint32_t first, std::span<const PlannedCrawls> crawls, Instant now);
  // Picks follow the plan from here on, if they did not already. False also when pages were not
  // filed anew since the policy was set. Without a plan, or before the first, all pages are
  // crawled equally often. `refile`, set where true is returned: pages that the plan crawls on
  // signals were not crawled so before, and are to be filed anew for what came earlier to count.
  [[nodiscard]] bool FinishPlan(bool* refile);

  // --- Looking
  // Appends the numbers of the pages that may be this one, by their fingerprint: it is among them
  // if it is known. Which it is, their records tell.
  void FindNumbers(const PageKey& key, std::vector<PageNumber>* numbers) const;
  [[nodiscard]] std::optional<LeaseRecord> FindLease(LeaseId id) const;
  [[nodiscard]] Explanation Explain(const PageRecord& page, Instant now) const;
  // Memory for hosts, in hosts: as many as there were at a time.
  [[nodiscard]] uint32_t host_ids() const;
  // NotFound: no page has it.
  [[nodiscard]] StatusOr<HostStatus> DescribeHost(const std::string& host, Instant now) const;
  // The host as stored, and how many of its pages are out. NotFound: no page has it.
  [[nodiscard]] StatusOr<HostRecord> FindHost(const std::string& host, uint32_t* in_flight) const;
  [[nodiscard]] const HostBackoff& host_backoff() const;
  [[nodiscard]] BelievedFreshness Believed(Instant now) const;
  // Figures for people; each call looks at some more of the hosts.
  [[nodiscard]] ShardFigures Figures(Instant now);
  [[nodiscard]] std::vector<SourceTrust> Trust() const;
  [[nodiscard]] std::vector<HostTrust> TrustByHost(const std::string& host, SourceSet sources,
                                                   size_t max) const;
  [[nodiscard]] std::vector<QuarantineNews> TakeQuarantineNews();
  [[nodiscard]] const ShardCounters& counters() const;
  [[nodiscard]] const CrawlPolicy& policy() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_STATE_H_
