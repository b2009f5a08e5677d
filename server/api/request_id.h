// Request ids. A client may send an id with its call, otherwise the server makes one. The id is in
// the answer, and in every line of the log about the call.
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

// Whether a text can be an id: 1 to kMaxRequestIdBytes letters, digits and `-_.:/+=@`, such as a
// UUID or a trace context.
[[nodiscard]] bool IsRequestId(std::string_view id);

// Makes ids that are unique within a run of the server, and among runs that began in different
// microseconds. Thread-safe.
class RequestIds {
 public:
  explicit RequestIds(Instant begun);
  [[nodiscard]] std::string Next();

 private:
  const std::string prefix_;
  std::atomic<uint64_t> last_{0};
};

// Takes the id from the call's metadata. If the client sent no valid id, makes one. Adds the id to
// the initial metadata of the answer. Must be called before anything is sent.
[[nodiscard]] std::string TakeRequestId(RequestIds& ids, grpc::CallbackServerContext& call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_REQUEST_ID_H_
