// One shard: the thread that alone changes the pages of its slots. It takes what waits in its
// mailbox, reads the records that this needs in one go, steps the state machine, commits with one
// sync, and only then installs and answers. docs/architecture.md follows one
// crawl along this path.
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
#include "core/estimate/trust.h"
#include "core/schedule/crawl_policy.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/event.h"
#include "core/schedule/freshness_sample.h"
#include "core/schedule/host_groups.h"
#include "core/schedule/pick.h"
#include "core/schedule/shard_counters.h"
#include "core/schedule/shard_figures.h"
#include "core/schedule/shard_options.h"
#include "core/schedule/shard_state.h"
#include "core/schedule/transaction.h"
#include "server/base/mailbox.h"
#include "server/base/reaper.h"
#include "server/base/system_clock.h"
#include "server/engine/batch_trace.h"
#include "server/engine/bids.h"
#include "server/engine/committer.h"
#include "server/engine/epochs.h"
#include "server/engine/lease_tally.h"
#include "server/engine/shard_reads.h"
#include "server/engine/tick_shares.h"
#include "storage/store.h"
#include "sync/mutex.h"

namespace freshet {

struct QuarantineNews;

// Some events of one client, answered together and in order.
struct EventBatch {
  std::vector<Event> events;
  std::function<void(std::vector<Reply>)> done;  // called once, on the shard's thread
  std::shared_ptr<BatchTrace> trace;             // null: nobody asks how long it takes
  uint64_t client = 0;                           // Claim::client of who sends it
};

// What an assignment is to be, before there is a page for it.
struct LeaseTerms {
  Instant at;  // the tick; never before that of an earlier request
  std::string worker;
  std::string client;  // LeaseRecord::client
  Duration lease;
};

// The best pages for these ticks, taken out of the index but not leased: so that the dearest over
// several shards can be found. Answered before the next commit; shorter than `at` when pages lack,
// and maybe longer where not every page may have any tick (BidChoice). One at a time.
struct BidRequest {
  std::vector<Instant> at;
  TickOwners owners;
  std::vector<GroupNews> groups;  // what other shards have of groups, as far as that has changed
  bool others = false;            // there are other shards
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

// What others may know of a shard at any time.
struct ShardSnapshot {
  ShardCounters counters;
  BelievedFreshness believed;
  double price = 0;
  CrawlPolicy in_force;
  EpochResult last_epoch;
  bool epoch_running = false;
  uint64_t commits = 0;
  uint64_t events = 0;
  Duration last_commit;
  size_t waiting_events = 0;
  Status failure;  // OK while the shard works
};

// Durations and sizes, as they happen. Thread-safe; one for all shards.
class ShardObserver {
 public:
  virtual ~ShardObserver() = default;
  virtual void OnCommit(Duration took, size_t events) = 0;
  // The store cannot be written any more: nothing is acknowledged from here on.
  virtual void OnFailure(uint16_t shard, const Status& status) = 0;
  // Pages may have become eligible since the last request that found too few.
  virtual void OnPagesMayBeDue() = 0;
  // Before the replies to what opened or ended the leases.
  virtual void OnLeases(const LeaseTallies& /*tallies*/) {}
  // What the shard has of groups of hosts has changed; also before it bids.
  virtual void OnGroups(uint16_t /*shard*/, const std::vector<GroupStanding>& /*standings*/) {}
  virtual void OnQuarantine(const QuarantineNews& /*news*/) {}
  // The shard has no page any more of a crawl id that is being deleted.
  virtual void OnCrawlEmptied(uint16_t /*shard*/, const std::string& /*crawl_id*/) {}
  // A crawl id has lost its class, and the shard has no page of that class any more.
  virtual void OnCrawlDeclassed(uint16_t /*shard*/, const std::string& /*crawl_id*/) {}
};

struct ShardSettings {
  ShardOptions state;
  EpochOptions epochs;
  MailboxLimits mailbox;
};

// Thread-safe but for what says otherwise. Life: constructed, loaded (LoadPage and so on through
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
  // Serves what waits, refuses what comes, and ends the thread. Idempotent.
  void Stop();

  // On kFull and kClosed the batch is left to the caller, and `done` not called.
  PushOutcome Submit(EventBatch&& batch);
  // For the server itself: not subject to the limits of the mailbox. When the shard is stopped,
  // requests are answered at once, with nothing; queries and events are dropped.
  void SubmitAlways(EventBatch&& batch);
  void Submit(BidRequest&& request);
  void Submit(SettleRequest&& request);
  // Returns false, and does not call `query`, when the shard is stopped.
  bool Query(ShardQuery query);
  // An epoch of all shards is about to be asked for (EpochExchange).
  void ExpectEpoch() { epochs_.Expect(); }
  // Asked after the events of a turn, or while a commit is under way, a few at a time
  // (server/engine/shard_reads.h). The store may then have what the shard has yet to install.
  PushOutcome Read(ShardQuery query) {
    const PushOutcome outcome = reads_.Push(std::move(query));
    mailbox_.Wake();
    return outcome;
  }
  // Likewise, one at a time. Returns false, and does not call `query`, when the shard is stopped.
  bool ReadMany(ShardQuery query) {
    const PushOutcome outcome = reads_.PushMany(std::move(query));
    mailbox_.Wake();
    return outcome == PushOutcome::kTaken;
  }

