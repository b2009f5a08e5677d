// What a client is told when something is refused. Inside the server a refusal is a Status whose
// message starts with "field: " where one field is at fault; here it becomes the error of an item,
// of a message, or of a call.
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

// What the message of a status says beside the field that it starts with; a view of `status`.
[[nodiscard]] std::string_view ReasonOf(const Status& status);
// The same refusal as one of another field.
[[nodiscard]] Status InField(std::string_view field, const Status& status);

// The status of a call that ends has a message of so many bytes at most: longer ones, which quote
// what was sent, are cut.
inline constexpr size_t kMaxCallMessageBytes = 1024;

// The error of a refused item or message. A reason is cut to limits::kMaxReasonBytes. What is
// unavailable or exhausted may be tried again after a second.
[[nodiscard]] v1::ItemError FaultOf(const Status& status);
// The status of a call as a whole, its message cut to kMaxCallMessageBytes. Foreign to streams,
// which go on.
[[nodiscard]] grpc::Status GrpcStatusOf(const Status& status);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FAULTS_H_
