#include "server/auth/on_behalf.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "absl/strings/numbers.h"
#include "core/base/check.h"
#include "server/base/client_network.h"

namespace freshet {
namespace {

// An entry of metadata may have any bytes as its value if its name ends in -bin.
constexpr std::string_view kKey = "freshet-inside-bin";
constexpr std::string_view kAuthorization = "freshet-authorization-bin";
constexpr std::string_view kCertificate = "freshet-certificate";
constexpr std::string_view kName = "freshet-name-bin";
constexpr std::string_view kEnds = "freshet-certificate-ends";
constexpr std::string_view kPeer = "freshet-peer";
constexpr std::string_view kSentOn = "freshet-sent-on";
constexpr std::string_view kLetIn = "freshet-let-in";
constexpr std::array kAll = {kKey,  kAuthorization, kCertificate, kName,
                             kEnds, kPeer,          kSentOn,      kLetIn};

bool IsOwnKey(std::string_view key) {
  const std::string& own = OwnKey();
  return key.size() == own.size() && CRYPTO_memcmp(key.data(), own.data(), own.size()) == 0;
}

}  // namespace

const std::string& OwnKey() {
  static const std::string* const kKeyOfProcess = [] {
    std::array<unsigned char, 32> bytes{};
    CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1, "no random bytes");
    return new std::string(bytes.begin(), bytes.end());
  }();
  return *kKeyOfProcess;
}

std::string_view MarkOfKey() {
  static const std::string* const kMark = [] {
    auto* const mark = new std::string(1, '\0');
    *mark += static_cast<char>(kKey.size());
    *mark += kKey;
    // gRPC puts a zero byte before a value that is not in base64.
    *mark += static_cast<char>(OwnKey().size() + 1);
    *mark += '\0';
    return mark;
  }();
  return *kMark;
}

std::vector<std::pair<std::string, std::string>> OnBehalfOf(const ShownByClient& client,
                                                            const std::string& key) {
  std::vector<std::pair<std::string, std::string>> metadata;
  metadata.emplace_back(kKey, key);
  for (const std::string& value : client.authorizations) {
    metadata.emplace_back(kAuthorization, value);
  }
  if (client.certificate) metadata.emplace_back(kCertificate, "1");
  for (const std::string& name : client.names) metadata.emplace_back(kName, name);
  if (!client.certificate_ends.infinite()) {
    metadata.emplace_back(kEnds, std::to_string(client.certificate_ends.micros()));
  }
  metadata.emplace_back(kPeer, client.address);
  if (client.sent_on) metadata.emplace_back(kSentOn, "1");
  return metadata;
}

std::pair<std::string, std::string> LetInAlready() { return {std::string(kLetIn), "1"}; }

bool IsOnBehalf(std::string_view name) {
  return std::find(kAll.begin(), kAll.end(), name) != kAll.end();
}

void OnBehalfReader::Add(std::string_view name, std::string_view value) {
  if (name == kKey) {
    has_key_ = true;
    believed_ = IsOwnKey(value);
  }
  if (name == kAuthorization) {
    credentials_.AddAuthorization(value);
    shown_.authorizations.emplace_back(value);
  }
  if (name == kCertificate) credentials_.certificate = shown_.certificate = true;
  if (name == kName) {
    credentials_.names.emplace_back(value);
    shown_.names.emplace_back(value);
  }
  if (int64_t micros = 0;
      name == kEnds && absl::SimpleAtoi({value.data(), value.size()}, &micros)) {
    credentials_.certificate_ends = shown_.certificate_ends = Instant::FromMicros(micros);
  }
  if (name == kSentOn) shown_.sent_on = true;
  if (name == kLetIn) let_in_ = shown_.hurried = true;
  if (name != kPeer) return;
  shown_.address = value;
  if (const auto address = ParseIpAddress(value)) credentials_.network = NetworkOf(*address);
}

std::optional<Credentials> OnBehalfReader::Take() {
  if (!believed_) return std::nullopt;
  return std::move(credentials_);
}

std::optional<ShownByClient> OnBehalfReader::TakeShown() {
  if (!believed_) return std::nullopt;
  return std::move(shown_);
}

}  // namespace freshet
