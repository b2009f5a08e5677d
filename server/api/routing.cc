#include "server/api/routing.h"

#include <functional>
#include <memory>
#include <string>

#include "core/base/check.h"
#include "core/base/url.h"
#include "fmt/format.h"
#include "server/api/divisions.h"
#include "server/api/faults.h"
#include "server/api/fleet_sums.h"
#include "server/api/from_proto.h"
#include "server/api/over_divisions.h"
#include "server/api/settings_sharing.h"
#include "server/api/unary.h"
#include "server/api/wire.h"
#include "server/auth/methods.h"
#include "server/engine/router.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

using google::protobuf::Message;
using OthersEnds = std::vector<std::pair<uint32_t, Status>>;

// Runs the handler on the thread that received another server's answer.
void HandleLater(UnaryReactor* call) {
  // The call might end before the handler returns. `held` then keeps it alive.
  const std::shared_ptr<CallReactor> held = call->shared_from_this();
  const ScopedRequestId scope(call->request_id());
  call->Handle();
}

// --- One server

void AnswerElsewhere(const ServerContext& context, uint32_t division, UnaryReactor* call) {
  context.divisions->Open(division, call->path(), call->shown())
      ->Send(SerialiseMessage(call->AnyRequest()),
             [call](const StatusOr<grpc::ByteBuffer>& answer) {
               call->Answer(GrpcStatusOf(ReadAnswer(answer, &call->AnyResponse())));
             });
}

void HandleByHost(const ServerContext& context, UnaryReactor* call) {
  const std::optional<Slot> slot = SlotNamedIn(call->AnyRequest());
  // If the request has no valid host, the handler refuses it.
  const Status own = slot ? context.router.CheckDivision(*slot) : absl::OkStatus();
  if (own.ok()) return call->Handle();
  if (!SpansFleet(context, call->shown())) return call->Answer(GrpcStatusOf(own));
  AnswerElsewhere(context, context.router.division().Of(*slot), call);
}

void HandleAtKeeper(const ServerContext& context, UnaryReactor* call) {
  if (context.divisions == nullptr || context.router.division().keeps()) return call->Handle();
  if (!call->shown().sent_on) return AnswerElsewhere(context, SlotDivision::kKeeper, call);
  call->Answer({grpc::StatusCode::FAILED_PRECONDITION, "this server does not keep the rate"});
}

// --- All servers

// Adds the answers of the other divisions to the response, and returns the status of the call.
// NotFound is not a failure, because another division may know what the call names.
grpc::Status SumUp(const grpc::Status& own, const DivisionAnswers& answers, UnaryReactor* call) {
  if (!own.ok() && own.error_code() != grpc::StatusCode::NOT_FOUND) return own;
  bool found = own.ok();
  Status missing;
  for (const DivisionAnswer& its : answers) {
    const Status status = call->AddAnswer(its.answer);
    if (status.ok()) {
      found = true;
    } else if (!absl::IsNotFound(status)) {
      missing = StatusOfDivision(its.division, status);
      AddUnanswered(its.division, status, &call->AnyResponse());
    }
  }
  if (found) return grpc::Status::OK;
  return missing.ok() ? own
                      : grpc::Status(grpc::StatusCode::UNAVAILABLE, std::string(missing.message()));
}

// The other servers answer first. So DrainNode is answered before it ends this server.
void HandleInAll(const ServerContext& context, UnaryReactor* call) {
  if (!SpansFleet(context, call->shown())) return call->Handle();
  if (!call->TakePlace()) return call->Answer(UnreadStatus(PushOutcome::kFull));
  AskOtherDivisions(context, call->path(), call->shown(), SerialiseMessage(call->AnyRequest()),
                    kFleetViewPatience, [call](DivisionAnswers answers) {
                      call->SetLast([call, answers = std::move(answers)](const grpc::Status& own) {
                        call->Answer(SumUp(own, answers, call));
                      });
                      HandleLater(call);
                    });
}

