#include "server/api/faults.h"

#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/safe_text.h"
#include "server/api/to_proto.h"
#include "server/base/limits.h"

namespace freshet {
namespace {

// A longer text is not the name of a field: a client may have sent it.
constexpr size_t kMaxFieldBytes = 64;

// Splits "field: reason" if the field has the form of a name in the .proto files.
std::pair<std::string_view, std::string_view> SplitField(const Status& status) {
  const std::string_view message(status.message().data(), status.message().size());
  const size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789");
  const bool named = end != std::string_view::npos && end > 0 && end <= kMaxFieldBytes &&
                     message.substr(end, 2) == ": ";
  if (!named) return {{}, message};
  return {message.substr(0, end), message.substr(end + 2)};
}

v1::ErrorCode CodeOf(const Status& status, std::string_view field) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return v1::ERROR_CODE_INVALID_ARGUMENT;
    case absl::StatusCode::kNotFound:
      if (field == "lease_id") return v1::ERROR_CODE_UNKNOWN_LEASE;
      return field == "source" ? v1::ERROR_CODE_UNKNOWN_SOURCE : v1::ERROR_CODE_NOT_FOUND;
    case absl::StatusCode::kResourceExhausted:
      return v1::ERROR_CODE_RESOURCE_EXHAUSTED;
    case absl::StatusCode::kUnavailable:
      return v1::ERROR_CODE_UNAVAILABLE;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:  // access was withdrawn while a stream was open
      return v1::ERROR_CODE_PERMISSION_DENIED;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
      return v1::ERROR_CODE_FAILED_PRECONDITION;
    default:
      return v1::ERROR_CODE_INTERNAL;
  }
}

}  // namespace

std::string_view ReasonOf(const Status& status) { return SplitField(status).second; }

Status InField(std::string_view field, const Status& status) {
  return MakeStatus(status.code(), "{}: {}", field, ReasonOf(status));
}

bool MayComeAgain(const Status& status) {
  if (!absl::IsResourceExhausted(status)) return absl::IsUnavailable(status);
  // An error because of a full limit names a field. An error because the server is busy names none.
  const std::string_view field = SplitField(status).first;
  return field != "crawl_id" && field != "url";
}

v1::ItemError FaultOf(const Status& status) {
  CHECK(!status.ok(), "what is well is no fault");
  const auto [field, reason] = SplitField(status);
  v1::ItemError error;
  error.set_code(CodeOf(status, field));
  error.set_field(std::string(field));
  // The reason can quote the request. Without this cut, the refusal of a thousand items could send
  // a thousand long URLs back.
  error.set_reason(CutText(reason, limits::kMaxReasonBytes));
  if (MayComeAgain(status)) {
    error.set_retryable(true);
    ToProto(Duration::Seconds(1), error.mutable_retry_after());
  }
  return error;
}

grpc::Status GrpcStatusOf(const Status& status) {
  // Both enums use the same numbers.
  return {static_cast<grpc::StatusCode>(status.raw_code()),
          CutText({status.message().data(), status.message().size()}, kMaxCallMessageBytes)};
}

}  // namespace freshet
