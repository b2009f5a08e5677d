// Calls about one host, some pages, or the crawl rate, that the server of another division answers.
#ifndef FRESHET_SERVER_API_ELSEWHERE_H_
#define FRESHET_SERVER_API_ELSEWHERE_H_

#include <memory>
#include <utility>

#include "core/base/units.h"
#include "server/api/context.h"
#include "server/api/divisions.h"
#include "server/api/faults.h"
#include "server/api/rate_sharing.h"
#include "server/api/unary.h"
#include "server/api/wire.h"

namespace freshet {

// Answers the call as the server of that division does.
template <typename Request, typename Response>
void AnswerElsewhere(const ServerContext& context, uint32_t division,
                     UnaryCall<Request, Response>* call) {
  const std::unique_ptr<DivisionCall> there =
      context.divisions->Open(division, call->path(), call->shown());
  there->Send(SerialiseMessage(call->request()), [call](StatusOr<grpc::ByteBuffer> answer) {
    if (!answer.ok()) return call->Answer(GrpcStatusOf(answer.status()));
    call->Answer(grpc::SerializationTraits<Response>::Deserialize(&*answer, call->response()));
  });
}

// Whether the call is about a slot that this server has not: then it is answered as the server does
// that has it, or FAILED_PRECONDITION where that cannot be asked. Thread-safe.
template <typename Request, typename Response>
bool AnsweredElsewhere(const ServerContext& context, Slot slot,
                       UnaryCall<Request, Response>* call) {
  const Status its = context.router.CheckDivision(slot);
  if (its.ok()) return false;
  if (context.divisions == nullptr || call->shown().sent_on) {
    call->Answer(GrpcStatusOf(its));
  } else {
    AnswerElsewhere(context, context.router.division().Of(slot), call);
  }
  return true;
}

// Likewise for what is about the crawl rate of a fleet, which another server keeps.
template <typename Request, typename Response>
bool AnsweredByKeeper(const ServerContext& context, UnaryCall<Request, Response>* call) {
  constexpr uint32_t kKeeper = RateSharing::kKeeper;
  if (context.rates == nullptr || context.router.division().division == kKeeper) return false;
  if (call->shown().sent_on) {
    call->Answer({grpc::StatusCode::FAILED_PRECONDITION, "this server does not keep the rate"});
  } else {
    AnswerElsewhere(context, kKeeper, call);
  }
  return true;
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_ELSEWHERE_H_
