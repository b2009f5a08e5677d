// health: shows the health that a server reports, for supervisors that restart it.
#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <string>
#include <string_view>

#include "tools/cli/commands.h"

namespace freshet::cli {
namespace {

// The request of grpc.health.v1 has a single field, number 1, which is a string. The response has a
// single field, number 1, which is an enum. The messages below are encoded in the same way, so no
// foreign .proto is copied here.
using HealthRequest = google::protobuf::StringValue;
using HealthResponse = google::protobuf::Int32Value;
constexpr int kServing = 1;

std::string_view StatusName(int status) {
  constexpr std::string_view kNames[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
  return status >= 0 && status < 4 ? kNames[status] : "UNKNOWN";
}

grpc::Status Ask(const Session& session, const HealthRequest& request, HealthResponse* response) {
  grpc::TemplatedGenericStub<HealthRequest, HealthResponse> stub(session.channel());
  grpc::ClientContext context;
  context.set_deadline(session.CallDeadline());
  grpc::CompletionQueue queue;
  const auto call =
      stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}

ExitCode TellHealth(Session& session, const std::string& service) {
  const absl::Status connected = session.Connect();
  if (!connected.ok()) return session.Fail(connected);
  HealthRequest request;
  request.set_value(service);
  HealthResponse response;
  const grpc::Status status = Ask(session, request, &response);
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) {
    return session.Fail(grpc::Status(status.error_code(), "no service is called " + service));
  }
  if (!status.ok()) return session.Fail(status);
  const std::string_view name = StatusName(response.value());
  if (session.json()) {
    session.out() << R"({"status":")" << name << "\"}\n";
  } else {
    session.out() << name << '\n';
  }
  return response.value() == kServing ? kAccepted : kRefused;
}

}  // namespace

void AddHealthCommand(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "health", "Check whether the server is ready; exit code 0 if it is, 1 or 3 if it is not");
  const auto service = std::make_shared<std::string>();
  command->add_option(
      "SERVICE", *service,
      "A gRPC service of the server, such as freshet.v1.PagesService (default: all)");
  command->callback([service, &action] {
    action = [service](Session& session) { return TellHealth(session, *service); };
  });
}

}  // namespace freshet::cli
