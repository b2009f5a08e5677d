#include "server/auth/identities.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "core/base/url.h"
#include "core/base/wrong_value.h"
#include "fmt/format.h"
#include "server/config.h"
#include "yaml-cpp/yaml.h"

namespace freshet {
namespace {

uint64_t PrefixOf(const TokenDigest& digest) {
  uint64_t prefix = 0;
  std::memcpy(&prefix, digest.data(), sizeof(prefix));
  return prefix;
}

// Reads a string or a list of strings.
StatusOr<std::vector<std::string>> TextsOf(std::string_view key, const YAML::Node& node) {
  std::vector<std::string> texts;
  if (node.IsScalar()) {
    texts.push_back(node.Scalar());
  } else if (node.IsSequence()) {
    for (const YAML::Node& text : node) {
      if (!text.IsScalar()) return InvalidArgument("{}: has an entry that is not a string", key);
      texts.push_back(text.Scalar());
    }
  }
  if (texts.empty()) return InvalidArgument("{}: must be a string or a list of strings", key);
  return texts;
}

// An identity as written in the file, with its tokens and certificates.
struct Written {
  Identity identity;
  std::vector<TokenDigest> tokens;
  std::vector<std::string> certificates;
};

Status ReadTokens(const std::vector<std::string>& texts, Written* out) {
  for (const std::string& text : texts) {
    const std::optional<TokenDigest> digest = ParseDigest(text);
    // The error does not quote the text: it might be the token itself, given by mistake.
    if (!digest) {
      return InvalidArgument(
          "token_sha256: must be 64 hexadecimal digits, as `freshet auth hash-token` prints them");
    }
    out->tokens.push_back(*digest);
  }
  return absl::OkStatus();
}

Status ReadRoles(const std::vector<std::string>& texts, Written* out) {
  for (const std::string& text : texts) {
    const Roles role = RoleNamed(text);
    if (role == 0) {
      return InvalidArgument("roles: {}",
                             WrongChoice(text, {"worker", "ingester", "reader", "admin"}));
    }
    out->identity.roles |= role;
  }
  return absl::OkStatus();
}

Status ReadHosts(const std::vector<std::string>& texts, Written* out) {
  std::vector<std::string>& hosts = out->identity.hosts.emplace();
  for (const std::string& text : texts) {
    const StatusOr<CanonicalUrl> url = Canonicalise(fmt::format("http://{}/", text));
    if (!url.ok() || url->text != fmt::format("http://{}/", url->host)) {
      return InvalidArgument("hosts: {}", WrongValue(text, "a host"));
    }
    hosts.push_back(url->host);
  }
  return absl::OkStatus();
}

Status ReadCrawlIds(const std::vector<std::string>& texts, Written* out) {
  std::vector<std::string>& ids = out->identity.crawl_ids.emplace();
  for (const std::string& text : texts) {
    const StatusOr<std::string> id = CanonicalCrawlId(text);
    if (!id.ok()) return InvalidArgument("crawl_ids: {}", WrongValue(text, "a crawl id"));
    ids.push_back(*id);
  }
  return absl::OkStatus();
}

Status ReadItemRate(const std::vector<std::string>& texts, Written* out) {
  double rate = 0;
  const std::string& text = texts.front();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (texts.size() != 1 || error != std::errc() || end != text.data() + text.size() ||
      !(rate >= limits::kLeastItemsPerSecond && rate <= limits::kMostItemsPerSecond)) {
    return InvalidArgument("items_per_second: must be a single number from {:g} to {:g}",
                           limits::kLeastItemsPerSecond, limits::kMostItemsPerSecond);
  }
  out->identity.items_per_second = rate;
  return absl::OkStatus();
}

Status ReadKey(const std::string& key, const std::vector<std::string>& texts, Written* out) {
  if (key == "name") {
    out->identity.name = texts.front();
    return absl::OkStatus();
  }
  if (key == "token_sha256") return ReadTokens(texts, out);
  if (key == "certificate") {
    out->certificates = texts;
    return absl::OkStatus();
  }
  if (key == "roles") return ReadRoles(texts, out);
  if (key == "hosts") return ReadHosts(texts, out);
  if (key == "crawl_ids") return ReadCrawlIds(texts, out);
  if (key == "sources") {
    out->identity.sources = texts;
    return absl::OkStatus();
  }
  if (key == "items_per_second") return ReadItemRate(texts, out);
  return InvalidArgument("{}: unknown key{}", key,
                         DidYouMean(key, {"name", "token_sha256", "certificate", "roles", "hosts",
                                          "crawl_ids", "sources", "items_per_second"}));
}

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxIdentityNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' ||
                  c == '.' || c == '@';
         });
}

