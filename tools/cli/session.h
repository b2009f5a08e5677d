// The settings, streams and server connection that all commands of `freshet` use.
#ifndef FRESHET_TOOLS_CLI_SESSION_H_
#define FRESHET_TOOLS_CLI_SESSION_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/status.h"
#include "tools/cli/progress.h"
#include "tools/common/client_channel.h"

namespace freshet::cli {

// The exit codes, on which scripts rely. If several apply, the order of precedence is: lost output,
// bad usage, unreachable server, refused items.
enum ExitCode : int {
  kAccepted = 0,
  kRefused = 1,
  kBadUsage = 2,
  kUnreachable = 3,
  kOutputLost = 4,
};

// The options that precede the command.
struct Settings {
  std::string server = "127.0.0.1:7071";
  ClientSecurity security;
  bool json = false;
  double connect_seconds = 5;  // longest wait for a connection
  double call_seconds = 60;    // longest wait for an answer or an acknowledgement
};

// The input and output of a command. The streams outlive the session.
struct Io {
  int input = 0;  // descriptor of standard input
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  bool terminal = false;  // whether `err` is a terminal
  bool screen = false;    // whether descriptors 0 and 1 are terminals and `out` writes to 1
  size_t columns = 0;     // cells in a line of `out`; 0 = no terminal
};

// State of one run of the program. Thread-compatible; channel() may be shared between threads.
class Session {
 public:
  Session(Settings settings, Io io);

  // Waits until the server answers. Unavailable: it did not answer within connect_seconds.
  // InvalidArgument or NotFound: a file or token cannot be used; the message names it.
  [[nodiscard]] absl::Status Connect();

  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] bool json() const { return settings_.json; }
  [[nodiscard]] int input() const { return io_.input; }
  [[nodiscard]] std::ostream& out() const { return *io_.out; }
  [[nodiscard]] bool screen() const { return io_.screen; }
  [[nodiscard]] size_t columns() const { return io_.columns; }
  [[nodiscard]] ProgressStyle progress_style() const { return {io_.err, io_.terminal}; }

  // Returns the deadline of a call that starts now.
  [[nodiscard]] std::chrono::system_clock::time_point CallDeadline() const;

  // Each of these functions prints one line on standard error, made safe for a terminal (ShowText),
  // and returns the matching exit code.
  ExitCode Fail(const absl::Status& status) const;
  ExitCode Fail(const grpc::Status& status) const;
  void Complain(std::string_view text) const;
  // Prints a line on standard error that is not about an error.
  void Note(std::string_view text) const;

 private:
  [[nodiscard]] absl::Status AwaitServer(std::chrono::system_clock::time_point deadline) const;

  Settings settings_;
  Io io_;
  std::shared_ptr<grpc::Channel> channel_;
};

// Returns how long a busy server asks the client to wait before the next call; nullopt = the server
// names no delay.
[[nodiscard]] std::optional<std::chrono::milliseconds> AskedToWait(
    const grpc::Status& status, const grpc::ClientContext& context);

// Makes a unary call with the session's deadline, and shows progress if the call takes long.
// Repeats the call if the server asks for it and the deadline allows it. Example of the arguments:
//   session, &v1::AdminService::Stub::Pause, *stub, request, &response
template <typename Stub, typename Request, typename Response>
grpc::Status Call(const Session& session,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  Stub& stub, const Request& request, Response* response) {
  const auto deadline = session.CallDeadline();
  while (true) {
    grpc::ClientContext context;
    context.set_deadline(deadline);
    grpc::Status status = (stub.*method)(&context, request, response);
    const auto wait = AskedToWait(status, context);
    if (!wait || std::chrono::system_clock::now() + *wait > deadline) return status;
    std::this_thread::sleep_for(*wait);
  }
}

// Makes a call without a deadline, because it can take minutes. Shows `what` in the meantime.
template <typename Stub, typename Request, typename Response>
grpc::Status CallPatiently(const Session& session, std::string_view what,
                           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                           Stub& stub, const Request& request, Response* response) {
  const Progress progress(session.progress_style(), std::string(what));
  grpc::ClientContext context;
  return (stub.*method)(&context, request, response);
}

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_SESSION_H_
