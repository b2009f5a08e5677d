#include "tools/demo/operator_page.h"

#include <httplib.h>

namespace freshet::demo {
namespace {

constexpr time_t kTimeoutMicros = 500'000;

}  // namespace

OperatorPage::OperatorPage(const std::string& address, const ClientSecurity& security)
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

OperatorPage::~OperatorPage() = default;

Status OperatorPage::Annotate(const std::string& json) {
  const httplib::Result result = client_->Post("/annotations", json, "application/json");
  if (!result) {
    return MakeStatus(absl::StatusCode::kUnavailable, "the operator page at {} does not answer: {}",
                      address_, httplib::to_string(result.error()));
  }
  if (result->status / 100 != 2) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      "the operator page at {} answers {} to annotations: {}", address_,
                      result->status, result->body.substr(0, 200));
  }
  return absl::OkStatus();
}

}  // namespace freshet::demo
