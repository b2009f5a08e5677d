#include "server/api/over_divisions.h"

#include <grpcpp/alarm.h>

#include <chrono>
#include <memory>

#include "fmt/format.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "server/engine/router.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// One request to several divisions. It ends with the last answer, or after the patience.
// Thread-safe.
class Asking : public std::enable_shared_from_this<Asking> {
 public:
  Asking(DivisionAnswers answers, std::function<void(DivisionAnswers)> done)
      : done_(std::move(done)), answers_(std::move(answers)), missing_(answers_.size()) {}

  // Unlike the open calls, the alarm must not keep this object alive.
  void EndAfter(Duration patience) {
    alarm_.Set(std::chrono::system_clock::now() + std::chrono::microseconds(patience.micros()),
               [weak = weak_from_this()](bool late) {
                 const auto asking = late ? weak.lock() : nullptr;
                 if (asking != nullptr) asking->End();
               });
  }

  void Take(size_t index, StatusOr<grpc::ByteBuffer> answer) FRESHET_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (ended_) return;
      answers_[index].answer = std::move(answer);
      if (--missing_ > 0) return;
    }
    End();
  }

 private:
  void End() FRESHET_EXCLUDES(mutex_) {
    DivisionAnswers answers;
    // `done` is moved to this scope so that the function is destroyed now. Open calls can keep this
    // object alive for longer.
    std::function<void(DivisionAnswers)> done;
    {
      const MutexLock lock(mutex_);
      if (std::exchange(ended_, true)) return;
      answers = std::move(answers_);
      done = std::exchange(done_, nullptr);
    }
    alarm_.Cancel();
    done(std::move(answers));
  }

  grpc::Alarm alarm_;
  Mutex mutex_;
  std::function<void(DivisionAnswers)> done_ FRESHET_GUARDED_BY(mutex_);
  DivisionAnswers answers_ FRESHET_GUARDED_BY(mutex_);
  size_t missing_ FRESHET_GUARDED_BY(mutex_);
  bool ended_ FRESHET_GUARDED_BY(mutex_) = false;
};

// A server of a release without the method answers with a code and no message.
std::string TextOf(const Status& why) {
  const std::string text(why.message());
  return text.empty() ? absl::StatusCodeToString(why.code()) : text;
}

}  // namespace

void AskDivisions(const ServerContext& context, std::string_view path, ShownByClient client,
                  const std::vector<std::pair<uint32_t, grpc::ByteBuffer>>& requests,
                  std::optional<Duration> patience, std::function<void(DivisionAnswers)> done) {
  DivisionAnswers answers;
  const Status missing =
      MakeStatus(absl::StatusCode::kUnavailable,
                 "no server serves this division, or its server has not answered within {:g} s",
                 patience.value_or(Duration()).seconds());
  for (const auto& [division, request] : requests) answers.push_back({division, missing});
  if (requests.empty()) return done(std::move(answers));
  const auto asking = std::make_shared<Asking>(std::move(answers), std::move(done));
  if (patience) asking->EndAfter(*patience);
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& [division, request] = requests[i];
    context.divisions->Open(division, path, client)
        ->Send(request, [asking, i](StatusOr<grpc::ByteBuffer> answer) {
          asking->Take(i, std::move(answer));
        });
  }
}

void AskOtherDivisions(const ServerContext& context, std::string_view path, ShownByClient client,
                       const grpc::ByteBuffer& request, std::optional<Duration> patience,
                       std::function<void(DivisionAnswers)> done) {
  const SlotDivision own = context.router.division();
  std::vector<std::pair<uint32_t, grpc::ByteBuffer>> requests;
  for (uint32_t i = 0; i < own.divisions; ++i) {
    if (i != own.division) requests.emplace_back(i, request);
  }
  AskDivisions(context, path, std::move(client), requests, patience, std::move(done));
}

void ToProto(uint32_t division, const Status& why, v1::UnansweredDivision* out) {
  out->set_division(division);
  out->set_reason(TextOf(why));
}

Status StatusOfDivision(uint32_t division, const Status& status) {
  return Status(status.code(), fmt::format("division {}: {}", division, TextOf(status)));
}

Status ReadAnswer(const StatusOr<grpc::ByteBuffer>& answer, google::protobuf::Message* response) {
  RETURN_IF_ERROR(answer.status());
  grpc::ByteBuffer bytes = *answer;
  const grpc::Status read =
      grpc::GenericDeserialize<grpc::ProtoBufferReader, google::protobuf::Message>(&bytes,
                                                                                   response);
  if (read.ok()) return absl::OkStatus();
  return MakeStatus(
      absl::StatusCode::kDataLoss,
      "the answer from the server of another division (part of the hosts) is damaged");
}

}  // namespace freshet
