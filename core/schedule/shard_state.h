// The shard as a deterministic state machine: it maps (event, now) to staged changes and a reply.
// The shard decides which page is crawled next. It does no I/O, reads no clock and starts no
// thread. The server's shard thread and the simulator use the same code:
//
//   Transaction txn;
//   for each event e: state.Want(e, &numbers);     what must be read
//   for each record read: txn.Load(record);        the only place where storage is read
//   for each event e: replies += state.Step(e, now, txn);      staged, nothing visible yet
//   store.Commit(txn.Finish(estimator));           a failed commit needs no undo
//   state.Install(txn);                            visible; only now are the replies sent
//
// A pick consists of Take, which withholds the page from further picks, and a LeasePage event that
// goes through the same cycle.
//
// The state of the shard is in its books (core/schedule/books.h). pages(), hosts() and crawls()
// give read access.
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

// Crawl ids for which a deletion or a change of class is complete in this shard. Each item is
// reported once in a run. Value type, thread-compatible.
struct CrawlNews {
  std::vector<std::string> emptied;    // are being deleted, and have no pages left in the shard
  std::vector<std::string> declassed;  // lost their class, and have no pages left in it
};

// Owner thread only, except where a comment says otherwise.
class ShardState {
 public:
  explicit ShardState(const ShardOptions& options);
  ~ShardState();
  ShardState(const ShardState&) = delete;

  // The handle that loads records at the start: core/schedule/shard_loading.h. Valid for as long as
  // the shard exists.
  [[nodiscard]] ShardLoading loading();

  // --- The cycle

  // Caps those times of a stored page that are later than `now` or, if earlier, the time of the
  // last load or Follow: core/schedule/clock_ahead.h. Returns true if the page must be written.
  [[nodiscard]] bool CapTimes(Instant now, PageRecord* page) const;
  // Appends the numbers of the pages that Step(event) will look up.
  void Want(const Event& event, std::vector<PageNumber>* numbers) const;
  // Processes an event. Changes only `txn`, so nothing changes unless `txn` is installed.
  [[nodiscard]] Reply Step(const Event& event, Instant now, Transaction& txn) const;
  // Makes the changes visible. Precondition: the changes of txn.Finish() were committed.
  void Install(Transaction& txn);

  // Appends at most `max` events for due work: expired leases, age edges, signals that were
  // reweighed because of other crawls, pages whose times were later than now at the start, hosts to
  // forget, and the next pages to delete. Each event is handed out once. The owner must step it
  // again if it was not committed. Also updates a slice of the hosts after a change of politeness
  // defaults, and a slice of the pages after a change of classes.
  void TakeDueTimers(Instant now, size_t max, std::vector<Event>* events);
  // The time at which TakeDueTimers next has something to do; infinite = never.
  [[nodiscard]] Instant next_timer() const;
  // Returns the items since the last call.
  [[nodiscard]] CrawlNews TakeCrawlNews();

  // --- Picks

  // The page with the highest value at `at`, or the first of the plan, among the pages that are
  // eligible then: not leased, not before its earliest time, and on a free host. Exact. `at` must
  // not go backwards.
  [[nodiscard]] std::optional<Pick> Peek(Instant at);
  // The value of the best page as of `now`. Forced pages have no precedence: the value is infinite
  // only if no page can be picked by its value and a forced page can. 0 = no page, or a plan is in
  // use. Can be called between picks for instants later than `now`. Later picks are then for `now`
  // or later.
  [[nodiscard]] double BestValue(Instant now);
  // Takes the best page: withholds it from further picks and reserves its host for one assignment,
  // until its LeasePage is installed or PutBack is called. Several picks can be out at the same
  // time. `among`: only pages of these classes; under a plan, all pages. With `forced_first`,
  // forced pages come before all others. Otherwise, a forced page is picked by its value like any
  // other, and as forced only if there is no other page.
  [[nodiscard]] std::optional<Pick> Take(Instant at, ClassSet among = kAllClasses,
                                         bool forced_first = true);
  // Ends a pick without a lease. No-op if the page is not picked.
  void PutBack(PageNumber page);
  // Takes over the state of a group in other shards, as they report it. The owner calls it before
  // picks.
  void HearOfGroup(const GroupNews& news, Instant now);
  // Appends this shard's standings of the groups whose state has changed since the last call. Picks
  // without a lease are not included in them.
  void TakeGroupStandings(std::vector<GroupStanding>* standings);
  // Sets the politeness of hosts for which nothing else is set, from the next pick on. Hosts that
  // already wait are updated in slices by the next calls of TakeDueTimers. Pages keep their old
  // interval until they are filed again, for example after a crawl. If min_page_interval has
  // changed, the owner must refile them.
  void SetPoliteness(const PolitenessDefaults& defaults);
  // The policy that picks follow, and its plans.
  [[nodiscard]] PolicySwitch& policies();

  // --- Learning
  [[nodiscard]] Learning& learning();

  // --- Reading the state
  [[nodiscard]] const PageBook& pages() const;
  [[nodiscard]] const HostBook& hosts() const;
  [[nodiscard]] const CrawlBook& crawls() const;
  // Explains why a page, given as stored, is or is not crawled now.
  [[nodiscard]] Explanation Explain(const PageRecord& page, Instant now) const;
  // Figures for people. Each call visits some more hosts to count them.
  [[nodiscard]] ShardFigures Figures(Instant now);
  [[nodiscard]] ShardCounters counters() const;

 private:
  std::unique_ptr<Books> books_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_STATE_H_
