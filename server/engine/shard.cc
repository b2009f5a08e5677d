#include "server/engine/shard.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "core/base/check.h"
#include "core/schedule/learning.h"
#include "core/schedule/policy_switch.h"
#include "server/base/limits.h"
#include "server/base/refusals.h"
#include "server/base/turn_size.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// Longest sleep of an idle shard.
constexpr Duration kMaxIdle = Duration::Millis(500);
// The pause between a refused commit and the next attempt at the shard's own events.
constexpr Duration kAgain = Duration::Seconds(1);

// Commits of fewer pages run on the shard's thread, unless one of the last kRecentCommits commits
// took kSlowCommit or longer. Handing such a small commit to another thread takes about as long as
// the commit itself. Some disks are slow only now and then.
constexpr size_t kWorthLookingAhead = 32;
constexpr Duration kSlowCommit = Duration::Millis(2);
constexpr int kRecentCommits = 256;
// After this many events, a turn checks how long it has taken.
constexpr size_t kEventsUnseen = 64;

Reply RefusedReply(const Status& status) {
  return {.disposition = Disposition::kRefused, .status = status};
}

size_t BytesOf(const PageKey& key) { return key.crawl_id.size() + key.url.size(); }
size_t BytesOf(const std::optional<PageKey>& key) { return key ? BytesOf(*key) : 0; }

// The size of those fields of an event whose lengths clients control.
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

template <typename Request>
typename Mailbox<Request>::Part ToRequest(EventBatch batch) {
  const size_t weight = batch.events.size();
  const size_t cost = CostOfEvents(batch.events);
  return {.item = std::move(batch), .weight = weight, .cost = cost};
}

// Returns the events that lease the pages of the request. Appends the numbers of the pages to
// `pages`.
std::vector<Event> LeasesOf(SettleRequest& request, std::vector<PageNumber>* pages) {
  std::vector<Event> leases;
  for (SettleRequest::Lease& lease : request.leases) {
    pages->push_back(lease.pick.page);
    leases.push_back(LeasePage{.page = lease.pick.page,
                               .key = {},
                               .worker = std::move(lease.terms.worker),
                               .client = std::move(lease.terms.client),
                               .at = lease.terms.at,
                               .lease = lease.terms.lease,
                               .value = lease.pick.value});
  }
  return leases;
}

// The shard finds pages by fingerprint, so it must use the fingerprinter of the store.
ShardOptions WithFingerprintsOf(const Store& store, ShardOptions options) {
  options.fingerprinter = store.fingerprinter();
  return options;
}

}  // namespace

// The state of one turn. The events of all requests are in one list; `runs` tells which of them,
// and which replies, belong to which request.
struct Shard::Turn {
  explicit Turn(Instant at) : now(at) {}

  struct Run {
    size_t first = 0;
    size_t count = 0;
    std::function<void(std::vector<Reply>)> done;  // unset = no caller waits
    std::shared_ptr<BatchTrace> trace;
    std::vector<PageNumber> picked;  // pages picked for these events
    uint64_t client = 0;             // EventBatch::client
    bool at_once = false;            // EventBatch::at_once
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
  // Takes the events of the run out of the turn. Precondition: they were not stepped.
  [[nodiscard]] EventBatch TakeOut(Run& run) {
    const auto first = events.begin() + static_cast<ptrdiff_t>(run.first);
    put_back += run.count;
    EventBatch batch{.events = {std::make_move_iterator(first),
                                std::make_move_iterator(first + static_cast<ptrdiff_t>(run.count))},
                     .done = std::exchange(run.done, nullptr),
                     .trace = std::move(run.trace),
                     .client = run.client,
                     .at_once = run.at_once};
    cost -= CostOfEvents(batch.events);
    return batch;
  }
  // Answers the caller that waits for the run.
  void Answer(Run& run, uint16_t shard);

  [[nodiscard]] bool empty() const { return runs.empty() && queries.empty(); }
  // Drops all pages that were read, because another turn may change them first.
  void ForgetRead() {
    txn.Reset();
    looked_at = 0;
  }

