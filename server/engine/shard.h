// One shard: the thread that alone changes the pages of its slots. It takes requests from its
// mailbox, reads their records in one go, steps the state machine, commits with one sync, and only
// then installs and answers. docs/architecture.md follows one crawl along this path.
#ifndef FRESHET_SERVER_ENGINE_SHARD_H_
#define FRESHET_SERVER_ENGINE_SHARD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/event.h"
#include "core/schedule/host_groups.h"
#include "core/schedule/pick.h"
#include "core/schedule/shard_options.h"
#include "core/schedule/shard_state.h"
#include "core/schedule/transaction.h"
#include "server/base/mailbox.h"
#include "server/base/reaper.h"
#include "server/base/system_clock.h"
#include "server/base/turn_size.h"
#include "server/engine/answerer.h"
#include "server/engine/assignment_sink.h"
#include "server/engine/batch_trace.h"
#include "server/engine/bids.h"
#include "server/engine/committer.h"
#include "server/engine/epochs.h"
#include "server/engine/lease_tally.h"
#include "server/engine/shard_board.h"
#include "server/engine/shard_reads.h"
#include "server/engine/tick_shares.h"
#include "storage/store.h"

namespace freshet {

struct QuarantineNews;

// Some events of one client, answered together and in order.
struct EventBatch {
  std::vector<Event> events;
  std::function<void(std::vector<Reply>)> done;  // called once, on the thread of Answerer
  std::shared_ptr<BatchTrace> trace;             // nullptr = not traced
  uint64_t client = 0;                           // Claim::client of who sends it
  // `done` is called on the shard's thread instead: what it asks the shard to read is read before
  // the next turn.
  bool at_once = false;
};

// Asks for the best pages for these ticks, taken out of the index but not leased, to find the
// dearest over several shards. Answered before the next commit; shorter than `at` when pages lack,
// maybe longer if not every page may have every tick (BidChoice). One at a time.
struct BidRequest {
  std::vector<Instant> at;
  TickOwners owners;
  std::vector<GroupNews> groups;  // changed groups of other shards
  bool others = false;            // whether there are other shards
  std::function<void(ShardBid)> done;
};

// Leases some of the pages of a bid and puts the others back.
struct SettleRequest {
  struct Lease {
    Pick pick;
    LeaseTerms terms;
  };
  std::vector<Lease> leases;
  std::vector<PageNumber> put_back;
  std::function<void(std::vector<std::optional<Assignment>>)> done;
};

// Hears what happens. Thread-safe; one for all shards.
class ShardObserver {
 public:
  virtual ~ShardObserver() = default;
  virtual void OnCommit(Duration /*took*/, size_t /*events*/) {}
  // The store cannot be written any more: nothing is acknowledged from now on.
  virtual void OnFailure(uint16_t shard, const Status& status) = 0;
  // Pages may have become eligible since the last request that found too few.
  virtual void OnPagesMayBeDue() = 0;
  // Called before the replies to the events that opened or ended the leases.
  virtual void OnLeases(const LeaseTallies& /*tallies*/) {}
  // The shard's state of groups of hosts has changed; also called before it bids.
  virtual void OnGroups(uint16_t /*shard*/, const std::vector<GroupStanding>& /*standings*/) {}
  virtual void OnQuarantine(const QuarantineNews& /*news*/) {}
  // The shard has no page left of a crawl id that is being deleted.
  virtual void OnCrawlEmptied(uint16_t /*shard*/, const std::string& /*crawl_id*/) {}
  // A crawl id has lost its class, and the shard has no page left of that class.
  virtual void OnCrawlDeclassed(uint16_t /*shard*/, const std::string& /*crawl_id*/) {}
};

struct ShardSettings {
  ShardOptions state;
  EpochOptions epochs;
  MailboxLimits mailbox;
  std::function<Duration()> processor_time = ThreadCpuTime;
};

// The shard. Thread-safe except as noted. Life: constructed, loaded (LoadPage and so on through
// state()), Start, Stop.
class Shard {
 public:
  // `store`, `clock` and `observer` outlive the shard. Fingerprints are those of the store.
  Shard(const ShardSettings& settings, Store& store, Clock& clock, ShardObserver& observer);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Before Start only.
  [[nodiscard]] ShardState& state() { return state_; }
  void Start();
  // Serves and answers what waits, refuses what comes, and ends the threads. Idempotent.
  void Stop();

