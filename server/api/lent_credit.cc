#include "server/api/lent_credit.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/api/lease_returns.h"
#include "server/api/scheduler_service.h"
#include "server/api/to_proto.h"
#include "server/api/wire.h"
#include "server/base/limits.h"
#include "server/engine/dispatcher.h"

namespace freshet {
namespace {

constexpr std::chrono::milliseconds kLookInterval{500};

}  // namespace

LentCredit::LentCredit(const ServerContext& context, ShownByClient client, v1::NextRequest terms,
                       Lender lender, Deliver deliver)
    : context_(context),
      client_(std::move(client)),
      terms_(std::move(terms)),
      lender_(std::move(lender)),
      deliver_(std::move(deliver)),
      random_(lender_.worker) {
  const SlotDivision own = context.router.division();
  for (uint32_t division = 0; division < own.divisions; ++division) {
    if (division != own.division) debtors_.push_back({.division = division});
  }
}

void LentCredit::Start() { LookAgain(); }

void LentCredit::LookAgain() {
  alarm_.Set(std::chrono::system_clock::now() + kLookInterval, [weak = weak_from_this()](bool due) {
    const std::shared_ptr<LentCredit> self = due ? weak.lock() : nullptr;
    if (self == nullptr) return;
    {
      const MutexLock lock(self->mutex_);
      if (self->recalled_) return;
    }
    self->Lend();
    self->LookAgain();
  });
}

void LentCredit::Lend() {
  std::vector<Call> calls;
  {
    const MutexLock lock(mutex_);
    if (recalled_) return;
    calls = NextCalls(context_.clock.Now());
  }
  for (const Call& call : calls) Make(call);
}

std::vector<LentCredit::Call> LentCredit::NextCalls(Instant now) {
  ForgetLate(now);
  std::vector<Call> calls;
  const uint64_t free = context_.dispatcher.FreeCredit(lender_.worker);
  uint64_t lent = 0;
  for (const Debtor& debtor : debtors_) lent += debtor.lent;
  const uint64_t share = (free + lent) / (debtors_.size() + 1);
  if (share == 0) {
    if (const std::optional<Call> call = WholeCredit(free, now)) calls.push_back(*call);
    return calls;
  }
  for (size_t i = 0; i < debtors_.size(); ++i) {
    const std::optional<Call> call = LendTo(i, share, kLentFor, now);
    if (call) calls.push_back(*call);
  }
  return calls;
}

std::optional<LentCredit::Call> LentCredit::LendTo(size_t debtor, uint64_t most, Duration wait,
                                                   Instant now) {
  Debtor& its = debtors_[debtor];
  if (its.asked || its.rests_until > now) return std::nullopt;
  std::optional<Places::Place> place = context_.lendings.Take(lender_.client, lender_.admin);
  if (!place) return std::nullopt;
  const uint64_t credit = context_.dispatcher.TakeCredit(
      lender_.worker, std::min<uint64_t>(most, limits::kMaxAssignmentsPerNext));
  if (credit == 0) return std::nullopt;
  its.place.emplace(*std::move(place));
  its.asked = true;
  its.late = false;
  its.lent = credit;
  its.answers_until = now + wait + kRest;
  return Call{.debtor = debtor, .division = its.division, .credit = credit, .wait = wait};
}

void LentCredit::ForgetLate(Instant now) {
  for (Debtor& debtor : debtors_) {
    if (!debtor.asked || debtor.late || now < debtor.answers_until) continue;
    debtor.late = true;
    context_.dispatcher.Grant(lender_.worker, std::exchange(debtor.lent, 0));
  }
}

std::optional<LentCredit::Call> LentCredit::WholeCredit(uint64_t free, Instant now) {
  if (free == 0) {
    idle_since_.reset();
    return std::nullopt;
  }
  if (!idle_since_) idle_since_ = now;
  const bool idle = now - *idle_since_ >= kIdle;
  std::vector<size_t> candidates;
  for (size_t i = 0; i < debtors_.size(); ++i) {
    const Debtor& its = debtors_[i];
    if (its.asked || its.rests_until > now) continue;
    if (idle || its.gives || its.try_after <= now) candidates.push_back(i);
  }
  // Unless it is idle, the worker's own server takes part in the draw, too. If it wins, the credit
  // stays there.
  if (candidates.empty()) return std::nullopt;
  const uint64_t chance = random_.Below(candidates.size() + (idle ? 0 : 1));
  if (chance == candidates.size()) return std::nullopt;
  const size_t chosen = candidates[chance];
  const bool tried = debtors_[chosen].gives || idle;
  const std::optional<Call> call = LendTo(chosen, free, tried ? kIdle : kTryFor, now);
  if (call) idle_since_.reset();
  return call;
}

void LentCredit::Make(const Call& call) {
  v1::NextRequest request = terms_;
  request.set_max_assignments(static_cast<uint32_t>(call.credit));
  ToProto(call.wait, request.mutable_max_wait());
  context_.divisions->Open(call.division, kNextPath, client_)
      ->Send(SerialiseMessage(request),
             [self = shared_from_this(), debtor = call.debtor](
                 const StatusOr<grpc::ByteBuffer>& answer) { self->OnAnswer(debtor, answer); });
}

void LentCredit::OnAnswer(size_t debtor, const StatusOr<grpc::ByteBuffer>& answer) {
  const StatusOr<v1::NextResponse> response = ResponseIn<v1::NextResponse>(answer);
  const bool failed = !response.ok() || response->has_retry_after();
  const uint64_t came = response.ok() ? static_cast<uint64_t>(response->assignments_size()) : 0;
  uint32_t division = 0;
  bool void_now = false;
  {
    const MutexLock lock(mutex_);
    Debtor& its = debtors_[debtor];
    its.place.reset();
    division = its.division;
    void_now = recalled_ || its.late;
    its.asked = false;
    const uint64_t lent = std::exchange(its.lent, 0);
    if (lent > came) context_.dispatcher.Grant(lender_.worker, lent - came);
    its.gives = came > 0;
    const Instant now = context_.clock.Now();
    if (came == 0) its.try_after = now + kTryAfter;
    if (came == 0 && failed) its.rests_until = now + kRest;
  }
  if (void_now) {
    if (came > 0) ReturnElsewhere(context_, division, client_, LeasesIn(*response));
  } else if (came > 0) {
    deliver_(division, *response);
  }
  Lend();
}

void LentCredit::OnServed() {
  const MutexLock lock(mutex_);
  idle_since_.reset();
}

void LentCredit::Recall() {
  const MutexLock lock(mutex_);
  if (std::exchange(recalled_, true)) return;
  uint64_t back = 0;
  for (Debtor& debtor : debtors_) back += std::exchange(debtor.lent, 0);
  if (back > 0) context_.dispatcher.Grant(lender_.worker, back);
}

}  // namespace freshet
