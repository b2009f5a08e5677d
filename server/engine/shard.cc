#include "server/engine/shard.h"

#include <time.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "core/base/check.h"
#include "server/base/limits.h"
#include "server/base/stopping.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// How often the believed freshness is summed up: it looks at every page, so the more it costs the
// rarer it is.
constexpr Duration kBelievedInterval = Duration::Seconds(1);
constexpr int64_t kBelievedCostShare = 100;
// Longest sleep of an idle shard.
constexpr Duration kMaxIdle = Duration::Millis(500);
// From a refused commit to the next attempt at the shard's own events.
constexpr Duration kAgain = Duration::Seconds(1);

// Of fewer pages the commit takes hardly longer than to hand it to another thread, unless the disk
// is as slow as this.
constexpr size_t kWorthLookingAhead = 32;
constexpr Duration kSlowCommit = Duration::Millis(2);

// What the calling thread has worked: how much a slice does is not to depend on what else the
// machine is busy with.
Duration ThreadCpuTime() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return Duration::Micros(int64_t{used.tv_sec} * 1'000'000 + used.tv_nsec / 1'000);
}

Reply RefusedReply(const Status& status) {
  return {.disposition = Disposition::kRefused, .status = status};
}

Status Overloaded() {
  return MakeStatus(absl::StatusCode::kResourceExhausted, "the server is overloaded: try again");
}

size_t BytesOf(const PageKey& key) { return key.crawl_id.size() + key.url.size(); }
size_t BytesOf(const std::optional<PageKey>& key) { return key ? BytesOf(*key) : 0; }

// What a client may make long of an event.
struct EventBytes {
  size_t operator()(const UpsertPage& event) const { return BytesOf(event.key); }
  size_t operator()(const RemovePage& event) const {
    return BytesOf(event.key) + BytesOf(event.as_sent);
  }
  size_t operator()(const RecheckPage& event) const { return BytesOf(event.key); }
  size_t operator()(const ReportCrawl& event) const {
    return BytesOf(event.key) + BytesOf(event.as_sent) + event.digest.size() + event.etag.size() +
           event.last_modified.size() + event.moved_to.size();
  }
  size_t operator()(const SignalChange& event) const { return BytesOf(event.key); }
  size_t operator()(const auto& /*other*/) const { return 0; }
};

size_t CostOfEvents(const std::vector<Event>& events) {
  size_t bytes = 0;
  for (const Event& event : events) bytes += std::visit(EventBytes(), event);
  return CostOf(events.size(), bytes);
}

// Pages are found by the fingerprints that are stored.
ShardOptions WithFingerprintsOf(const Store& store, ShardOptions options) {
  options.fingerprinter = store.fingerprinter();
  return options;
}

}  // namespace

// Everything that one turn works on. Events of all origins are stepped in one list; `runs` says
// whose replies are whose.
struct Shard::Turn {
  explicit Turn(Instant at) : now(at) {}

  struct Run {
    size_t first = 0;
    size_t count = 0;
    std::function<void(std::vector<Reply>)> done;  // unset: nobody waits
    std::shared_ptr<BatchTrace> trace;
  };
  void Add(std::vector<Event> more, std::function<void(std::vector<Reply>)> done,
           std::shared_ptr<BatchTrace> trace = nullptr) {
    cost += CostOfEvents(more);
    runs.push_back({.first = events.size(),
                    .count = more.size(),
                    .done = std::move(done),
                    .trace = std::move(trace)});
    std::move(more.begin(), more.end(), std::back_inserter(events));
  }

  [[nodiscard]] bool empty() const { return runs.empty() && queries.empty(); }
  // Room for as many events as a message may have.
  [[nodiscard]] bool has_room() const {
    return cost + limits::kMaxItemsPerMessage <= limits::kMaxEventsPerCommit;
  }
  // What other turns may change in the meantime is to be read anew.
  void ForgetRead() {
    txn.Reset();
    looked_at = 0;
  }

  Instant now;
  std::vector<Event> events;
  size_t cost = 0;  // of these events
  std::vector<Run> runs;
  std::vector<Reply> replies;  // one for each event
  std::vector<ShardQuery> queries;
  size_t ahead = 0;                    // events that the mailbox still counts
  size_t looked_at = 0;                // events whose pages were read while another turn committed
  size_t bids = 0;                     // that were answered
  size_t own = 0;                      // the last events are the shard's own, so many
  std::vector<PageNumber> filed_anew;  // without an event
  bool stirred = false;                // something other than a pick happened
  TurnTimes times;
  Transaction txn;
};