  Instant now;
  std::vector<Event> events;
  size_t cost = 0;  // cost of `events`
  std::vector<Run> runs;
  std::vector<Reply> replies;  // one for each event
  std::vector<ShardQuery> queries;
  size_t ahead = 0;                    // events that the mailbox still counts as waiting
  size_t looked_at = 0;                // events whose pages were read while another turn committed
  size_t bids = 0;                     // number of answered bids
  size_t put_back = 0;                 // events that went back into the mailbox
  size_t own = 0;                      // number of the shard's own events; they come last
  std::vector<PageNumber> filed_anew;  // pages filed again without an event
  bool stirred = false;                // the turn did more than answer bids and lease pages
  TurnTimes times;
  Transaction txn;
};

void Shard::Turn::Answer(Run& run, uint16_t shard) {
  if (!run.done) return;
  if (run.trace != nullptr && !times.installed.is_none()) {
    run.trace->Add(
        {.shard = shard, .events = run.count, .turn_events = events.size(), .times = times});
  }
  const auto first = replies.begin() + static_cast<ptrdiff_t>(run.first);
  run.done({std::make_move_iterator(first),
            std::make_move_iterator(first + static_cast<ptrdiff_t>(run.count))});
}

Shard::Shard(const ShardSettings& settings, Store& store, Clock& clock, ShardObserver& observer)
    : index_(settings.state.shard),
      store_(store),
      clock_(clock),
      observer_(observer),
      generation_(settings.state.generation),
      processor_time_(settings.processor_time),
      mailbox_(settings.mailbox),
      state_(WithFingerprintsOf(store, settings.state)),
      epochs_(settings.epochs, store, clock.Now()) {}

Shard::~Shard() { Stop(); }

void Shard::Start() {
  CHECK(!thread_.joinable(), "shard {} runs already", index_);
  epochs_.Resume(state_.learning().epoch());
  board_.Publish(state_, epochs_);
  board_.PublishBelieved(state_, clock_.Now(), clock_);
  thread_ = std::thread([this] { Run(); });
}

void Shard::Stop() {
  reads_.Close();
  mailbox_.Close();
  if (thread_.joinable()) thread_.join();
  answerer_.Stop();
  epochs_.Cancel(clock_.Now(), ServerIsStopping());
  epochs_.Notify();
}

// --- What others ask for

PushOutcome Shard::Submit(std::vector<EventBatch> parts) {
  const uint64_t client = parts.front().client;
  std::vector<Mailbox<Request>::Part> requests;
  for (EventBatch& part : parts) requests.push_back(ToRequest<Request>(std::move(part)));
  return mailbox_.PushAll(requests, clock_.Now(), client);
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
    // These events get a separate turn, so that no client's event can make their commit fail again.
    auto turn = std::make_unique<Turn>(now);
    turn->stirred = true;
    turn->own = again_.size();
    turn->Add(std::exchange(again_, {}), nullptr);
    RunTurn(std::move(turn));
  }
  std::unique_ptr<Turn> turn = ahead_ == nullptr ? std::make_unique<Turn>(now) : std::move(ahead_);
  turn->now = now;
  mailbox_.Release(std::exchange(turn->ahead, 0));
  AcceptWaiting(*turn);
  // The bid that AcceptWaiting has answered might have been settled by now. If so, the commit of
  // this turn also leases the pages of the bid.
  if (turn->bids > 0) AcceptWaiting(*turn);
  if (failure_.ok() && again_.empty()) TakeOwnEvents(*turn);
  RunTurn(std::move(turn));
  if (failure_.ok() && again_.empty() && epochs_.Due(now)) RunSlice(now);
  reads_.Serve({state_, epochs_, now});
  board_.PublishBelieved(state_, now, clock_);
  reaper_.Destroy(state_.policies().TakeRetired());
}

size_t Shard::RoomIn(const Turn& turn) const {
  const size_t most = std::min(turn_size_.events(), answerer_.events());
  return turn.cost + limits::kEventsTogether <= most ? most - turn.cost : 0;
}

void Shard::AcceptWaiting(Turn& turn) {
  const size_t room = RoomIn(turn);
  if (room == 0) return;
  std::vector<Request> requests;
  std::vector<Request> expired;
  mailbox_.Drain(turn.cost + room, turn.now, &requests, &expired, turn.cost);
  for (Request& request : expired) {
    auto& batch = std::get<EventBatch>(request);  // only events have weight and expire
    const size_t events = batch.events.size();
    answerer_.Post(events, [events, done = std::move(batch.done)] {
      done(std::vector<Reply>(events, RefusedReply(ServerIsOverloaded())));
    });
  }
  for (Request& request : requests) Accept(request, turn);
}

