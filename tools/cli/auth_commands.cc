// auth: makes tokens for a server's file of identities, and shows the caller's rights.
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "freshet/v1/auth.grpc.pb.h"
#include "tools/cli/commands.h"
#include "tools/cli/json.h"
#include "tools/cli/table.h"
#include "tools/common/client_channel.h"

namespace freshet::cli {
namespace {

// A token of this many random bytes cannot be guessed.
constexpr size_t kTokenBytes = 32;

// Returns the hash of a token, in the form that an auth file stores.
std::string HashOf(const std::string& token) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// Writes a new token to a new file that only its owner can read.
absl::StatusOr<std::string> WriteNewToken(const std::string& path) {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return absl::InternalError("the system has no random bytes");
  }
  const std::string token =
      absl::WebSafeBase64Escape({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const std::string line = token + "\n";
  const bool written =
      file >= 0 && write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int error = errno;
  if (file >= 0) close(file);
  if (written) return token;
  return absl::InvalidArgumentError(fmt::format("{}: {}", path, std::strerror(error)));
}

ExitCode HashToken(Session& session, const std::string& new_file) {
  const absl::StatusOr<std::string> token =
      new_file.empty() ? ReadToken(fmt::format("/dev/fd/{}", session.input()), "standard input")
                       : WriteNewToken(new_file);
  if (!token.ok()) return session.Fail(token.status());
  const std::string hash = HashOf(*token);
  session.out() << (session.json() ? fmt::format(R"({{"token_sha256":"{}"}})", hash) : hash)
                << '\n';
  return kAccepted;
}

std::string Limit(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return names.empty() ? "not limited" : ShowText(absl::StrJoin(names, ", "));
}

ExitCode Check(Session& session) {
  const absl::Status connected = session.Connect();
  if (!connected.ok()) return session.Fail(connected);
  const auto stub = v1::AuthService::NewStub(session.channel());
  v1::WhoAmIResponse response;
  const grpc::Status status =
      Call(session, &v1::AuthService::Stub::WhoAmI, *stub, v1::WhoAmIRequest(), &response);
  if (!status.ok()) return session.Fail(status);
  if (session.json()) {
    session.out() << ToJsonLine(response) << '\n';
    return kAccepted;
  }
  const auto fact = [&session](std::string_view name, const std::string& value) {
    session.out() << fmt::format("{:<18}{}\n", name, value);
  };
  fact("identity", response.identity().empty() ? "none: the server has no auth file"
                                               : ShowText(response.identity()));
  fact("roles", absl::StrJoin(response.roles(), ", "));
  fact("crawl ids", Limit(response.crawl_ids()));
  fact("hosts", Limit(response.hosts()));
  fact("sources", Limit(response.sources()));
  fact("items per second",
       response.has_items_per_second() ? ShowNumber(response.items_per_second()) : "not limited");
  session.out() << "may call\n";
  for (const std::string& method : response.methods()) {
    session.out() << "  " << ShowText(method) << '\n';
  }
  return kAccepted;
}

}  // namespace

void AddAuthCommands(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("auth", "Make tokens, and show what a token may do");
  command->require_subcommand(1);
  auto* hash = command->add_subcommand(
      "hash-token", "Hash a token for the auth file; reads the token from standard input");
  const auto new_file = std::make_shared<std::string>();
  hash->add_option("--generate", *new_file, "Make a new token instead, and write it to this file");
  hash->callback([new_file, &action] {
    action = [new_file](Session& session) { return HashToken(session, *new_file); };
  });
  command->add_subcommand("check", "Show your identity on the server, and what it may do")
      ->callback([&action] { action = Check; });
}

}  // namespace freshet::cli