Shard::Shard(const ShardSettings& settings, Store& store, Clock& clock, ShardObserver& observer)
    : index_(settings.state.shard),
      store_(store),
      clock_(clock),
      observer_(observer),
      generation_(settings.state.generation),
      mailbox_(settings.mailbox),
      state_(WithFingerprintsOf(store, settings.state)),
      epochs_(settings.epochs, store, clock.Now()) {}

Shard::~Shard() { Stop(); }

void Shard::Start() {
  CHECK(!thread_.joinable(), "shard {} runs already", index_);
  epochs_.Resume(state_.epoch());
  Publish();
  PublishBelieved(clock_.Now());
  thread_ = std::thread([this] { Run(); });
}

void Shard::Stop() {
  reads_.Close();
  mailbox_.Close();
  if (thread_.joinable()) thread_.join();
  epochs_.Cancel(clock_.Now(), ServerIsStopping());
  epochs_.Notify();
}

// --- What others ask for

PushOutcome Shard::Submit(EventBatch&& batch) {
  const size_t weight = batch.events.size();
  const size_t cost = CostOfEvents(batch.events);
  const uint64_t client = batch.client;
  Request request = std::move(batch);
  const PushOutcome outcome = mailbox_.Push(std::move(request), weight, clock_.Now(), client, cost);
  if (outcome == PushOutcome::kFull || outcome == PushOutcome::kClosed) {
    batch = std::move(std::get<EventBatch>(request));
  }
  return outcome;
}

void Shard::SubmitAlways(EventBatch&& batch) { (void)mailbox_.PushAlways(std::move(batch)); }

void Shard::Submit(BidRequest&& request) {
  Request boxed = std::move(request);
  if (mailbox_.PushAlways(std::move(boxed)) == PushOutcome::kTaken) return;
  std::get<BidRequest>(boxed).done({});
}

void Shard::Submit(SettleRequest&& request) {
  Request boxed = std::move(request);
  if (mailbox_.PushAlways(std::move(boxed)) == PushOutcome::kTaken) return;
  auto& left = std::get<SettleRequest>(boxed);
  left.done(std::vector<std::optional<Assignment>>(left.leases.size()));
}

bool Shard::Query(ShardQuery query) {
  return mailbox_.PushAlways(std::move(query)) == PushOutcome::kTaken;
}

// --- The loop

void Shard::Run() {
  while (true) {
    if (reads_.empty() && ahead_ == nullptr) mailbox_.Wait(IdleTime(clock_.Now()));
    const bool closed = mailbox_.closed();
    RunOnce(clock_.Now());
    if (closed && mailbox_.empty() && reads_.empty() && ahead_ == nullptr) return;
  }
}

Duration Shard::IdleTime(Instant now) const {
  if (!failure_.ok()) return kMaxIdle;
  if (!again_.empty()) return std::min(again_at_ - now, kMaxIdle);
  if (epochs_.Due(now)) return Duration();
  const Instant next = std::min({state_.next_timer(), epochs_.next_start(), now + kMaxIdle});
  return next - now;
}

void Shard::RunOnce(Instant now) {
  if (failure_.ok() && !again_.empty() && again_at_ <= now) {
    // Alone: what clients send is not to have it refused again.
    Turn turn(now);
    turn.stirred = true;
    turn.own = again_.size();
    turn.Add(std::exchange(again_, {}), nullptr);
    RunTurn(turn);
  }
  const std::unique_ptr<Turn> turn =
      ahead_ == nullptr ? std::make_unique<Turn>(now) : std::move(ahead_);
  turn->now = now;
  mailbox_.Release(std::exchange(turn->ahead, 0));
  AcceptWaiting(*turn);
  // A bid may have been settled by now: its pages are leased by the same commit.
  if (turn->bids > 0) AcceptWaiting(*turn);
  if (failure_.ok() && again_.empty()) TakeOwnEvents(*turn);
  RunTurn(*turn);
  if (failure_.ok() && again_.empty() && epochs_.Due(now)) RunSlice(now);
  reads_.Serve({state_, epochs_, now});
  PublishBelieved(now);
  reaper_.Destroy(state_.TakeRetired());
}