void Shard::RunTurn(std::unique_ptr<Turn> owned) {
  Turn& turn = *owned;
  // The turn that was prepared during a commit now comes after this turn. This turn may change rows
  // that the prepared turn has read.
  if (ahead_ != nullptr) ahead_->ForgetRead();
  turn.times.begun = turn.now;
  look_ahead_took_ = Duration();
  const Duration start = processor_time_();
  const Status read = ReadPages(turn, 0, nullptr);
  turn.times.read = clock_.Now();
  if (!failure_.ok() || !read.ok()) {
    Refuse(turn, failure_.ok() ? read : failure_);
  } else {
    StepAll(turn);
    turn.times.stepped = clock_.Now();
    CommitAndInstall(turn);
    turn_size_.Took(turn.cost, processor_time_() - start - look_ahead_took_, commit_takes_);
  }
  for (const auto& news : state_.learning().TakeQuarantineNews()) observer_.OnQuarantine(news);
  const CrawlNews news = state_.TakeCrawlNews();
  for (const std::string& crawl : news.emptied) observer_.OnCrawlEmptied(index_, crawl);
  for (const std::string& crawl : news.declassed) observer_.OnCrawlDeclassed(index_, crawl);
  board_.Publish(state_, epochs_);
  Answer(std::move(owned));
}

void Shard::TakeOwnEvents(Turn& turn) {
  std::vector<Event> due;
  state_.TakeDueTimers(turn.now, turn_size_.events(), &due);
  turn.stirred |= !due.empty();
  turn.own = due.size();
  turn.Add(std::move(due), nullptr);
}

void Shard::RunSlice(Instant now) {
  auto turn = std::make_unique<Turn>(now);
  const Duration start = processor_time_();
  epochs_.Slice(state_, now, turn->txn);
  for (const Transaction::Page& page : turn->txn.pages()) {
    if (page.reindex) turn->filed_anew.push_back(page.record.number);
  }
  turn->stirred = !turn->filed_anew.empty();
  RunTurn(std::move(turn));
  // Work that was done for clients during the slice must not change the length of slices.
  epochs_.Took(processor_time_() - start - look_ahead_took_);
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
    turn.runs.back().client = batch->client;
    turn.runs.back().at_once = batch->at_once;
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
  std::vector<PageNumber> pages;
  std::vector<Event> leases = LeasesOf(request, &pages);
  turn.Add(std::move(leases), [done = std::move(request.done)](std::vector<Reply> replies) {
    std::vector<std::optional<Assignment>> assignments;
    assignments.reserve(replies.size());
    for (Reply& reply : replies) assignments.push_back(std::move(reply.assignment));
    done(std::move(assignments));
  });
  turn.runs.back().picked = std::move(pages);
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
      // Either the shard's memory and the store disagree, or a row is damaged. The shard must stop,
      // because the next commit could overwrite the row.
      Fail(page.status());
      return page.status();
    }
    const bool mended = state_.CapTimes(turn.now, &*page);
    turn.txn.Load(*std::move(page), mended);
  }
  return absl::OkStatus();
}

void Shard::StepAll(Turn& turn) {
  turn.replies.resize(turn.events.size());
  const Duration start = processor_time_();
  bool long_enough = false;
  size_t unseen = 0;  // events since the last check of the time
  std::vector<size_t> left;
  for (size_t r = 0; r < turn.runs.size(); ++r) {
    const Turn::Run& run = turn.runs[r];
    // Events of the server itself are never put back.
    if (long_enough && run.client != 0) {
      left.push_back(r);
      continue;
    }
    for (size_t i = run.first; i < run.first + run.count; ++i) {
      turn.replies[i] = state_.Step(turn.events[i], turn.now, turn.txn);
    }
    unseen += run.count;
    if (long_enough || unseen < kEventsUnseen) continue;
    unseen = 0;
    long_enough = processor_time_() - start > limits::kLongestEventTurn;
  }
  // PutBack puts a run before all waiting events of its client, so the last run is put back first.
  std::for_each(left.rbegin(), left.rend(), [&](size_t run) { PutBack(run, turn); });
}

void Shard::PutBack(size_t run, Turn& turn) {
  const uint64_t client = turn.runs[run].client;
  mailbox_.PutBack(ToRequest<Request>(turn.TakeOut(turn.runs[run])), client);
}

void Shard::CommitAndInstall(Turn& turn) {
  Changes changes = turn.txn.Finish(state_.learning().estimator());
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
  if (turn.txn.pages().size() < kWorthLookingAhead && after_slow_ == 0) {
    RETURN_IF_ERROR(commit());
  } else {
    committer_.Begin(commit, [this] { mailbox_.Wake(); });
    LookAhead(turn.txn);
    RETURN_IF_ERROR(committer_.Finish());
  }
  commit_takes_ = took;
  after_slow_ = took >= kSlowCommit ? kRecentCommits : std::max(after_slow_ - 1, 0);
  observer_.OnCommit(took, turn.events.size() - turn.put_back);
  board_.NoteCommit(took, turn.events.size() - turn.put_back);
  return absl::OkStatus();
}

