// How calls of the methods of a service begin.
#ifndef FRESHET_SERVER_API_CALL_METHOD_H_
#define FRESHET_SERVER_API_CALL_METHOD_H_

#include <functional>
#include <string_view>

#include "grpcpp/generic/async_generic_service.h"
#include "server/api/context.h"

namespace freshet {

using ServerCall = grpc::CallbackServerContext;
// It deletes itself.
using Reactor = grpc::ServerGenericBidiReactor;

// One method. Thread-safe.
struct CallMethod {
  std::string_view path;  // of its MethodRule
  std::function<Reactor*(ServerCall*)> start;
};

// A method that is answered by what `start` makes of its calls.
[[nodiscard]] inline CallMethod Streaming(std::string_view path, const ServerContext& context,
                                          Reactor* (*start)(const ServerContext&, ServerCall*)) {
  return {path, [&context, start](ServerCall* call) { return start(context, call); }};
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CALL_METHOD_H_