void Shard::AcceptWaiting(Turn& turn) {
  if (!turn.has_room()) return;
  std::vector<Request> requests;
  std::vector<Request> expired;
  mailbox_.Drain(limits::kMaxEventsPerCommit, turn.now, &requests, &expired, turn.cost);
  for (Request& request : expired) {
    auto& batch = std::get<EventBatch>(request);  // nothing else has weight
    batch.done(std::vector<Reply>(batch.events.size(), RefusedReply(Overloaded())));
  }
  for (Request& request : requests) Accept(request, turn);
}

void Shard::RunTurn(Turn& turn) {
  // Of a turn that was looked ahead to, and that this one comes before.
  if (ahead_ != nullptr) ahead_->ForgetRead();
  turn.times.begun = turn.now;
  const Status read = ReadPages(turn, 0, nullptr);
  turn.times.read = clock_.Now();
  if (!failure_.ok() || !read.ok()) {
    Refuse(turn, failure_.ok() ? read : failure_);
  } else {
    StepAll(turn);
    turn.times.stepped = clock_.Now();
    CommitAndInstall(turn);
  }
  for (const QuarantineNews& news : state_.TakeQuarantineNews()) observer_.OnQuarantine(news);
  for (const std::string& crawl : state_.TakeEmptied()) observer_.OnCrawlEmptied(index_, crawl);
  for (const std::string& crawl : state_.TakeDeclassed()) {
    observer_.OnCrawlDeclassed(index_, crawl);
  }
  Publish();
  Answer(turn);
}

void Shard::TakeOwnEvents(Turn& turn) {
  std::vector<Event> due;
  state_.TakeDueTimers(turn.now, limits::kMaxEventsPerCommit, &due);
  turn.stirred |= !due.empty();
  turn.own = due.size();
  turn.Add(std::move(due), nullptr);
}

void Shard::RunSlice(Instant now) {
  Turn turn(now);
  const Duration start = ThreadCpuTime();
  epochs_.Slice(state_, now, turn.txn);
  for (const Transaction::Page& page : turn.txn.pages()) {
    if (page.reindex) turn.filed_anew.push_back(page.record.number);
  }
  turn.stirred = !turn.filed_anew.empty();
  look_ahead_took_ = Duration();
  RunTurn(turn);
  // What was done for others meanwhile says nothing of how long slices are to be.
  epochs_.Took(ThreadCpuTime() - start - look_ahead_took_);
}

void Shard::KeepOwnEvents(const Turn& turn) {
  if (turn.own == 0 && turn.filed_anew.empty()) return;
  CHECK(again_.empty());
  again_.assign(turn.events.end() - static_cast<ptrdiff_t>(turn.own), turn.events.end());
  for (const PageNumber page : turn.filed_anew) again_.push_back(epochs_.Again(page));
  again_at_ = turn.now + kAgain;
}

// --- Requests become events

void Shard::Accept(Request& request, Turn& turn) {
  if (auto* batch = std::get_if<EventBatch>(&request)) {
    turn.stirred = true;
    turn.Add(std::move(batch->events), std::move(batch->done), std::move(batch->trace));
  } else if (auto* bid = std::get_if<BidRequest>(&request)) {
    AcceptBid(*bid);
    ++turn.bids;
  } else if (auto* settle = std::get_if<SettleRequest>(&request)) {
    AcceptSettle(*settle, turn);
  } else {
    turn.queries.push_back(std::move(std::get<ShardQuery>(request)));
  }
}

void Shard::AcceptBid(BidRequest& request) {
  ShardBid bid;
  const Instant now = clock_.Now();
  for (const GroupNews& news : request.groups) state_.HearOfGroup(news, now);
  PublishGroups();
  BidChoice choice(request.owners, request.others ? request.at.size() : 0);
  came_short_ = !failure_.ok();
  for (const Instant at : request.at) {
    if (!failure_.ok()) break;
    const auto take = [&](ClassSet among, bool forced_first) {
      return state_.Take(at, among, forced_first);
    };
    if (!choice.Bid(take, &bid)) came_short_ = true;
  }
  request.done(std::move(bid));
}

void Shard::PublishGroups() {
  std::vector<GroupStanding> groups;
  state_.TakeGroupStandings(&groups);
  if (!groups.empty()) observer_.OnGroups(index_, groups);
}

