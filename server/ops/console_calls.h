// The console's routes below /console/api/ that call gRPC services over an in-process channel, so
// that the console and gRPC clients share one implementation. The calls carry the client's identity
// (server/api/inside.h).
#ifndef FRESHET_SERVER_OPS_CONSOLE_CALLS_H_
#define FRESHET_SERVER_OPS_CONSOLE_CALLS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/channel.h"
#include "server/ports/http_message.h"
#include "sync/mutex.h"

namespace freshet {

inline constexpr char kConsoleApi[] = "/console/api/";

// A route, named without the prefix kConsoleApi. Value type, thread-compatible.
struct ConsoleRoute {
  std::string_view name;
  bool post = false;
};
// The routes that ConsoleCalls answers.
[[nodiscard]] std::vector<ConsoleRoute> ConsoleCallRoutes();

// Writes a response as protobuf's JSON, with the field names of the .proto files. Not OK: Internal
// if a value has no JSON form, for example an instant after the year 9999.
[[nodiscard]] StatusOr<std::string> JsonOf(const google::protobuf::Message& message);

// Makes a JSON object with the one field `error`.
[[nodiscard]] HttpResponse ErrorResponse(int status, std::string_view error);
// Makes a response of JSON text that must not be cached.
[[nodiscard]] HttpResponse JsonResponse(std::string text);

// Answers the routes. Thread-safe.
class ConsoleCalls {
 public:
  // `channel` leads to a server in this process.
  explicit ConsoleCalls(std::shared_ptr<grpc::Channel> channel);

  // Answers a request. GET: the query parameters are the fields of the call. POST: the body is the
  // call as JSON. The answer is the call's response as JSON, or an error whose HTTP status
  // corresponds to the gRPC code. A change of policy can take longer than the console waits; status
  // 202 says that it is in progress. Precondition: ConsoleCallRoutes has the path of the request.
  [[nodiscard]] HttpResponse Answer(const HttpRequest& request) FRESHET_EXCLUDES(mutex_);
  // Must be called before the channel's server ends. Waits for running requests. Further requests
  // get a 503.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  Mutex mutex_;
  Condition over_;
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  int under_way_ FRESHET_GUARDED_BY(mutex_) = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_CONSOLE_CALLS_H_
