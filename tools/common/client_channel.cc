#include "tools/common/client_channel.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <grpcpp/support/client_interceptor.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"

namespace freshet {
namespace {

// Certificate chains and tokens are smaller than this.
constexpr size_t kMaxFileBytes = size_t{1} << 20;
constexpr std::string_view kBlanks = " \t\r\n";

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  std::string text(kMaxFileBytes, '\0');
  if (file != nullptr) text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (file == nullptr || std::ferror(file.get()) != 0) {
    return absl::NotFoundError(
        fmt::format("cannot read {}: {}", path, std::generic_category().message(errno)));
  }
  return text;
}

// Returns true if the text can be the value of a header. Most files that are not token files fail
// this check.
bool IsToken(std::string_view token) {
  return !token.empty() && token.size() <= 4096 &&
         std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

// Adds the token to each call. This replaces gRPC's own call credentials, which refuse to send a
// token in plain text, even within one machine, where it is safe.
class TokenInterceptor final : public grpc::experimental::Interceptor {
 public:
  explicit TokenInterceptor(const std::string& value) : value_(value) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Point = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace("authorization", value_);
    }
    methods->Proceed();
  }

 private:
  const std::string& value_;
};

class TokenInterceptors final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit TokenInterceptors(const std::string& token) : value_("Bearer " + token) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return new TokenInterceptor(value_);
  }

 private:
  const std::string value_;
};

// Returns true if an address certainly belongs to this machine, whatever a resolver says: a
// complete loopback IP address, or `localhost`. A name that only begins like a number does not
// count.
bool IsThisMachine(std::string_view address) {
  if (address.starts_with("unix:")) return true;
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return false;
  const std::string host(address.substr(0, colon));
  if (host == "localhost" || host == "[::1]") return true;
  in_addr v4{};
  return inet_pton(AF_INET, host.c_str(), &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsOf(
    const ClientSecurity& security) {
  if (security.certificate.empty() != security.key.empty()) {
    return absl::InvalidArgumentError("a certificate and its key go together");
  }
  if (!security.speaks_tls()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  for (const auto& [path, text] : {std::pair{&security.ca, &options.pem_root_certs},
                                   {&security.certificate, &options.pem_cert_chain},
                                   {&security.key, &options.pem_private_key}}) {
    if (path->empty()) continue;
    absl::StatusOr<std::string> read = ReadSmallFile(*path);
    if (!read.ok()) return read.status();
    *text = *std::move(read);
  }
  return grpc::SslCredentials(options);
}

}  // namespace

void AddSecurityOptions(CLI::App& app, ClientSecurity& security) {
  app.add_flag("--tls", security.tls,
               "Use TLS; check the server's certificate against the CA certificates of the system");
  app.add_option("--tls-ca", security.ca,
                 "CA certificate (PEM) to check the server's certificate with; turns TLS on")
      ->envname("FRESHET_TLS_CA");
  app.add_option("--tls-certificate", security.certificate, "The client's certificate (PEM)")
      ->envname("FRESHET_TLS_CERTIFICATE");
  app.add_option("--tls-key", security.key, "Private key of the client's certificate (PEM)")
      ->envname("FRESHET_TLS_KEY");
  app.add_option("--token-file", security.token_file,
                 "File with the client's token; FRESHET_TOKEN can hold the token itself")
      ->envname("FRESHET_TOKEN_FILE");
  // There is no flag for the token, because other users of the machine can see command lines.
  if (const char* token = std::getenv("FRESHET_TOKEN"); token != nullptr) security.token = token;
}

absl::StatusOr<std::string> ReadToken(const std::string& path, const std::string& name) {
  absl::StatusOr<std::string> text = ReadSmallFile(path);
  if (!text.ok()) return text.status();
  const size_t begin = text->find_first_not_of(kBlanks);
  const size_t end = text->find_last_not_of(kBlanks);
  std::string token = begin == std::string::npos ? "" : text->substr(begin, end + 1 - begin);
  if (!IsToken(token)) {
    return absl::InvalidArgumentError(fmt::format("{} holds something that is not a token", name));
  }
  return token;
}

absl::StatusOr<std::string> TokenOf(const ClientSecurity& security) {
  if (!security.token_file.empty()) return ReadToken(security.token_file, security.token_file);
  if (security.token.empty() || IsToken(security.token)) return security.token;
  return absl::InvalidArgumentError("FRESHET_TOKEN holds something that is not a token");
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(
    const std::string& address, const ClientSecurity& security,
    const grpc::ChannelArguments& extra_arguments) {
  grpc::ChannelArguments arguments(extra_arguments);
  // A web proxy cannot reach an internal server, and would see the token in plain text.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  auto credentials = CredentialsOf(security);
  if (!credentials.ok()) return credentials.status();
  const absl::StatusOr<std::string> token = TokenOf(security);
  if (!token.ok()) return token.status();
  if (token->empty()) return grpc::CreateCustomChannel(address, *credentials, arguments);
  if (!security.speaks_tls() && !IsThisMachine(address)) {
    return absl::InvalidArgumentError(
        fmt::format("the token would be sent to {} in the clear: TLS is needed", address));
  }
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<TokenInterceptors>(*token));
  return grpc::experimental::CreateCustomChannelWithInterceptors(address, *credentials, arguments,
                                                                 std::move(interceptors));
}

}  // namespace freshet