// After the call has ended with `own` here, makes all other servers run it. Then calls `last`
// (nullptr = none), and answers.
void FinishInOthers(const ServerContext& context, UnaryReactor* call, const grpc::Status& own,
                    std::function<void()> last) {
  if (!own.ok() && own.error_code() != grpc::StatusCode::NOT_FOUND) return call->Answer(own);
  if (own.ok()) call->NoteChange();
  AskOtherDivisions(context, call->path(), call->shown(), SerialiseMessage(call->AnyRequest()), {},
                    [call, own, last = std::move(last)](const DivisionAnswers& answers) {
                      OthersEnds others;
                      for (const DivisionAnswer& its : answers) {
                        others.emplace_back(its.division, call->AddAnswer(its.answer));
                      }
                      if (last) last();
                      call->Answer(EndOfAll(own, others));
                    });
}

void DoInAll(const ServerContext& context, UnaryReactor* call) {
  if (SpansFleet(context, call->shown())) {
    call->SetLast(
        [&context, call](const grpc::Status& own) { FinishInOthers(context, call, own, nullptr); });
  }
  call->Handle();
}

// --- Settings, which change in the same order in a whole fleet (SettingsSharing)

// If the response shows counts of a source or crawl id, adds those of the other divisions
// (ListingOf). Then answers.
void AnswerWithOthers(const ServerContext& context, UnaryReactor* call) {
  const std::optional<Listing> listing = ListingOf(&call->AnyResponse());
  if (!listing) return call->Answer(grpc::Status::OK);
  AskOtherDivisions(context, listing->path, call->shown(), listing->request, kFleetViewPatience,
                    [call, add = listing->add](const DivisionAnswers& answers) {
                      for (const DivisionAnswer& its : answers) add(its.answer);
                      call->Answer(grpc::Status::OK);
                    });
}

// Ends a call that has changed a setting on the keeper. If the change succeeded, waits until all
// other divisions have the new setting.
void HaveOthersFollow(const ServerContext& context, UnaryReactor* call, const grpc::Status& own) {
  if (!own.ok()) {
    // Even a failed call may have stored the setting, for example if a policy's plan fails.
    context.shared_settings->Publish(nullptr);
    return call->Answer(own);
  }
  call->NoteChange();
  context.shared_settings->Publish([&context, call](const OthersEnds& others) {
    const grpc::Status end = EndOfAll(grpc::Status::OK, others);
    if (!end.ok()) return call->Answer(end);
    AnswerWithOthers(context, call);
  });
}

void HandleSetting(const ServerContext& context, UnaryReactor* call, bool removal) {
  SettingsSharing* const shared = context.shared_settings;
  if (shared == nullptr) return call->Handle();
  if (context.router.division().keeps()) {
    call->SetLast([&context, call, shared, removal](const grpc::Status& own) {
      if (!removal) return HaveOthersFollow(context, call, own);
      // All divisions run a removal, because another one may have the source or crawl id even if
      // the keeper does not.
      FinishInOthers(context, call, own, [shared] { shared->Publish(nullptr); });
    });
  } else if (call->shown().sent_on) {
    call->SetLast([call, shared](const grpc::Status& own) {
      shared->Forget();
      call->Answer(own);
    });
  } else {
    return AnswerElsewhere(context, SlotDivision::kKeeper, call);
  }
  call->Handle();
}

// --- Pause

// Called if the keeper does not answer: pauses every other server that can be reached. The keeper
// learns of the pause later (SettingsSharing::KeepPause).
void PauseOthersToo(const ServerContext& context, UnaryReactor* call, const Status& keeper) {
  const SlotDivision own = context.router.division();
  std::vector<std::pair<uint32_t, grpc::ByteBuffer>> requests;
  for (uint32_t i = 0; i < own.divisions; ++i) {
    if (i == own.division || i == SlotDivision::kKeeper) continue;
    requests.emplace_back(i, SerialiseMessage(call->AnyRequest()));
  }
  AskDivisions(context, call->path(), call->shown(), requests, {},
               [call, keeper](const DivisionAnswers& answers) {
                 OthersEnds others = {{SlotDivision::kKeeper, keeper}};
                 for (const DivisionAnswer& its : answers) {
                   others.emplace_back(its.division, its.answer.status());
                 }
                 call->Answer(EndOfAll(grpc::Status::OK, others));
               });
}