void Shard::HandleRefusal(Turn& turn, const Status& status) {
  const bool nothing_written = status.code() == absl::StatusCode::kResourceExhausted ||
                               status.code() == absl::StatusCode::kInternal;
  // StoreWatch already logs a full disk, and only once.
  const auto level = absl::IsResourceExhausted(status) ? spdlog::level::debug : spdlog::level::err;
  Logger(LogModule::kEngine)
      .log(level, "shard {}: a commit of {} events failed: {}", index_, turn.events.size(),
           status.ToString());
  if (!nothing_written) Fail(status);
  // If the turn had only own events and the disk is not full, one of the events made an invalid
  // record, and would fail every time.
  const bool may_pass = absl::IsResourceExhausted(status) || turn.own < turn.events.size();
  if (nothing_written && may_pass) KeepOwnEvents(turn);
  Refuse(turn, status);
}

void Shard::LookAhead(const Transaction& under_way) {
  const Duration start = processor_time_();
  if (ahead_ == nullptr) ahead_ = std::make_unique<Turn>(clock_.Now());
  Turn& next = *ahead_;
  while (!mailbox_.closed() && committer_.under_way()) {
    const size_t room = failure_.ok() ? RoomIn(next) : 0;
    if (room > 0) {
      std::vector<Request> requests;
      next.ahead += mailbox_.DrainAhead(room, &requests);
      for (Request& request : requests) Accept(request, next);
      // If the read fails, the turn itself will read again and report the error.
      (void)ReadPages(next, next.looked_at, &under_way);
      next.looked_at = next.events.size();
    }
    if (reads_.ServeSingle({state_, epochs_, clock_.Now()}) || !committer_.under_way()) continue;
    // Waits for more requests, or for the end of the commit.
    room > 0 ? mailbox_.WaitForMore(kMaxIdle) : mailbox_.WaitForWake(kMaxIdle);
  }
  if (next.empty()) ahead_.reset();
  look_ahead_took_ = processor_time_() - start;
}

void Shard::Refuse(Turn& turn, const Status& status) {
  const bool over = !failure_.ok();
  const Status reason =
      over ? MakeStatus(absl::StatusCode::kUnavailable, "the store cannot be written: {}",
                        std::string(status.message()))
           : status;
  turn.replies.resize(turn.events.size());
  for (Reply& reply : turn.replies) {
    // An event that was already refused keeps its reason.
    if (reply.disposition != Disposition::kRefused) reply = RefusedReply(reason);
  }
}

void Shard::Answer(std::unique_ptr<Turn> owned) {
  std::shared_ptr<Turn> turn = std::move(owned);
  CHECK(turn->replies.size() == turn->events.size());
  // Quota places of refused events are returned first, so that a client that hears of a refusal can
  // use them at once.
  turn->txn.places.Return();
  size_t awaited = 0;  // events
  for (Turn::Run& run : turn->runs) {
    // A picked page whose lease was refused competes again.
    for (size_t i = 0; i < run.picked.size(); ++i) {
      if (!turn->replies[run.first + i].assignment) state_.PutBack(run.picked[i]);
    }
    if (run.at_once) turn->Answer(run, index_);
    if (!run.at_once && run.done != nullptr) awaited += std::max<size_t>(run.count, 1);
  }
  const std::vector<ShardQuery> queries = std::move(turn->queries);
  const Instant now = turn->now;
  const bool stirred = turn->stirred;
  if (awaited > 0) {
    auto answer = [turn = std::move(turn), shard = index_] {
      for (Turn::Run& run : turn->runs) {
        if (!run.at_once) turn->Answer(run, shard);
      }
    };
    answerer_.Post(awaited, std::move(answer), commit_takes_);  // destroys the turn, too
  }
  for (const ShardQuery& query : queries) query({state_, epochs_, now});
  epochs_.Notify();
  if (came_short_ && stirred) {
    came_short_ = false;
    observer_.OnPagesMayBeDue();
  }
}

ShardSnapshot Shard::snapshot() const {
  const size_t waiting = mailbox_.weight();
  ShardSnapshot snapshot = board_.snapshot();
  snapshot.waiting_events = waiting;
  snapshot.waiting_reads = reads_.size();
  return snapshot;
}

void Shard::Fail(const Status& status) {
  if (!failure_.ok()) return;
  failure_ = status;
  epochs_.Cancel(clock_.Now(),
                 MakeStatus(absl::StatusCode::kUnavailable, "the store cannot be written: {}",
                            std::string(status.message())));
  board_.NoteFailure(status);
  observer_.OnFailure(index_, status);
}

}  // namespace freshet
