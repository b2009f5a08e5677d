// Makes one call of the admin service, from connecting to the exit code.
#ifndef FRESHET_TOOLS_CLI_ADMIN_CALL_H_
#define FRESHET_TOOLS_CLI_ADMIN_CALL_H_

#include <cstdint>
#include <string>

#include "fmt/format.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "tools/cli/session.h"
#include "tools/cli/table.h"

namespace freshet::cli {

using Admin = v1::AdminService::Stub;

// Connects and makes the call. Returns kAccepted if there is a response; else prints the reason.
template <typename Request, typename Response>
ExitCode Fetch(Session& session,
               grpc::Status (Admin::*method)(grpc::ClientContext*, const Request&, Response*),
               const Request& request, Response* response) {
  const absl::Status connected = session.Connect();
  if (!connected.ok()) return session.Fail(connected);
  const auto stub = v1::AdminService::NewStub(session.channel());
  const grpc::Status status = Call(session, method, *stub, request, response);
  return status.ok() ? kAccepted : session.Fail(status);
}

// Prints the problem of a division of a fleet.
inline void ComplainOfDivision(const Session& session, uint32_t division, const std::string& why) {
  session.Complain(fmt::format("division {}: {}", division, ShowText(why)));
}

// Prints the divisions that are missing from a response. Returns kRefused if there are any, so that
// scripts notice that the response is incomplete.
template <typename Response>
ExitCode TellUnanswered(const Session& session, const Response& response) {
  for (const v1::UnansweredDivision& missing : response.unanswered()) {
    ComplainOfDivision(session, missing.division(), missing.reason());
  }
  return response.unanswered().empty() ? kAccepted : kRefused;
}

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_ADMIN_CALL_H_
