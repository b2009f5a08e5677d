#include "server/frontier/frontier.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "server/base/countdown.h"
#include "server/base/frontier_limits.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// How long a URL may wait that was accepted above the limit of waiting URLs. It is then refused.
constexpr Duration kPatience = Duration::Seconds(2);
// The pause after a failed attempt to correct times that a clock that ran ahead has left behind.
constexpr Duration kMendPause = Duration::Seconds(10);
// While there are queues without URLs, this many queues are checked between two pauses.
constexpr size_t kSweptAtOnce = 2048;
constexpr Duration kSweepPause = Duration::Seconds(1);
// The longest sleep of the idle thread.
constexpr Duration kLongestWait = Duration::Seconds(60);
// The highest cost of one part of a put. A client may put more URLs at once than one commit takes.
// The put is then split, and calls of other clients are served between its parts.
constexpr size_t kPartOfPut = limits::kLeastUrlsPerTurn / 2;

// One put that was split into parts. Each part writes its outcomes, and the last part calls `done`.
struct PartedPut {
  PartedPut(size_t parts, size_t puts, Frontier::PutDone tell)
      : left(parts), outcomes(puts), done(std::move(tell)) {}
  Countdown left;
  std::vector<FrontierOutcome> outcomes;
  Frontier::PutDone done;
};

size_t BytesOf(const FrontierPut& put) {
  return put.key.size() + put.url.size() + put.metadata.size();
}

ptrdiff_t Offset(size_t place) { return static_cast<ptrdiff_t>(place); }

struct PartOfPut {
  size_t end = 0;  // index of the first put after the part
  size_t cost = 0;
};

// Splits puts into parts. Returns the parts in order, at least one.
std::vector<PartOfPut> PartsOf(const std::vector<FrontierPut>& puts) {
  std::vector<PartOfPut> parts;
  size_t count = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < puts.size(); ++i) {
    const size_t more = BytesOf(puts[i]);
    if (count > 0 && CostOf(count + 1, bytes + more) > kPartOfPut) {
      parts.push_back({.end = i, .cost = CostOf(count, bytes)});
      count = bytes = 0;
    }
    ++count;
    bytes += more;
  }
  parts.push_back({.end = puts.size(), .cost = CostOf(count, bytes)});
  return parts;
}

}  // namespace

StatusOr<std::unique_ptr<Frontier>> Frontier::Open(Store& store, const FrontierLimits& limits,
                                                   Clock& clock) {
  std::unique_ptr<Frontier> frontier(new Frontier(store, limits, clock));
  frontier->state_.SetNow(frontier->NowSeconds());
  RETURN_IF_ERROR(frontier->state_.Load());
  if (const uint64_t ahead = frontier->state_.mend().ahead(); ahead > 0) {
    Logger(LogModule::kFrontier)
        .warn(
            "frontier: it has times that are later than the clock shows, by up to {} s, {} queues "
            "among them: the clock ran ahead. They count as of this start, and URLs that were put "
            "meanwhile are due now",
            ahead, frontier->state_.mend().queues());
  }
  frontier->Publish();
  return frontier;
}

void Frontier::Start(std::function<void(const Status&)> on_failure) {
  CHECK(!thread_.joinable(), "started already");
  on_failure_ = std::move(on_failure);
  thread_ = std::thread([this] { Loop(); });
}

Frontier::Frontier(Store& store, const FrontierLimits& limits, Clock& clock)
    : store_(store),
      clock_(clock),
      mailbox_({.weight = limits::kMaxWaitingUrls,
                .hard_weight = 2 * limits::kMaxWaitingUrls,
                .patience = kPatience}),
      state_(store_, limits) {}

Frontier::~Frontier() { Stop(); }

Status Frontier::Stopped() {
  return MakeStatus(absl::StatusCode::kUnavailable, "the server is shutting down");
}

uint64_t Frontier::NowSeconds() const {
  return static_cast<uint64_t>(clock_.Now().micros() / 1'000'000);
}

// --- Calls

bool Frontier::Put(std::vector<FrontierPut> puts, PutDone done) {
  const std::vector<PartOfPut> parts = PartsOf(puts);
  if (parts.size() == 1) return PutPart(std::move(puts), parts.front().cost, std::move(done));
  const auto whole = std::make_shared<PartedPut>(parts.size(), puts.size(), std::move(done));
  bool go_on = true;
  size_t first = 0;
  for (const auto& [end, cost] : parts) {
    std::vector<FrontierPut> part(std::make_move_iterator(puts.begin() + Offset(first)),
                                  std::make_move_iterator(puts.begin() + Offset(end)));
    const auto taken = [whole, first](const std::vector<FrontierOutcome>& outcomes) {
      std::copy(outcomes.begin(), outcomes.end(), whole->outcomes.begin() + Offset(first));
      if (whole->left.Arrive()) whole->done(whole->outcomes);
    };
    go_on &= PutPart(std::move(part), cost, taken);
    first = end;
  }
  return go_on;
}