void Shard::AcceptSettle(SettleRequest& request, Turn& turn) {
  for (const PageNumber page : request.put_back) state_.PutBack(page);
  std::vector<Event> leases;
  std::vector<PageNumber> pages;
  for (SettleRequest::Lease& lease : request.leases) {
    pages.push_back(lease.pick.page);
    leases.push_back(LeasePage{.page = lease.pick.page,
                               .key = {},
                               .worker = std::move(lease.terms.worker),
                               .client = std::move(lease.terms.client),
                               .at = lease.terms.at,
                               .lease = lease.terms.lease,
                               .value = lease.pick.value});
  }
  turn.Add(std::move(leases), [this, pages = std::move(pages),
                               done = std::move(request.done)](std::vector<Reply> replies) {
    std::vector<std::optional<Assignment>> assignments;
    assignments.reserve(replies.size());
    for (size_t i = 0; i < replies.size(); ++i) {
      // A page that was not leased after all competes again.
      if (!replies[i].assignment) state_.PutBack(pages[i]);
      assignments.push_back(std::move(replies[i].assignment));
    }
    done(std::move(assignments));
  });
}

// --- The cycle of the state machine

Status Shard::ReadPages(Turn& turn, size_t first, const Transaction* under_way) {
  std::vector<PageNumber> numbers;
  for (size_t i = first; i < turn.events.size(); ++i) state_.Want(turn.events[i], &numbers);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::erase_if(numbers, [&](PageNumber n) {
    return turn.txn.Has(n) || (under_way != nullptr && under_way->Has(n));
  });
  if (numbers.empty()) return absl::OkStatus();
  for (StatusOr<PageRecord>& page : store_.ReadPages(numbers, ReadFor::kChanging)) {
    if (!page.ok()) {
      // The shard's memory and the store disagree, or a row is damaged: going on would write
      // nonsense over it.
      Fail(page.status());
      return page.status();
    }
    const bool mended = state_.CapTimes(turn.now, &*page);
    turn.txn.Load(*std::move(page), mended);
  }
  return absl::OkStatus();
}

void Shard::StepAll(Turn& turn) {
  turn.replies.reserve(turn.events.size());
  for (const Event& event : turn.events) {
    turn.replies.push_back(state_.Step(event, turn.now, turn.txn));
  }
}

void Shard::CommitAndInstall(Turn& turn) {
  Changes changes = turn.txn.Finish();
  changes.shard = index_;
  changes.now = turn.now;
  if (!changes.empty()) {
    if (const Status status = Commit(changes, turn); !status.ok()) {
      HandleRefusal(turn, status);
      return;
    }
  }
  turn.times.committed = clock_.Now();
  const LeaseTallies tallies = TallyLeases(state_, turn.txn, generation_);
  state_.Install(turn.txn);
  if (!tallies.empty()) observer_.OnLeases(tallies);
  PublishGroups();
  turn.times.installed = clock_.Now();
}

Status Shard::Commit(const Changes& changes, const Turn& turn) {
  Duration took;
  const auto commit = [&] {
    const Instant start = clock_.Now();
    Status status = store_.Commit(changes);
    took = clock_.Now() - start;
    return status;
  };
  if (turn.txn.pages().size() < kWorthLookingAhead && commit_takes_ < kSlowCommit) {
    RETURN_IF_ERROR(commit());
  } else {
    committer_.Begin(commit, [this] { mailbox_.Wake(); });
    LookAhead(turn.txn);
    RETURN_IF_ERROR(committer_.Finish());
  }
  commit_takes_ = took;
  observer_.OnCommit(took, turn.events.size());
  const MutexLock lock(mutex_);
  ++snapshot_.commits;
  snapshot_.last_commit = took;
  return absl::OkStatus();
}

void Shard::HandleRefusal(Turn& turn, const Status& status) {
  const bool nothing_written = status.code() == absl::StatusCode::kResourceExhausted ||
                               status.code() == absl::StatusCode::kInternal;
  // Of a full disk the log hears from StoreWatch, once.
  const auto level = absl::IsResourceExhausted(status) ? spdlog::level::debug : spdlog::level::err;
  Logger(LogModule::kEngine)
      .log(level, "shard {}: a commit of {} events failed: {}", index_, turn.events.size(),
           status.ToString());
  if (!nothing_written) Fail(status);
  // An invalid record among the shard's own would be refused for ever.
  const bool may_pass = absl::IsResourceExhausted(status) || turn.own < turn.events.size();
  if (nothing_written && may_pass) KeepOwnEvents(turn);
  Refuse(turn, status);
}

