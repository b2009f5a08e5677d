#include "server/api/inside.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <array>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "server/base/client_network.h"

namespace freshet {
namespace {

// Values may be any bytes.
constexpr char kKeyField[] = "freshet-inside-bin";
constexpr char kAuthorizationField[] = "freshet-authorization-bin";
constexpr char kCertificateField[] = "freshet-certificate";
constexpr char kNameField[] = "freshet-name-bin";
constexpr char kPeerField[] = "freshet-peer";

// Of this process.
const std::string& InsideKey() {
  static const std::string* const kKey = [] {
    std::array<unsigned char, 32> bytes{};
    CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1, "no random bytes");
    return new std::string(bytes.begin(), bytes.end());
  }();
  return *kKey;
}

std::string_view TextOf(const grpc::string_ref& text) { return {text.data(), text.size()}; }

bool HasKey(const grpc::CallbackServerContext& call) {
  const auto key = call.client_metadata().find(kKeyField);
  if (key == call.client_metadata().end()) return false;
  const std::string& own = InsideKey();
  return key->second.size() == own.size() &&
         CRYPTO_memcmp(key->second.data(), own.data(), own.size()) == 0;
}

}  // namespace

void ComeAs(const HttpRequest& request, grpc::ClientContext* call) {
  call->AddMetadata(kKeyField, InsideKey());
  for (const auto& [name, value] : request.fields) {
    if (SameIgnoringCase(name, "Authorization")) call->AddMetadata(kAuthorizationField, value);
  }
  if (request.certificate) call->AddMetadata(kCertificateField, "1");
  for (const std::string& name : request.certificate_names) call->AddMetadata(kNameField, name);
  call->AddMetadata(kPeerField, request.peer);
}

std::optional<Credentials> InsideCredentials(const grpc::CallbackServerContext& call) {
  if (!HasKey(call)) return std::nullopt;
  Credentials credentials;
  for (const auto& [name, value] : call.client_metadata()) {
    const std::string_view field = TextOf(name);
    if (field == kAuthorizationField) credentials.AddAuthorization(TextOf(value));
    if (field == kCertificateField) credentials.certificate = true;
    if (field == kNameField) credentials.names.emplace_back(TextOf(value));
    if (field != kPeerField) continue;
    if (const auto address = ParseIpAddress(TextOf(value))) {
      credentials.network = NetworkOf(*address);
    }
  }
  return credentials;
}

}  // namespace freshet
