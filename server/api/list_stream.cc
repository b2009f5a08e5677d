#include "server/api/list_stream.h"

#include <utility>

#include "server/api/faults.h"
#include "server/api/unary.h"
#include "server/base/limits.h"

namespace freshet {

void ListStream::OnRequest(grpc::ByteBuffer* bytes) {
  std::optional<Places::Place> place = context_.listings.Take(client(), auth().admin());
  if (!place) {
    return EndList(MakeStatus(absl::StatusCode::kResourceExhausted,
                              "too many requests for lists are running (at most {} at a time, and "
                              "fewer for one client): try again when one has ended",
                              limits::kMaxListings));
  }
  place_.emplace(*std::move(place));
  const StatusOr<const Caller*> caller = auth().Get();
  if (!caller.ok()) return EndList(caller.status());
  if (const grpc::Status paid = PayForCall(context_, **caller, call()); !paid.ok()) {
    End(paid);
    return;
  }
  const Status status = Open(*bytes);
  bytes->Clear();
  if (!status.ok()) return EndList(status);
  ReadNext();
}

void ListStream::ReadNext() {
  const bool posted = context_.background.Post(client(), [this, self = shared_from_this()] {
    if (const grpc::Status why = stopped(); !why.ok()) {
      End(why);
      return;
    }
    Read();
  });
  if (!posted) EndList(MakeStatus(absl::StatusCode::kUnavailable, "the server is shutting down"));
}

void ListStream::EndList(const Status& status) { End(GrpcStatusOf(status)); }

void ListStream::OnWritten(bool ok) {
  if (const grpc::Status why = stopped(); !why.ok()) {
    End(why);
    return;
  }
  if (!ok) return EndList(MakeStatus(absl::StatusCode::kUnavailable, "the list was cut off"));
  GoOn();
}

}  // namespace freshet