void Shard::LookAhead(const Transaction& under_way) {
  const Duration start = ThreadCpuTime();
  if (ahead_ == nullptr) ahead_ = std::make_unique<Turn>(clock_.Now());
  Turn& next = *ahead_;
  while (!mailbox_.closed() && committer_.under_way()) {
    const bool takes_more = failure_.ok() && next.has_room();
    if (takes_more) {
      std::vector<Request> requests;
      next.ahead += mailbox_.DrainAhead(limits::kMaxEventsPerCommit - next.cost, &requests);
      for (Request& request : requests) Accept(request, next);
      // Why it cannot be read is said to the turn itself.
      (void)ReadPages(next, next.looked_at, &under_way);
      next.looked_at = next.events.size();
    }
    const bool more_reads = reads_.ServeSingle({state_, epochs_, clock_.Now()});
    if (more_reads || !committer_.under_way()) continue;
    // For more, or for the commit.
    takes_more ? mailbox_.WaitForMore(kMaxIdle) : mailbox_.WaitForWake(kMaxIdle);
  }
  if (next.empty()) ahead_.reset();
  look_ahead_took_ = ThreadCpuTime() - start;
}

void Shard::Refuse(Turn& turn, const Status& status) {
  const bool over = !failure_.ok();
  const Status reason =
      over ? MakeStatus(absl::StatusCode::kUnavailable, "the store cannot be written: {}",
                        std::string(status.message()))
           : status;
  turn.replies.resize(turn.events.size());
  for (Reply& reply : turn.replies) {
    // What was refused for its own sake keeps its reason.
    if (reply.disposition != Disposition::kRefused) reply = RefusedReply(reason);
  }
}

void Shard::Answer(Turn& turn) {
  CHECK(turn.replies.size() == turn.events.size());
  for (Turn::Run& run : turn.runs) {
    if (!run.done) continue;
    if (run.trace != nullptr && !turn.times.installed.is_none()) {
      run.trace->Add({.shard = index_,
                      .events = run.count,
                      .turn_events = turn.events.size(),
                      .times = turn.times});
    }
    const auto first = turn.replies.begin() + static_cast<ptrdiff_t>(run.first);
    run.done({std::make_move_iterator(first),
              std::make_move_iterator(first + static_cast<ptrdiff_t>(run.count))});
  }
  for (const ShardQuery& query : turn.queries) query({state_, epochs_, turn.now});
  epochs_.Notify();
  if (came_short_ && turn.stirred) {
    came_short_ = false;
    observer_.OnPagesMayBeDue();
  }
}

// --- What others may see

void Shard::PublishBelieved(Instant now) {
  if (now < believed_due_) return;
  const Instant start = clock_.Now();
  const BelievedFreshness believed = state_.Believed(now);
  const ShardFigures figures = state_.Figures(now);
  std::vector<SourceTrust> trust = state_.Trust();
  std::vector<CrawlStatus> crawls = state_.CrawlsWithTerms();
  believed_due_ = now + std::max(kBelievedInterval, (clock_.Now() - start) * kBelievedCostShare);
  const MutexLock lock(mutex_);
  snapshot_.believed = believed;
  figures_ = figures;
  crawls_ = std::move(crawls);
  trust_ = std::move(trust);
}

void Shard::Publish() {
  const MutexLock lock(mutex_);
  snapshot_.counters = state_.counters();
  snapshot_.price = state_.price();
  snapshot_.in_force = state_.in_force();
  snapshot_.last_epoch = epochs_.last();
  snapshot_.epoch_running = epochs_.running();
}

ShardSnapshot Shard::snapshot() const {
  const size_t waiting = mailbox_.weight();
  const MutexLock lock(mutex_);
  ShardSnapshot copy = snapshot_;
  copy.waiting_events = waiting;
  return copy;
}

std::vector<CrawlStatus> Shard::crawls() const {
  const MutexLock lock(mutex_);
  return crawls_;
}

ShardFigures Shard::figures() const {
  const MutexLock lock(mutex_);
  return figures_;
}

std::vector<SourceTrust> Shard::trust() const {
  const MutexLock lock(mutex_);
  return trust_;
}

void Shard::Fail(const Status& status) {
  if (!failure_.ok()) return;
  failure_ = status;
  epochs_.Cancel(clock_.Now(),
                 MakeStatus(absl::StatusCode::kUnavailable, "the store cannot be written: {}",
                            std::string(status.message())));
  {
    const MutexLock lock(mutex_);
    snapshot_.failure = status;
  }
  observer_.OnFailure(index_, status);
}

}  // namespace freshet