  // Takes a client's events, at least one part; parts may come in several turns. Or takes none of
  // them: on kFull and kClosed no `done` is called.
  PushOutcome Submit(std::vector<EventBatch> parts);
  // Submit for the server itself, without the limits of the mailbox. After Stop, requests are
  // answered at once with nothing, and queries and events are dropped.
  void SubmitAlways(EventBatch&& batch);
  void Submit(BidRequest&& request);
  void Submit(SettleRequest&& request);
  // Returns false, without calling `query`, when the shard is stopped.
  bool Query(ShardQuery query);
  // Announces an epoch of all shards (EpochExchange).
  void ExpectEpoch() { epochs_.Expect(); }
  // Calls `query` after the events of a turn, or while a commit is under way, a few at a time
  // (server/engine/shard_reads.h). The store may then have changes that the shard has yet to
  // install. `client`: the number of the client that asks; 0 = the server itself.
  PushOutcome Read(ShardQuery query, uint64_t client) {
    const PushOutcome outcome = reads_.Push(std::move(query), client);
    mailbox_.Wake();
    return outcome;
  }
  // Calls `query` at such times, one a turn. Returns false, without calling it, when the shard is
  // stopped.
  bool ReadMany(ShardQuery query) {
    const PushOutcome outcome = reads_.PushMany(std::move(query));
    mailbox_.Wake();
    return outcome == PushOutcome::kTaken;
  }

  [[nodiscard]] ShardSnapshot snapshot() const;
  [[nodiscard]] const ShardBoard& board() const { return board_; }

 private:
  using Request = std::variant<EventBatch, BidRequest, SettleRequest, ShardQuery>;

  // The state from drained requests, or the shard's own events, to replies.
  struct Turn;

  void Run();
  // One round of the loop: a turn for events to be tried again, one for waiting requests, then a
  // slice.
  void RunOnce(Instant now);
  // Whether the turn has room for one more part of a message.
  [[nodiscard]] bool HasRoom(const Turn& turn) const;
  // Takes in waiting requests, as many as one turn has room for.
  void AcceptWaiting(Turn& turn);
  void RunTurn(std::unique_ptr<Turn> owned);
  // Timers that are due.
  void TakeOwnEvents(Turn& turn);
  // Gives a slice of an epoch, or of filing, a turn of its own: requests of clients wait for the
  // present slice, but not also for the next one.
  void RunSlice(Instant now);
  // Keeps the own events of a turn whose commit was refused for a later turn.
  void KeepOwnEvents(const Turn& turn);
  [[nodiscard]] Duration IdleTime(Instant now) const;
  void Accept(Request& request, Turn& turn);
  void AcceptBid(BidRequest& request);
  // Publishes changes of groups of hosts.
  void PublishGroups();
  void AcceptSettle(SettleRequest& request, Turn& turn);
  // Reads the pages that the turn's events from `first` on still need, except those that
  // `under_way`, which may be nullptr, is writing.
  [[nodiscard]] Status ReadPages(Turn& turn, size_t first, const Transaction* under_way);
  // Steps the turn's events. If they take far longer than expected, the rest of clients' events
  // goes back into the mailbox.
  void StepAll(Turn& turn);
  void PutBack(size_t run, Turn& turn);
  // Commits; afterwards the turn's replies tell the real outcome.
  void CommitAndInstall(Turn& turn);
  [[nodiscard]] Status Commit(const Changes& changes, const Turn& turn);
  // Handles a refused commit: logs it, and keeps the events that can be tried again.
  void HandleRefusal(Turn& turn, const Status& status);
  // Works while a commit is under way: takes requests, answers bids and reads of single pages, and
  // reads the pages of the next turn. Nothing is stepped, because steps must see the committed
  // state.
  void LookAhead(const Transaction& under_way);
  void Refuse(Turn& turn, const Status& status);
  // Hands the replies over to the answerer.
  void Answer(std::unique_ptr<Turn> owned);
  void Fail(const Status& status);

  const uint16_t index_;
  Store& store_;
  Clock& clock_;
  ShardObserver& observer_;
  const uint32_t generation_;  // generation of the store in this run
  const std::function<Duration()> processor_time_;
  Mailbox<Request> mailbox_;
  ShardReads reads_;
  ShardState state_;
  EpochRunner epochs_;
  Status failure_;           // owner thread
  bool came_short_ = false;  // owner thread: the last request found too few pages
  // Owner thread: own events whose commit was refused, and when to try them again. Until then there
  // are no others.
  std::vector<Event> again_;
  Instant again_at_;
  Reaper reaper_;                // owner thread: the rest of a change of policy
  std::unique_ptr<Turn> ahead_;  // owner thread: requests taken during a commit; nullptr = none
  Committer committer_;
  Answerer answerer_;
  TurnSize turn_size_{limits::kEventsTogether, limits::kMaxEventsPerCommit,
                      limits::kEventTurnTime};  // owner thread
  Duration commit_takes_;                       // owner thread: the last one
  Duration look_ahead_took_;                    // owner thread: of the processor, the last time
  ShardBoard board_;
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_SHARD_H_
