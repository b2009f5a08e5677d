// Calls that the servers of all divisions of a fleet answer together.
#ifndef FRESHET_SERVER_API_OVER_DIVISIONS_H_
#define FRESHET_SERVER_API_OVER_DIVISIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "freshet/v1/admin.pb.h"
#include "server/api/context.h"
#include "server/api/divisions.h"
#include "server/api/elsewhere.h"
#include "server/api/faults.h"
#include "server/api/fleet_sums.h"
#include "server/api/settings_sharing.h"
#include "server/api/unary.h"
#include "server/api/wire.h"

namespace freshet {

// For a server of another division to say what it knows.
inline constexpr Duration kFleetViewPatience = Duration::Seconds(3);
// And to list some pages, after it was reached: a division that changes hands is waited for.
inline constexpr Duration kFleetListPatience = Duration::Seconds(30);

// What was answered for a division. Value type, thread-compatible.
struct DivisionAnswer {
  uint32_t division = 0;
  StatusOr<grpc::ByteBuffer> answer;
};
using DivisionAnswers = std::vector<DivisionAnswer>;

// Asks the servers of these divisions, none of them this one's, on behalf of a client. `done` has
// an answer for each in their order, and is called once: with the last of them, or after
// `patience`, where what is missing is Unavailable; unset: once all are there, or have not been
// reached; one that takes the request and says nothing is waited for. On any thread, maybe before
// this returns. Thread-safe.
void AskDivisions(const ServerContext& context, std::string_view path, ShownByClient client,
                  const std::vector<std::pair<uint32_t, grpc::ByteBuffer>>& requests,
                  std::optional<Duration> patience, std::function<void(DivisionAnswers)> done);
// The same of all other divisions.
void AskOtherDivisions(const ServerContext& context, std::string_view path, ShownByClient client,
                       const grpc::ByteBuffer& request, std::optional<Duration> patience,
                       std::function<void(DivisionAnswers)> done);

// Whether a call is for all divisions of a fleet: others can be asked, and it comes from none of
// their servers.
[[nodiscard]] inline bool SpansFleet(const ServerContext& context, const ShownByClient& client) {
  return context.divisions != nullptr && !client.sent_on;
}

void ToProto(uint32_t division, const Status& why, v1::UnansweredDivision* out);
// With the division's name before it.
[[nodiscard]] Status StatusOfDivision(uint32_t division, const Status& status);

// Answers with what is in the response, together with what the servers of other divisions say:
// `add` takes that in, one after the other. Those who have not answered are told of; who knows
// nothing of it (NotFound) adds nothing. `end` is called last, and answers the call; without it
// that is OK.
template <typename Request, typename Response>
void AnswerForAll(const ServerContext& context, UnaryCall<Request, Response>* call,
                  std::type_identity_t<std::function<void(const Response&, Response*)>> add,
                  std::function<void()> end) {
  if (!SpansFleet(context, call->shown())) return end();
  if (!call->TakePlace()) return call->Answer(UnreadStatus(PushOutcome::kFull));
  AskOtherDivisions(
      context, call->path(), call->shown(), SerialiseMessage(call->request()), kFleetViewPatience,
      [call, add = std::move(add), end = std::move(end)](const DivisionAnswers& answers) {
        for (const DivisionAnswer& its : answers) {
          const StatusOr<Response> theirs = ResponseIn<Response>(its.answer);
          if (theirs.ok()) {
            add(*theirs, call->response());
          } else if (!absl::IsNotFound(theirs.status())) {
            ToProto(its.division, theirs.status(), call->response()->add_unanswered());
          }
        }
        end();
      });
}

template <typename Request, typename Response>
void AnswerForAll(const ServerContext& context, UnaryCall<Request, Response>* call,
                  std::type_identity_t<std::function<void(const Response&, Response*)>> add) {
  AnswerForAll(context, call, std::move(add), [call] { call->Answer(grpc::Status::OK); });
}

// How a call ends that was to do something in all divisions, of how it ended in each; `own` first.
[[nodiscard]] grpc::Status EndOfAll(const grpc::Status& own,
                                    const std::vector<std::pair<uint32_t, Status>>& others);

// Adds to the response of a call what other divisions list of the same, as they answer `request` at
// `path`; then calls `then`. `as_done` makes of a list what its division would have answered to the
// call, as bool(const List&, Response*); false: the list has nothing of it.
template <typename List, typename Request, typename Response, typename AsDone>
void AddListedElsewhere(const ServerContext& context, UnaryCall<Request, Response>* call,
                        std::string_view path, const grpc::ByteBuffer& request, AsDone as_done,
                        std::function<void()> then) {
  AskOtherDivisions(
      context, path, call->shown(), request, kFleetViewPatience,
      [call, as_done = std::move(as_done), then = std::move(then)](const DivisionAnswers& answers) {
        for (const DivisionAnswer& its : answers) {
          const StatusOr<List> theirs = ResponseIn<List>(its.answer);
          Response done;
          if (theirs.ok() && as_done(*theirs, &done)) AddDone(done, call->response());
        }
        then();
      });
}

// Has the servers of all other divisions do what the call asks for, which ended so in this one,
// then does `last`, which may be null, and answers it.
template <typename Request, typename Response>
void FinishInOtherDivisions(const ServerContext& context, UnaryCall<Request, Response>* call,
                            const grpc::Status& own, std::function<void()> last = nullptr) {
  if (!own.ok() && own.error_code() != grpc::StatusCode::NOT_FOUND) return call->Answer(own);
  if (own.ok()) call->NoteChange();
  AskOtherDivisions(context, call->path(), call->shown(), SerialiseMessage(call->request()), {},
                    [call, own, last = std::move(last)](const DivisionAnswers& answers) {
                      std::vector<std::pair<uint32_t, Status>> others;
                      for (const DivisionAnswer& its : answers) {
                        const StatusOr<Response> theirs = ResponseIn<Response>(its.answer);
                        others.emplace_back(its.division, theirs.status());
                        if (theirs.ok()) AddDone(*theirs, call->response());
                      }
                      if (last) last();
                      call->Answer(EndOfAll(own, others));
                    });
}

// Has the servers of all other divisions do what the call asks for, once this one has, or has
// found that it has not what it is about. Before anything may answer the call, which then ends with
// all of them.
template <typename Request, typename Response>
void DoInAllDivisions(const ServerContext& context, UnaryCall<Request, Response>* call) {
  if (!SpansFleet(context, call->shown())) return;
  call->SetLast(
      [&context, call](const grpc::Status& own) { FinishInOtherDivisions(context, call, own); });
}

// --- Settings, which have one order in a fleet (SettingsSharing)

// Whether the keeper of the settings is to be asked instead, which answers the call. A call that
// another server has sent on is this one's to answer.
template <typename Request, typename Response>
bool LeftToKeeper(const ServerContext& context, UnaryCall<Request, Response>* call) {
  const SettingsSharing* const shared = context.shared_settings;
  if (shared == nullptr || shared->keeps() || call->shown().sent_on) return false;
  AnswerElsewhere(context, SettingsSharing::kKeeper, call);
  return true;
}

// At the keeper: once this server has done what the call asks for, all other divisions follow its
// settings, and the call ends with all of them. `add`, which may be null, adds what those have to
// the response, and then calls what it is given. Before anything may answer the call.
template <typename Request, typename Response>
void SetInAllDivisions(const ServerContext& context, UnaryCall<Request, Response>* call,
                       std::function<void(std::function<void()>)> add = nullptr) {
  if (context.shared_settings == nullptr || !context.shared_settings->keeps()) return;
  call->SetLast([&context, call, add = std::move(add)](const grpc::Status& own) {
    if (!own.ok()) {
      // It may be stored all the same, as where a plan of a policy fails.
      context.shared_settings->Publish(nullptr);
      return call->Answer(own);
    }
    call->NoteChange();
    context.shared_settings->Publish(
        [call, add](const std::vector<std::pair<uint32_t, Status>>& others) {
          const grpc::Status end = EndOfAll(grpc::Status::OK, others);
          if (!end.ok() || !add) return call->Answer(end);
          add([call, end] { call->Answer(end); });
        });
  });
}

// The same for what is taken away, which a division may have that the keeper does not know of: all
// servers are asked to take it away, then to follow the settings.
template <typename Request, typename Response>
void RemoveInAllDivisions(const ServerContext& context, UnaryCall<Request, Response>* call) {
  SettingsSharing* const shared = context.shared_settings;
  if (shared == nullptr) return;
  if (!shared->keeps()) {
    return call->SetLast([shared, call](const grpc::Status& own) {
      shared->Forget();
      call->Answer(own);
    });
  }
  call->SetLast([&context, call, shared](const grpc::Status& own) {
    FinishInOtherDivisions(context, call, own, [shared] { shared->Publish(nullptr); });
  });
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_OVER_DIVISIONS_H_
