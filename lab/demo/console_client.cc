#include "lab/demo/console_client.h"

#include <absl/strings/numbers.h>
#include <httplib.h>

#include <algorithm>
#include <string_view>

namespace freshet::demo {
namespace {

constexpr time_t kTimeoutMicros = 500'000;

absl::string_view FirstWord(std::string_view text) {
  return {text.data(), std::min(text.find_first_of(" \n"), text.size())};
}

}  // namespace

ConsoleClient::ConsoleClient(const std::string& address, const ClientSecurity& security)
    : address_(address),
      client_(std::make_unique<httplib::Client>(
          (security.speaks_tls() ? "https://" : "http://") + address, security.certificate,
          security.key)) {
  if (!security.ca.empty()) client_->set_ca_cert_path(security.ca);
  const auto token = TokenOf(security);
  if (token.ok() && !token->empty()) client_->set_bearer_token_auth(*token);
  client_->set_connection_timeout(0, kTimeoutMicros);
  client_->set_read_timeout(0, kTimeoutMicros);
  client_->set_write_timeout(0, kTimeoutMicros);
  client_->set_keep_alive(true);
}

ConsoleClient::~ConsoleClient() = default;

std::optional<int64_t> ConsoleClient::LookAheadMicros() {
  constexpr std::string_view kName = "\nfreshet_lookahead_seconds ";
  const httplib::Result result = client_->Get("/metrics");
  if (!result || result->status != 200) return std::nullopt;
  const size_t at = result->body.find(kName);
  double seconds = 0;
  if (at == std::string::npos ||
      !absl::SimpleAtod(FirstWord(std::string_view(result->body).substr(at + kName.size())),
                        &seconds)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(seconds * 1e6);
}

Status ConsoleClient::Annotate(const std::string& json) {
  const httplib::Result result = client_->Post("/annotations", json, "application/json");
  if (!result) {
    return MakeStatus(absl::StatusCode::kUnavailable, "the console at {} does not answer: {}",
                      address_, httplib::to_string(result.error()));
  }
  if (result->status / 100 != 2) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      "the console at {} refused annotations with status {}: {}", address_,
                      result->status, result->body.substr(0, 200));
  }
  return absl::OkStatus();
}

}  // namespace freshet::demo