bool Frontier::PutPart(std::vector<FrontierPut> puts, size_t cost, PutDone done) {
  const size_t count = puts.size();
  const uint64_t client = puts.empty() ? 0 : puts.front().claim.client;
  Op op = PutOp{.puts = std::move(puts), .done = std::move(done)};
  const PushOutcome outcome =
      mailbox_.Push(std::move(op), std::max<size_t>(count, 1), clock_.Now(), client, cost);
  if (outcome == PushOutcome::kTaken) return true;
  if (outcome == PushOutcome::kTakenOver) return false;
  std::get<PutOp>(op).done(std::vector<FrontierOutcome>(count, FrontierOutcome::kFailed));
  return false;
}

void Frontier::Pull(std::shared_ptr<FrontierPull> pull, size_t most, PullDone done) {
  const uint64_t client = pull->taker.client;
  Op op = PullOp{.pull = std::move(pull), .most = most, .done = std::move(done)};
  if (mailbox_.PushAlways(std::move(op), client, most) == PushOutcome::kTaken) return;
  auto& refused = std::get<PullOp>(op);
  refused.pull->over = true;
  refused.done({});
}

void Frontier::GiveBack(std::vector<FrontierServed> served, uint64_t client) {
  const size_t cost = served.size();
  auto shared = std::make_shared<std::vector<FrontierServed>>(std::move(served));
  // If the frontier is stopped, the URLs stay leased until their leases end.
  Change change = [shared](FrontierState& state) -> Answer {
    state.GiveBack(*shared);
    return [](const Status&) {};
  };
  (void)Post(std::move(change), client, cost);
}

bool Frontier::Post(Op op, uint64_t client, size_t cost) {
  return mailbox_.PushAlways(std::move(op), client, cost) == PushOutcome::kTaken;
}

FrontierStatus Frontier::status() const {
  FrontierStatus status;
  {
    const MutexLock lock(mutex_);
    status = status_;
  }
  status.waiting_urls = mailbox_.weight();
  status.store = store_.Stats();
  return status;
}

void Frontier::Stop() {
  mailbox_.Close();
  if (thread_.joinable()) thread_.join();
}

// --- The frontier's thread

void Frontier::Loop() {
  while (true) {
    const uint64_t expiry = NextExpiry();
    const Instant now = clock_.Now();
    Duration wait = kLongestWait;
    if (expiry < static_cast<uint64_t>(now.micros() / 1'000'000) + 60) {
      wait = Instant::FromUnixSeconds(static_cast<int64_t>(expiry)) - now;
    }
    if (state_.mend().ahead() > 0)
      wait = std::min(wait, Duration::Seconds(now < mend_from_ ? 1 : 0));
    if (HasEmptyQueues()) wait = std::min(wait, std::max(sweep_from_ - now, Duration()));
    if (tends_) wait = Duration();
    if (mailbox_.empty() && wait > Duration()) mailbox_.Wait(wait);
    const bool closed = mailbox_.closed();
    std::vector<Op> ops;
    std::vector<Op> late;
    const size_t cost = mailbox_.Drain(turn_size_.events(), clock_.Now(), &ops, &late);
    for (Op& op : late) {
      auto& put = std::get<PutOp>(op);
      put.done(std::vector<FrontierOutcome>(put.puts.size(), FrontierOutcome::kFailed));
    }
    const Duration start = ThreadCpuTime();
    Turn(std::move(ops));
    turn_size_.Took(cost, ThreadCpuTime() - start);
    Tend();
    if (closed && mailbox_.empty()) return;
  }
}

void Frontier::Turn(std::vector<Op> ops) {
  state_.SetNow(NowSeconds());
  if (NextExpiry() <= NowSeconds()) {
    // Expiry needs a separate commit before the pulls, because pulls read the store.
    state_.Expire(turn_size_.events());
    if (!Settle().ok()) expire_from_ = NowSeconds() + 1;
  }
  Mend();
  Sweep();
  if (ops.empty()) return Publish();
  // Reads run before any change is staged, so they see only durable state and do not fail with the
  // commit.
  for (Op& op : ops) {
    if (auto* reading = std::get_if<Reading>(&op)) (*reading)(state_);
  }
  std::vector<Answer> answers;
  ServePulls(ops, &answers);
  StagePuts(ops, &answers);
  for (Op& op : ops) {
    if (auto* change = std::get_if<Change>(&op)) answers.push_back((*change)(state_));
  }
  const Status committed = Settle();
  Publish();
  for (const Answer& answer : answers) answer(committed);
}

