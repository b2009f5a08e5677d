// How the programs that talk to a server reach it: over TLS, with a certificate or a token of their
// own, as flags and the environment say.
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
  bool tls = false;         // believing whom the system believes
  std::string ca;           // PEM file of who is believed instead; TLS is spoken
  std::string certificate;  // PEM file of one's own certificate; TLS is spoken
  std::string key;          // PEM file
  std::string token_file;   // holds the token and nothing else
  std::string token;        // from the environment alone: others can read a command line

  [[nodiscard]] bool speaks_tls() const { return tls || !ca.empty() || !certificate.empty(); }
};

// Flags of a program for all of it, and the variables FRESHET_TLS_CA, FRESHET_TLS_CERTIFICATE,
// FRESHET_TLS_KEY, FRESHET_TOKEN_FILE and FRESHET_TOKEN. `security` outlives `app`.
void AddSecurityOptions(CLI::App& app, ClientSecurity& security);

// The text of a token file without what surrounds it. InvalidArgument or NotFound says why there
// is no token in it, and not what is in it; `name` is what it calls the file.
[[nodiscard]] absl::StatusOr<std::string> ReadToken(const std::string& path,
                                                    const std::string& name);

// The token of a client; empty: it has none. Fails as ReadToken.
[[nodiscard]] absl::StatusOr<std::string> TokenOf(const ClientSecurity& security);

// A channel that says who it is with every call, and goes through no proxy, whatever the
// environment says of one. InvalidArgument or NotFound names what is wrong: a file, or a token that
// would be sent in the clear to another machine. Nothing is connected yet.
[[nodiscard]] absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(
    const std::string& address, const ClientSecurity& security,
    const grpc::ChannelArguments& arguments);

}  // namespace freshet

#endif  // FRESHET_TOOLS_COMMON_CLIENT_CHANNEL_H_
