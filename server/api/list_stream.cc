#include "server/api/list_stream.h"

#include "core/base/limits.h"
#include "grpc/support/time.h"
#include "server/api/faults.h"

namespace freshet {

ListStream::ListStream(const ServerContext& context, std::string_view path,
                       grpc::CallbackServerContext* call)
    : context_(context),
      call_(*call),
      admitted_(context.listings.Take()),
      watch_(context.calls, context.clock, context.calls.Find(path), CallKind::kStream) {}

ListStream::~ListStream() {
  if (admitted_) context_.listings.Give();
}

void ListStream::Begin(const grpc::ByteBuffer& request) {
  self_ = shared_from_this();
  if (!admitted_) {
    return End(MakeStatus(absl::StatusCode::kResourceExhausted,
                          "{} lists are being made: try again when one of them is done",
                          limits::kMaxListings));
  }
  if (const Status status = Open(request); !status.ok()) return End(status);
  ReadNext();
}

void ListStream::ReadNext() {
  const bool posted = context_.background.Post([self = shared_from_this()] {
    if (self->cancelled()) {
      return self->End(MakeStatus(absl::StatusCode::kCancelled, "cancelled"));
    }
    self->Read();
  });
  if (!posted) End(MakeStatus(absl::StatusCode::kUnavailable, "the server is shutting down"));
}

// A client that reads no further would keep its place for ever.
void ListStream::Write(grpc::ByteBuffer message) {
  bytes_.Swap(&message);
  halves_left_ = 2;
  // A new one each time: the last one's callback may not have returned yet.
  alarm_ = std::make_unique<grpc::Alarm>();
  const int64_t micros = context_.config.list_write_timeout.get().micros();
  alarm_->Set(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_micros(micros, GPR_TIMESPAN)),
      [this](bool over) {
        if (over) call_.TryCancel();
        EndHalfOfWrite();
      });
  StartWrite(&bytes_);
}

void ListStream::End(const Status& status) {
  const grpc::Status answer = GrpcStatusOf(status);
  watch_.End(answer.error_code());
  Finish(answer);
}

void ListStream::OnWriteDone(bool ok) {
  written_ = ok;
  if (ok) watch_.CountSent();
  alarm_->Cancel();
  EndHalfOfWrite();
}

// The write and its alarm both report, in any order. The call goes on, and may end, after the
// later of the two, so that neither finds the call or this object gone.
void ListStream::EndHalfOfWrite() {
  if (--halves_left_ > 0) return;
  if (!written_) {
    return End(MakeStatus(absl::StatusCode::kUnavailable, "the list was cut off"));
  }
  GoOn();
}

}  // namespace freshet
