#include "server/frontier/frontier.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "server/base/frontier_limits.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// How long a URL over the bound may wait before it is refused.
constexpr Duration kPatience = Duration::Seconds(2);
// After it could not mend what a clock that ran ahead has left behind.
constexpr Duration kMendPause = Duration::Seconds(10);
// Without anything to do the thread looks up this often.
constexpr Duration kLongestWait = Duration::Seconds(60);

}  // namespace

StatusOr<std::unique_ptr<Frontier>> Frontier::Open(const std::string& dir,
                                                   const StoreOptions& options,
                                                   const FrontierLimits& limits, Clock& clock) {
  ASSIGN_OR_RETURN(auto store, FrontierStore::Open(dir, options));
  return Load(std::move(store), limits, clock);
}

StatusOr<std::unique_ptr<Frontier>> Frontier::OpenWithin(Store& cache, const FrontierLimits& limits,
                                                         Clock& clock) {
  ASSIGN_OR_RETURN(auto store, FrontierStore::OpenWithin(cache));
  return Load(std::move(store), limits, clock);
}

StatusOr<std::unique_ptr<Frontier>> Frontier::Load(std::unique_ptr<FrontierStore> store,
                                                   const FrontierLimits& limits, Clock& clock) {
  std::unique_ptr<Frontier> frontier(new Frontier(std::move(store), limits, clock));
  frontier->state_.SetNow(frontier->NowSeconds());
  RETURN_IF_ERROR(frontier->state_.Load());
  if (const uint64_t ahead = frontier->state_.ahead(); ahead > 0) {
    Logger(LogModule::kFrontier)
        .warn(
            "frontier: it has times that are later than the clock shows, by up to {} s, {} queues "
            "among them: the clock ran ahead. They count as of this start, and URLs that were put "
            "meanwhile are due now",
            ahead, frontier->state_.queues_ahead());
  }
  frontier->Publish();
  return frontier;
}

void Frontier::Start(std::function<void(const Status&)> on_failure) {
  CHECK(!thread_.joinable(), "started already");
  on_failure_ = std::move(on_failure);
  thread_ = std::thread([this] { Loop(); });
}

Frontier::Frontier(std::unique_ptr<FrontierStore> store, const FrontierLimits& limits, Clock& clock)
    : store_(std::move(store)),
      clock_(clock),
      mailbox_({.weight = limits::kMaxWaitingUrls,
                .hard_weight = 2 * limits::kMaxWaitingUrls,
                .patience = kPatience}),
      state_(*store_, limits) {}

Frontier::~Frontier() { (void)Close(); }

Status Frontier::Stopped() {
  return MakeStatus(absl::StatusCode::kUnavailable, "the server is shutting down");
}

uint64_t Frontier::NowSeconds() const {
  return static_cast<uint64_t>(clock_.Now().micros() / 1'000'000);
}

// --- Calls

bool Frontier::Put(std::vector<FrontierPut> puts, PutDone done) {
  const size_t count = puts.size();
  const uint64_t client = puts.empty() ? 0 : puts.front().claim.client;
  size_t bytes = 0;
  for (const FrontierPut& put : puts) {
    bytes += put.key.size() + put.url.size() + put.metadata.size();
  }
  Op op = PutOp{.puts = std::move(puts), .done = std::move(done)};
  const PushOutcome outcome = mailbox_.Push(std::move(op), std::max<size_t>(count, 1), clock_.Now(),
                                            client, CostOf(count, bytes));
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

void Frontier::GiveBack(std::vector<FrontierServed> served) {
  auto shared = std::make_shared<std::vector<FrontierServed>>(std::move(served));
  // Where it has stopped they stay in flight until their leases are over.
  (void)Post(Change([shared](FrontierState& state) -> Answer {
    state.GiveBack(*shared);
    return [](const Status&) {};
  }));
}

bool Frontier::Post(Op op) { return mailbox_.PushAlways(std::move(op)) == PushOutcome::kTaken; }

FrontierStatus Frontier::status() const {
  FrontierStatus status;
  {
    const MutexLock lock(mutex_);
    status = status_;
  }
  status.waiting_urls = mailbox_.weight();
  status.store = store_->Stats();
  return status;
}

void Frontier::Stop() {
  mailbox_.Close();
  if (thread_.joinable()) thread_.join();
}

Status Frontier::Close() {
  Stop();
  return store_->Close();
}

// --- Its thread

void Frontier::Loop() {
  while (true) {
    const uint64_t expiry = NextExpiry();
    const Instant now = clock_.Now();
    Duration wait = kLongestWait;
    if (expiry < static_cast<uint64_t>(now.micros() / 1'000'000) + 60) {
      wait = Instant::FromUnixSeconds(static_cast<int64_t>(expiry)) - now;
    }
    if (state_.ahead() > 0) wait = std::min(wait, Duration::Seconds(now < mend_from_ ? 1 : 0));
    if (mailbox_.empty() && wait > Duration()) mailbox_.Wait(wait);
    const bool closed = mailbox_.closed();
    std::vector<Op> ops;
    std::vector<Op> late;
    mailbox_.Drain(limits::kMaxUrlsPerCommit, clock_.Now(), &ops, &late);
    for (Op& op : late) {
      auto& put = std::get<PutOp>(op);
      put.done(std::vector<FrontierOutcome>(put.puts.size(), FrontierOutcome::kFailed));
    }
    Turn(std::move(ops));
    if (closed && mailbox_.empty()) return;
  }
}

void Frontier::Turn(std::vector<Op> ops) {
  state_.SetNow(NowSeconds());
  if (NextExpiry() <= NowSeconds()) {
    // By itself: what is given out next is read from the store.
    state_.Expire(limits::kMaxUrlsPerCommit);
    if (!Settle().ok()) expire_from_ = NowSeconds() + 1;
  }
  Mend();
  if (ops.empty()) return Publish();
  // What they see is to be durable, and they are not to be refused with what others change.
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
  if (state_.ahead() == 0 || clock_.Now() < mend_from_) return;
  // By itself, as what expires.
  const Status status = state_.MendAhead(limits::kMaxUrlsPerCommit);
  if (!status.ok()) {
    state_.Discard();
    Logger(LogModule::kFrontier)
        .error("frontier: what a clock that ran ahead has left behind stays: {}",
               status.ToString());
  }
  if (!status.ok() || !Settle().ok()) mend_from_ = clock_.Now() + kMendPause;
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
  // All at once, so that they are looked up by one read.
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
  status.active = state_.active();
  status.health = failure_;
  const MutexLock lock(mutex_);
  status_ = std::move(status);
}

}  // namespace freshet