// Pauses this server before asking the keeper, so that the pause works even without the keeper.
void HandlePause(const ServerContext& context, UnaryReactor* call) {
  SettingsSharing* const shared = context.shared_settings;
  if (shared == nullptr || context.router.division().keeps()) {
    return HandleSetting(context, call, /*removal=*/false);
  }
  // The request is used again after the handler has answered.
  const auto* request = dynamic_cast<const v1::PauseRequest*>(&call->AnyRequest());
  CHECK(request != nullptr, "{} is no pause", call->path());
  call->SetLast([&context, call, shared, request](const grpc::Status& own) {
    if (!own.ok()) return call->Answer(own);
    call->NoteChange();
    // Another server forwards a pause only if the keeper does not answer.
    if (call->shown().sent_on) {
      if (!shared->hears_keeper()) shared->KeepPause(request->reason());
      return call->Answer(own);
    }
    AskDivisions(context, call->path(), call->shown(),
                 {{SlotDivision::kKeeper, SerialiseMessage(*request)}}, {},
                 [&context, call, shared, request](const DivisionAnswers& answers) {
                   const Status& keeper = answers.front().answer.status();
                   if (!absl::IsUnavailable(keeper) || shared->hears_keeper()) {
                     return call->Answer(GrpcStatusOf(keeper));
                   }
                   shared->KeepPause(request->reason());
                   PauseOthersToo(context, call, keeper);
                 });
  });
  call->Handle();
}

}  // namespace

void HandleByRoute(const ServerContext& context, UnaryReactor* call) {
  switch (call->rule().route) {
    case Route::kHere:
    case Route::kByItem:
    case Route::kCredit:
    case Route::kInTurn:
      return call->Handle();
    case Route::kByHost:
      return HandleByHost(context, call);
    case Route::kAll:
      return HandleInAll(context, call);
    case Route::kDoneByAll:
      return DoInAll(context, call);
    case Route::kKeeper:
      return HandleAtKeeper(context, call);
    case Route::kSetting:
      return HandleSetting(context, call, /*removal=*/false);
    case Route::kRemoval:
      return HandleSetting(context, call, /*removal=*/true);
    case Route::kPause:
      return HandlePause(context, call);
  }
}

std::optional<Slot> SlotNamedIn(const Message& request) {
  const google::protobuf::Descriptor& type = *request.GetDescriptor();
  const auto* field = type.FindFieldByName("host");
  if (field == nullptr) field = type.FindFieldByName("url");
  CHECK(field != nullptr, "{} names no host", type.full_name());
  // ConvertHost also takes the host of a URL.
  const StatusOr<std::string> host =
      ConvertHost(request.GetReflection()->GetString(request, field));
  if (!host.ok()) return std::nullopt;
  return SlotOfHost(*host);
}

grpc::Status EndOfAll(const grpc::Status& own, const OthersEnds& others) {
  bool done = own.ok();
  const std::pair<uint32_t, Status>* failed = nullptr;
  for (const auto& end : others) {
    done = done || end.second.ok();
    if (end.second.ok() || absl::IsNotFound(end.second)) continue;
    // If several divisions fail, a lasting failure is reported rather than Unavailable.
    if (failed == nullptr || absl::IsUnavailable(failed->second)) failed = &end;
  }
  if (failed == nullptr) return done ? grpc::Status::OK : own;
  const Status why = StatusOfDivision(failed->first, failed->second);
  if (!done) return GrpcStatusOf(why);
  return GrpcStatusOf(
      Status(why.code(), fmt::format("{}; it is done in others: the same call again does the rest",
                                     std::string(why.message()))));
}

}  // namespace freshet
