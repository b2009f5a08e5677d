// Connects programs to a server. Flags and the environment determine whether a program uses TLS, a
// certificate or a token.
#ifndef FRESHET_TOOLS_COMMON_CLIENT_CHANNEL_H_
#define FRESHET_TOOLS_COMMON_CLIENT_CHANNEL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"

namespace freshet {

// Value type, thread-compatible.
struct ClientSecurity {
  bool tls = false;         // uses TLS, and trusts the system's CAs
  std::string ca;           // PEM file of CAs to trust instead; implies TLS
  std::string certificate;  // PEM file of the client's own certificate; implies TLS
  std::string key;          // PEM file
  std::string token_file;   // holds only the token
  std::string token;        // only from the environment, because other users can read command lines

  [[nodiscard]] bool speaks_tls() const { return tls || !ca.empty() || !certificate.empty(); }
};

// Adds the security flags of a program, and the variables FRESHET_TLS_CA, FRESHET_TLS_CERTIFICATE,
// FRESHET_TLS_KEY, FRESHET_TOKEN_FILE and FRESHET_TOKEN. `security` outlives `app`.
void AddSecurityOptions(CLI::App& app, ClientSecurity& security);

// Reads a token file without surrounding blanks. Not OK: InvalidArgument or NotFound. The message
// gives the reason, but never the file's content. `name` stands for the file in messages.
[[nodiscard]] absl::StatusOr<std::string> ReadToken(const std::string& path,
                                                    const std::string& name);

// Returns the token of a client; empty = none. Errors: from ReadToken.
[[nodiscard]] absl::StatusOr<std::string> TokenOf(const ClientSecurity& security);

// Opens a channel that identifies the client with every call, and ignores proxies that the
// environment sets. The channel connects when it is first used. Not OK: InvalidArgument or NotFound
// if a file cannot be used, or if a token would be sent in plain text to another machine. The
// message gives the reason.
[[nodiscard]] absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(
    const std::string& address, const ClientSecurity& security,
    const grpc::ChannelArguments& arguments);

}  // namespace freshet

#endif  // FRESHET_TOOLS_COMMON_CLIENT_CHANNEL_H_