  [[nodiscard]] ShardSnapshot snapshot() const FRESHET_EXCLUDES(mutex_);
  // The crawl ids for which something is set, as of a second ago.
  [[nodiscard]] std::vector<CrawlStatus> crawls() const FRESHET_EXCLUDES(mutex_);
  // Likewise of a second ago.
  [[nodiscard]] ShardFigures figures() const FRESHET_EXCLUDES(mutex_);
  // What is believed of sources over all shards, as of the last epoch.
  [[nodiscard]] std::vector<SourceTrust> trust() const FRESHET_EXCLUDES(mutex_);
  // Reads that wait for the shard's thread.
  [[nodiscard]] size_t waiting_reads() const { return reads_.size(); }

 private:
  using Request = std::variant<EventBatch, BidRequest, SettleRequest, ShardQuery>;

  // From drained requests, or the shard's own events, to replies.
  struct Turn;

  void Run();
  // One round of the loop: a turn for what waits, after one for what is to be tried again; then a
  // slice.
  void RunOnce(Instant now);
  // Takes in what waits, as far as one commit has room for it.
  void AcceptWaiting(Turn& turn);
  void RunTurn(Turn& turn);
  // Timers that are due.
  void TakeOwnEvents(Turn& turn);
  // A turn for a slice of an epoch, or of filing pages anew: of its own, so that what clients ask
  // for waits for the slice that runs when it comes, and not for the next one as well.
  void RunSlice(Instant now);
  // The turn's commit was refused: its own events are for a later turn.
  void KeepOwnEvents(const Turn& turn);
  [[nodiscard]] Duration IdleTime(Instant now) const;
  void Accept(Request& request, Turn& turn);
  void AcceptBid(BidRequest& request);
  // Says what has changed of groups of hosts.
  void PublishGroups();
  void AcceptSettle(SettleRequest& request, Turn& turn);
  // What the turn's events from `first` on need and it has not read, but for what `under_way`,
  // which may be null, has: those pages are being written.
  [[nodiscard]] Status ReadPages(Turn& turn, size_t first, const Transaction* under_way);
  void StepAll(Turn& turn);
  // Commits; afterwards the turn's replies say what really happened.
  void CommitAndInstall(Turn& turn);
  [[nodiscard]] Status Commit(const Changes& changes, const Turn& turn);
  // Of a commit: says so, and sees to it that what can be tried again is.
  void HandleRefusal(Turn& turn, const Status& status);
  // While a commit is under way: takes in what comes, answers bids and reads of single pages, and
  // reads the pages of the next turn. Nothing is stepped, as it is to see what is committed.
  void LookAhead(const Transaction& under_way);
  void Refuse(Turn& turn, const Status& status);
  void Answer(Turn& turn);
  // What the turn did is to be seen before its replies are.
  void Publish() FRESHET_EXCLUDES(mutex_);
  void PublishBelieved(Instant now) FRESHET_EXCLUDES(mutex_);
  void Fail(const Status& status);

  const uint16_t index_;
  Store& store_;
  Clock& clock_;
  ShardObserver& observer_;
  const uint32_t generation_;  // of the store in this run
  Mailbox<Request> mailbox_;
  ShardReads reads_;
  ShardState state_;
  EpochRunner epochs_;
  Status failure_;           // owner thread
  bool came_short_ = false;  // owner thread: the last request found too few pages
  Instant believed_due_;     // owner thread
  // Owner thread: own events whose commit was refused, and when to try them again. Until then there
  // are no others.
  std::vector<Event> again_;
  Instant again_at_;
  Reaper reaper_;                // owner thread: of what a change of policy left over
  std::unique_ptr<Turn> ahead_;  // owner thread: what was taken in during a commit; null: nothing
  Committer committer_;
  Duration commit_takes_;     // owner thread: the last one
  Duration look_ahead_took_;  // owner thread: of the processor, the last time
  std::thread thread_;
  mutable Mutex mutex_;
  ShardSnapshot snapshot_ FRESHET_GUARDED_BY(mutex_);
  std::vector<CrawlStatus> crawls_ FRESHET_GUARDED_BY(mutex_);
  ShardFigures figures_ FRESHET_GUARDED_BY(mutex_);
  std::vector<SourceTrust> trust_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_SHARD_H_