Status Validate(const Written& written) {
  const Identity& identity = written.identity;
  if (identity.roles == 0) return InvalidArgument("roles: is missing");
  if (written.tokens.empty() && written.certificates.empty()) {
    return InvalidArgument(
        "token_sha256: is missing; an identity needs token_sha256 or certificate");
  }
  // Admins cannot be limited, because they change rates and policies, which affect all clients.
  if (identity.limits() != 0 && (identity.roles & kAdmin) != 0) {
    return InvalidArgument(
        "roles: an identity with the role admin cannot be limited to crawl_ids, hosts or sources: "
        "use a separate identity for the admin");
  }
  // A worker can be limited to crawl ids, but gets pages of all hosts.
  if ((identity.limits() & ~kCrawlIds) != 0 && (identity.roles & kWorker) != 0) {
    return InvalidArgument(
        "roles: an identity with the role worker cannot be limited to hosts or sources: use a "
        "separate identity for the worker");
  }
  return absl::OkStatus();
}

StatusOr<Written> ReadIdentity(const YAML::Node& node) {
  if (!node.IsMap()) return InvalidArgument("must be a map of keys to values");
  Written written;
  std::set<std::string> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) return InvalidArgument("has a key that is not a string");
    const std::string& key = entry.first.Scalar();
    if (!seen.insert(key).second) return InvalidArgument("{}: is given twice", key);
    ASSIGN_OR_RETURN(const std::vector<std::string> texts, TextsOf(key, entry.second));
    RETURN_IF_ERROR(ReadKey(key, texts, &written));
  }
  if (!IsName(written.identity.name)) {
    return InvalidArgument(
        "name: must be 1 to {} characters of a-z, A-Z, 0-9, '_', '-', '.' and '@'",
        kMaxIdentityNameBytes);
  }
  RETURN_IF_ERROR(Validate(written));
  return written;
}

StatusOr<YAML::Node> ListIn(std::string_view yaml) {
  RETURN_IF_ERROR(CheckYamlShape(yaml));
  const YAML::Node root = YAML::Load(std::string(yaml));
  if (!root.IsMap() || root.size() != 1 || !root["identities"]) {
    return InvalidArgument("the file must have one key, `identities`");
  }
  YAML::Node list = root["identities"];
  if (!list.IsSequence() || list.size() == 0) return InvalidArgument("identities: is not a list");
  if (list.size() > kMaxIdentities) {
    return InvalidArgument("identities: {} identities are over the limit of {}", list.size(),
                           kMaxIdentities);
  }
  return list;
}

}  // namespace

TokenDigest DigestOf(std::string_view token) {
  TokenDigest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  return digest;
}

std::optional<TokenDigest> ParseDigest(std::string_view hex) {
  TokenDigest digest{};
  const bool digits = std::all_of(hex.begin(), hex.end(), [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c));
  });
  if (!digits || hex.size() != 2 * digest.size()) return std::nullopt;
  const std::string bytes = absl::HexStringToBytes({hex.data(), hex.size()});
  std::memcpy(digest.data(), bytes.data(), digest.size());
  return digest;
}

std::string HexOf(const TokenDigest& digest) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

bool IsWithin(std::string_view host, std::string_view domain) {
  if (host == domain) return true;
  const bool address =
      host.starts_with('[') || host.find_first_not_of("0123456789.") == std::string_view::npos;
  return !address && host.size() > domain.size() && host.ends_with(domain) &&
         host[host.size() - domain.size() - 1] == '.';
}

StatusOr<Identities> Identities::Parse(std::string_view yaml) {
  if (yaml.size() > kMaxAuthFileBytes) {
    return InvalidArgument("the file is over the limit of {} bytes", kMaxAuthFileBytes);
  }
  try {
    ASSIGN_OR_RETURN(const YAML::Node list, ListIn(yaml));
    Identities all;
    std::set<std::string> names;
    for (const YAML::Node& node : list) {
      const std::string where = fmt::format("identity {}", ++all.size_);
      StatusOr<Written> written = ReadIdentity(node);
      RETURN_IF_ERROR(WithKey(where, written.status()));
      const std::string name = written->identity.name;
      const auto identity = std::make_shared<const Identity>(std::move(written->identity));
      if (!names.insert(name).second)
        return InvalidArgument("{}: '{}' is there twice", where, name);
      for (const TokenDigest& digest : written->tokens) {
        const auto [it, fresh] =
            all.by_token_.try_emplace(PrefixOf(digest), Entry{digest, identity});
        if (!fresh)
          return InvalidArgument("{}: another identity has the token of '{}' too", where, name);
      }
      for (const std::string& certificate : written->certificates) {
        if (!all.by_certificate_.try_emplace(certificate, identity).second) {
          return InvalidArgument("{}: another identity has the certificate '{}' too", where,
                                 certificate);
        }
      }
    }
    return all;
  } catch (const YAML::Exception& error) {
    // The message of the error would quote the file, so only the line is reported.
    return InvalidArgument("is not valid YAML, line {}", error.mark.line + 1);
  }
}

std::shared_ptr<const Identity> Identities::OfToken(const TokenDigest& digest) const {
  const auto it = by_token_.find(PrefixOf(digest));
  if (it == by_token_.end()) return nullptr;
  const bool same = CRYPTO_memcmp(it->second.digest.data(), digest.data(), digest.size()) == 0;
  return same ? it->second.identity : nullptr;
}

std::shared_ptr<const Identity> Identities::OfCertificate(
    const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    const auto it = by_certificate_.find(name);
    if (it != by_certificate_.end()) return it->second;
  }
  return nullptr;
}

}  // namespace freshet
