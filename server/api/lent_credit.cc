#include "server/api/lent_credit.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/limits.h"
#include "server/api/lease_returns.h"
#include "server/api/to_proto.h"
#include "server/api/wire.h"

namespace freshet {
namespace {

constexpr std::string_view kNextPath = "/freshet.v1.SchedulerService/Next";
constexpr std::chrono::milliseconds kLookInterval{500};

std::vector<LeaseId> LeasesOf(const v1::NextResponse& response) {
  std::vector<LeaseId> leases;
  for (const v1::Assignment& assignment : response.assignments()) {
    leases.emplace_back(assignment.lease_id());
  }
  return leases;
}

}  // namespace

LentCredit::LentCredit(const ServerContext& context, ShownByClient client, v1::NextRequest terms,
                       WorkerId worker, Deliver deliver)
    : context_(context),
      client_(std::move(client)),
      terms_(std::move(terms)),
      worker_(worker),
      deliver_(std::move(deliver)),
      served_(context.clock.Now()) {
  const SlotDivision own = context.router.division();
  for (uint32_t division = 0; division < own.divisions; ++division) {
    if (division != own.division) debtors_.push_back({.division = division});
  }
  // Workers do not all begin with the same.
  in_turn_ = worker % debtors_.size();
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
  std::vector<Call> calls;
  const uint64_t free = context_.dispatcher.FreeCredit(worker_);
  uint64_t lent = 0;
  for (const Debtor& debtor : debtors_) lent += debtor.lent;
  const uint64_t share = (free + lent) / (debtors_.size() + 1);
  if (share == 0) {
    if (const std::optional<Call> call = WholeCredit(free, now)) calls.push_back(*call);
    return calls;
  }
  for (size_t i = 0; i < debtors_.size(); ++i) {
    Debtor& debtor = debtors_[i];
    if (debtor.asked || debtor.rests_until > now) continue;
    const uint64_t most = std::min<uint64_t>(share, limits::kMaxAssignmentsPerNext);
    const uint64_t credit = context_.dispatcher.TakeCredit(worker_, most);
    if (credit == 0) break;
    debtor.asked = true;
    debtor.lent = credit;
    calls.push_back({.debtor = i, .credit = credit, .wait = kLentFor});
  }
  return calls;
}

std::optional<LentCredit::Call> LentCredit::WholeCredit(uint64_t free, Instant now) {
  const bool any_out = std::any_of(debtors_.begin(), debtors_.end(),
                                   [](const Debtor& debtor) { return debtor.asked; });
  if (free == 0 || any_out || now - served_ < kIdle) return std::nullopt;
  Debtor& debtor = debtors_[in_turn_];
  if (debtor.rests_until > now) {
    in_turn_ = (in_turn_ + 1) % debtors_.size();
    return std::nullopt;
  }
  const uint64_t credit = context_.dispatcher.TakeCredit(worker_, free);
  if (credit == 0) return std::nullopt;
  debtor.asked = true;
  debtor.lent = credit;
  return Call{.debtor = in_turn_, .credit = credit, .wait = kIdle};
}

void LentCredit::Make(const Call& call) {
  v1::NextRequest request = terms_;
  request.set_max_assignments(static_cast<uint32_t>(call.credit));
  ToProto(call.wait, request.mutable_max_wait());
  uint32_t division = 0;
  {
    const MutexLock lock(mutex_);
    division = debtors_[call.debtor].division;
  }
  context_.divisions->Open(division, kNextPath, client_)
      ->Send(SerialiseMessage(request),
             [self = shared_from_this(), debtor = call.debtor](
                 const StatusOr<grpc::ByteBuffer>& answer) { self->OnAnswer(debtor, answer); });
}

void LentCredit::OnAnswer(size_t debtor, const StatusOr<grpc::ByteBuffer>& answer) {
  const StatusOr<v1::NextResponse> response = ResponseIn<v1::NextResponse>(answer);
  const bool failed = !response.ok() || response->has_retry_after();
  const uint64_t came = response.ok() ? static_cast<uint64_t>(response->assignments_size()) : 0;
  uint64_t back = 0;
  uint32_t division = 0;
  bool recalled = false;
  {
    const MutexLock lock(mutex_);
    Debtor& its = debtors_[debtor];
    division = its.division;
    recalled = recalled_;
    its.asked = false;
    back = std::exchange(its.lent, 0);
    back -= std::min(back, came);
    const Instant now = context_.clock.Now();
    if (failed && came == 0) its.rests_until = now + kRest;
    if (came == 0 && debtor == in_turn_) {
      // Its own server comes next, and then another one.
      in_turn_ = (in_turn_ + 1) % debtors_.size();
      served_ = now;
    }
  }
  if (recalled) {
    if (came > 0) ReturnElsewhere(context_, division, client_, LeasesOf(*response));
    return;
  }
  if (came > 0) deliver_(division, *response);
  if (back > 0) context_.dispatcher.Grant(worker_, back);
  Lend();
}

void LentCredit::OnServed() {
  const MutexLock lock(mutex_);
  served_ = context_.clock.Now();
}

void LentCredit::Recall() {
  uint64_t back = 0;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(recalled_, true)) return;
    for (Debtor& debtor : debtors_) back += std::exchange(debtor.lent, 0);
  }
  if (back > 0) context_.dispatcher.Grant(worker_, back);
}

}  // namespace freshet
