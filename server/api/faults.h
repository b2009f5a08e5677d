// Refusals as clients see them. Inside the server a refusal is a Status whose message starts with
// "field: " if one field is at fault. Here it becomes the error of an item, of a message, or of a
// call.
//
// All functions are thread-safe.
#ifndef FRESHET_SERVER_API_FAULTS_H_
#define FRESHET_SERVER_API_FAULTS_H_

#include <cstddef>
#include <string_view>

#include "core/base/status.h"
#include "freshet/v1/types.pb.h"
#include "grpcpp/support/status.h"

namespace freshet {

// The message of a status without the leading field; a view of `status`.
[[nodiscard]] std::string_view ReasonOf(const Status& status);
// Changes the field of a refusal.
[[nodiscard]] Status InField(std::string_view field, const Status& status);

// Bytes of the message of a call's status. Longer messages, which quote the request, are cut.
inline constexpr size_t kMaxCallMessageBytes = 1024;

// Whether the same request may succeed another time: the server is busy or away. A full crawl id,
// host or server stays full until somebody removes pages or raises the limit.
[[nodiscard]] bool MayComeAgain(const Status& status);
// The error of a refused item or message. The reason is cut to limits::kMaxReasonBytes. A retryable
// error says to try again after a second.
[[nodiscard]] v1::ItemError FaultOf(const Status& status);
// The status of a whole call, its message cut to kMaxCallMessageBytes. Streams do not use it: they
// stay open.
[[nodiscard]] grpc::Status GrpcStatusOf(const Status& status);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FAULTS_H_
