// A method of a service, and how its calls begin.
#ifndef FRESHET_SERVER_API_CALL_METHOD_H_
#define FRESHET_SERVER_API_CALL_METHOD_H_

#include <functional>
#include <string_view>

#include "grpcpp/generic/async_generic_service.h"
#include "server/api/context.h"

namespace freshet {

using ServerCall = grpc::CallbackServerContext;
// The reactor of a call. It deletes itself.
using Reactor = grpc::ServerGenericBidiReactor;

// One method. Thread-safe.
struct CallMethod {
  std::string_view path;  // the path of its MethodRule
  std::function<Reactor*(ServerCall*)> start;
};

// Makes a method whose calls are answered by the reactors that `start` makes.
[[nodiscard]] inline CallMethod Streaming(std::string_view path, const ServerContext& context,
                                          Reactor* (*start)(const ServerContext&, ServerCall*)) {
  return {path, [&context, start](ServerCall* call) { return start(context, call); }};
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CALL_METHOD_H_
