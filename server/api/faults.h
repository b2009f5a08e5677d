// Refusals as clients see them. Inside the server, a refusal is a Status. If one field is at fault,
// the message starts with "field: ". The functions here turn the Status into the error of an item,
// a message or a call.
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

// The message of a status without the field at its beginning; a view of `status`.
[[nodiscard]] std::string_view ReasonOf(const Status& status);
// The same refusal, but for the field `field`.
[[nodiscard]] Status InField(std::string_view field, const Status& status);

// The maximum size in bytes of the message in a call's status. Longer messages can quote the
// request, and are cut.
inline constexpr size_t kMaxCallMessageBytes = 1024;

// Whether the same request could succeed later: the server is busy or cannot be reached. False if a
// crawl id, host or server is full, because it stays full until somebody removes pages or raises
// the limit.
[[nodiscard]] bool MayComeAgain(const Status& status);
// The error of a refused item or message. The reason is cut to limits::kMaxReasonBytes. If
// MayComeAgain is true, the error asks the client to try again after a second.
[[nodiscard]] v1::ItemError FaultOf(const Status& status);
// The status of a whole call. The message is cut to kMaxCallMessageBytes. Streams of items stay
// open after a refusal, and do not use this.
[[nodiscard]] grpc::Status GrpcStatusOf(const Status& status);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FAULTS_H_