void Frontier::Mend() {
  if (state_.mend().ahead() == 0 || clock_.Now() < mend_from_) return;
  // Like expiry, this needs a separate commit.
  const Status status = state_.mend().Mend(limits::kMaxUrlsPerCommit);
  if (!status.ok()) {
    state_.Discard();
    Logger(LogModule::kFrontier)
        .error("frontier: what a clock that ran ahead has left behind stays: {}",
               status.ToString());
  }
  if (!status.ok() || !Settle().ok()) mend_from_ = clock_.Now() + kMendPause;
}

bool Frontier::HasEmptyQueues() const {
  const FrontierCounts& counts = state_.table().counts();
  return counts.kept_queues > counts.queues;
}

void Frontier::Sweep() {
  const Instant now = clock_.Now();
  // The second condition lets the sweep continue if the clock was set back.
  const bool rests = now < sweep_from_ && sweep_from_ <= now + kSweepPause;
  if (!HasEmptyQueues() || rests) return;
  sweep_from_ = now + kSweepPause;
  state_.mend().Sweep(kSweptAtOnce);
  (void)Settle();
}

void Frontier::Tend() {
  tends_ = failure_.ok();
  if (!tends_) return;
  const StatusOr<bool> more = state_.Tend();
  if (more.ok()) {
    tends_ = *more;
  } else {
    Logger(LogModule::kFrontier)
        .error("frontier: what a queue has cannot be read: {}", more.status().ToString());
  }
  // Tend stages nothing that is written. Settle only ends the turn.
  (void)Settle();
}

void Frontier::ServePulls(std::vector<Op>& ops, std::vector<Answer>* answers) {
  for (Op& op : ops) {
    auto* pull = std::get_if<PullOp>(&op);
    if (pull == nullptr) continue;
    auto served = std::make_shared<std::vector<FrontierServed>>();
    const Status status = state_.Pull(pull->pull.get(), pull->most, served.get());
    if (!status.ok()) {
      Logger(LogModule::kFrontier).error("frontier: no URLs are handed out: {}", status.ToString());
      pull->pull->over = true;
    }
    answers->push_back([served, op = std::move(*pull)](const Status& committed) {
      if (!committed.ok()) {
        op.pull->over = true;
        served->clear();
      }
      op.done(std::move(*served));
    });
  }
}

void Frontier::StagePuts(std::vector<Op>& ops, std::vector<Answer>* answers) {
  // All puts are staged together, so that one read of the store finds their URLs.
  std::vector<FrontierPut> puts;
  for (Op& op : ops) {
    auto* put = std::get_if<PutOp>(&op);
    if (put == nullptr) continue;
    std::move(put->puts.begin(), put->puts.end(), std::back_inserter(puts));
  }
  std::vector<FrontierOutcome> outcomes;
  if (!puts.empty()) outcomes = state_.Put(puts);
  size_t at = 0;
  for (Op& op : ops) {
    auto* put = std::get_if<PutOp>(&op);
    if (put == nullptr) continue;
    const size_t end = at + put->puts.size();
    std::vector<FrontierOutcome> own(outcomes.begin() + static_cast<ptrdiff_t>(at),
                                     outcomes.begin() + static_cast<ptrdiff_t>(end));
    at = end;
    answers->push_back(
        [own = std::move(own), done = std::move(put->done)](const Status& committed) mutable {
          if (!committed.ok()) std::fill(own.begin(), own.end(), FrontierOutcome::kFailed);
          done(own);
        });
  }
}

Status Frontier::Settle() {
  if (!failure_.ok()) {
    state_.Discard();
    return failure_;
  }
  const Status status = state_.Commit();
  if (status.ok() || absl::IsResourceExhausted(status)) return status;
  failure_ = status;
  Logger(LogModule::kFrontier)
      .critical("frontier: takes no changes any more: {}", failure_.ToString());
  on_failure_(failure_);
  return failure_;
}

void Frontier::Publish() {
  FrontierStatus status;
  status.totals = state_.totals();
  status.counts = state_.table().counts();
  status.crawls = state_.table().crawls().size();
  status.active = state_.settings().active;
  status.health = failure_;
  const MutexLock lock(mutex_);
  status_ = std::move(status);
}

}  // namespace freshet
