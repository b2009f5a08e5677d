// The shard as a deterministic state machine: (event, now) -> staged changes and a reply. The shard
// decides which page is crawled next; it does no I/O, reads no clock and starts no thread. The
// server's shard thread and the simulator drive the same code:
//
//   Transaction txn;
//   for each event e: state.Want(e, &numbers);     what must be read
//   for each record read: txn.Load(record);        the only place where storage is read
//   for each event e: replies += state.Step(e, now, txn);      staged, nothing visible yet
//   store.Commit(txn.Finish(estimator));           a failed commit needs no undo
//   state.Install(txn);                            visible; only now are the replies sent
//
// A pick is Take (the page leaves the index), then a LeasePage event through the same cycle.
//
// The state of the shard is in books (core/schedule/books.h), which pages(), hosts() and crawls()
// show.
#ifndef FRESHET_CORE_SCHEDULE_SHARD_STATE_H_
#define FRESHET_CORE_SCHEDULE_SHARD_STATE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/model/page_number.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/event.h"

namespace freshet {

struct Books;
struct CrawlBook;
struct Explanation;
struct GroupNews;
struct GroupStanding;
struct HostBook;
class Learning;
struct PageBook;
struct PageRecord;
struct Pick;
class PolicySwitch;
struct PolitenessDefaults;
struct ShardCounters;
struct ShardFigures;
class ShardLoading;
struct ShardOptions;
class Transaction;

// News of crawl ids, each once in a run. Value type, thread-compatible.
struct CrawlNews {
  std::vector<std::string> emptied;    // being deleted, and without pages in the shard
  std::vector<std::string> declassed;  // lost their class, and without pages in it
};

// Owner thread only, except where a comment says otherwise.
class ShardState {
 public:
  explicit ShardState(const ShardOptions& options);
  ~ShardState();
  ShardState(const ShardState&) = delete;

  // The handle for the start: core/schedule/shard_loading.h. Valid as long as the shard.
  [[nodiscard]] ShardLoading loading();

  // --- The cycle

  // Caps the times of a stored page that are later than `now`, as of the last load or Follow:
  // core/schedule/clock_ahead.h. True = write the page.
  [[nodiscard]] bool CapTimes(Instant now, PageRecord* page) const;
  // Appends the numbers of the pages that Step(event) will look up.
  void Want(const Event& event, std::vector<PageNumber>* numbers) const;
  // Changes only `txn`, which leaves no trace unless installed.
  [[nodiscard]] Reply Step(const Event& event, Instant now, Transaction& txn) const;
  // Precondition: txn.Finish() was committed.
  void Install(Transaction& txn);

  // Appends due work as events, at most `max`: expired leases, age edges, signals that other crawls
  // have reweighed, pages whose times were later than now at the start, and the next pages to
  // delete. Each comes once: the owner steps uncommitted ones again. Also makes a slice of the
  // hosts follow new defaults of politeness, and a slice of the pages the class of their crawl id.
  void TakeDueTimers(Instant now, size_t max, std::vector<Event>* events);
  // When TakeDueTimers next has something to do.
  [[nodiscard]] Instant next_timer() const;
  [[nodiscard]] CrawlNews TakeCrawlNews();

  // --- Picks

  // The page of highest value at `at`, or the first of the plan, among those that are eligible
  // then: not leased, not before its time, host free. Exact. `at` must not step back.
  [[nodiscard]] std::optional<Pick> Peek(Instant at);
  // The value of the page that Peek would give, also between picks for instants ahead of `now`:
  // later picks are made as of `now` or later. 0 = no page, or a plan is in force.
  [[nodiscard]] double BestValue(Instant now);
  // Takes the page that Peek would give out of the picks, and its host for one assignment, until
  // LeasePage is installed or PutBack. Several picks may be out at a time. `among`: only pages of
  // these classes; a plan has all. Forced pages go before all others; without `forced_first` they
  // go by their value, and as forced ones only if there is no other page.
  [[nodiscard]] std::optional<Pick> Take(Instant at, ClassSet among = kAllClasses,
                                         bool forced_first = true);
  void PutBack(PageNumber page);
  // Takes over the news of other shards about a group. The owner calls it before picks.
  void HearOfGroup(const GroupNews& news, Instant now);
  // Appends this shard's standings of groups that have changed since the last call, without picks
  // that are out.
  void TakeGroupStandings(std::vector<GroupStanding>* standings);
  // Sets the politeness of hosts without their own, from the next pick on; the next calls of
  // TakeDueTimers look at waiting hosts again, in slices. Pages keep their old interval until they
  // are refiled, for example by a crawl: the owner files them if min_page_interval has changed.
  void SetPoliteness(const PolitenessDefaults& defaults);
  // The policy that picks follow, and plans.
  [[nodiscard]] PolicySwitch& policies();

  // --- Epochs, and what they have taught
  [[nodiscard]] Learning& learning();

  // --- Looking
  [[nodiscard]] const PageBook& pages() const;
  [[nodiscard]] const HostBook& hosts() const;
  [[nodiscard]] const CrawlBook& crawls() const;
  // `page` as stored.
  [[nodiscard]] Explanation Explain(const PageRecord& page, Instant now) const;
  // Figures for people; each call looks at some more of the hosts.
  [[nodiscard]] ShardFigures Figures(Instant now);
  [[nodiscard]] ShardCounters counters() const;

 private:
  std::unique_ptr<Books> books_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_STATE_H_
