// What the console asks of the server and has it do: routes below /console/api/ that are calls of
// the gRPC services, over an in-process channel, so that there is one implementation of each. The
// client's identity goes along (server/api/inside.h).
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

// A route, less the prefix. Value type, thread-compatible.
struct ConsoleRoute {
  std::string_view name;
  bool post = false;
};
// Those that ConsoleCalls answers.
[[nodiscard]] std::vector<ConsoleRoute> ConsoleCallRoutes();

// The protocol's own JSON of a response, with the names of the .proto files. Internal: the message
// holds what has no JSON, as an instant after the year 9999.
[[nodiscard]] StatusOr<std::string> JsonOf(const google::protobuf::Message& message);

// A JSON object with the one field `error`.
[[nodiscard]] HttpResponse ErrorResponse(int status, std::string_view error);
// Of JSON text; no cache keeps it.
[[nodiscard]] HttpResponse JsonResponse(std::string text);

// Thread-safe.
class ConsoleCalls {
 public:
  // `channel` is that of a server in this process.
  explicit ConsoleCalls(std::shared_ptr<grpc::Channel> channel);

  // GET: the parameters of the query are fields of the request. POST: the body is the request as
  // JSON. The answer is the response as JSON, or an error with a status that fits its code. What a
  // change of policy does takes longer than anybody waits: 202 then says that it is under way.
  // Precondition: ConsoleCallRoutes has the path of the request.
  [[nodiscard]] HttpResponse Answer(const HttpRequest& request) FRESHET_EXCLUDES(mutex_);
  // Before that server ends, whose channel bears no call any more then: further requests get a 503,
  // and those under way are over when it returns.
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
