// Ids of calls: what a client calls its request, or a name made here, in the answer and in every
// line of the log that is about the call.
#ifndef FRESHET_SERVER_API_REQUEST_ID_H_
#define FRESHET_SERVER_API_REQUEST_ID_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/units.h"
#include "grpcpp/server_context.h"

namespace freshet {

inline constexpr const char* kRequestIdName = "x-request-id";
inline constexpr size_t kMaxRequestIdBytes = 128;

// 1 to kMaxRequestIdBytes of letters, digits and `-_.:/+=@`: such as a UUID or a trace context.
[[nodiscard]] bool IsRequestId(std::string_view id);

// Makes ids that differ between all calls of one run of a server, and of runs that began at
// different microseconds. Thread-safe.
class RequestIds {
 public:
  explicit RequestIds(Instant begun);
  [[nodiscard]] std::string Next();

 private:
  const std::string prefix_;
  std::atomic<uint64_t> last_{0};
};

// The id that the client gave in the metadata of the call, if it is one, else a new one. It goes
// into the initial metadata of the answer. Before anything is sent.
[[nodiscard]] std::string TakeRequestId(RequestIds& ids, grpc::CallbackServerContext& call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_REQUEST_ID_H_
