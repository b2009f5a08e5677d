// The identities of an auth file: what proves each, and what it may do.
//
// The file is YAML:
//   identities:
//     - name: site-example
//       token_sha256: [9f86d0...]        # or certificate: [a DNS name, URI, address of the SAN]
//       roles: [ingester]
//       sources: [cdn]                   # optional limits, each a list
//       hosts: [example.org]             # a host and all below it
//       crawl_ids: [news]
//       items_per_second: 100
#ifndef FRESHET_SERVER_AUTH_IDENTITIES_H_
#define FRESHET_SERVER_AUTH_IDENTITIES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/status.h"
#include "server/auth/methods.h"

namespace freshet {

inline constexpr size_t kMaxAuthFileBytes = size_t{4} << 20;
inline constexpr size_t kMaxIdentities = 10'000;
inline constexpr size_t kMaxIdentityNameBytes = 64;

// Makes a SHA-256. No more of a token is kept.
using TokenDigest = std::array<unsigned char, 32>;
[[nodiscard]] TokenDigest DigestOf(std::string_view text);
// Reads 64 digits of hex, either case.
[[nodiscard]] std::optional<TokenDigest> ParseDigest(std::string_view hex);
// In lower case.
[[nodiscard]] std::string HexOf(const TokenDigest& digest);

// Value type, thread-compatible.
struct Identity {
  std::string name;
  Roles roles = 0;
  // The things that the identity is limited to; unset = no limit.
  std::optional<std::vector<std::string>> crawl_ids;  // canonical
  std::optional<std::vector<std::string>> hosts;      // canonical
  std::optional<std::vector<std::string>> sources;
  std::optional<double> items_per_second;

  [[nodiscard]] LimitKinds limits() const {
    return static_cast<LimitKinds>((crawl_ids ? kCrawlIds : 0) | (hosts ? kHosts : 0) |
                                   (sources ? kSources : 0));
  }
};

// Whether `host` is `domain` or lies below it. An address is below nothing.
[[nodiscard]] bool IsWithin(std::string_view host, std::string_view domain);

// Thread-compatible.
class Identities {
 public:
  // InvalidArgument names the identity and key at fault, and never quotes what may be a secret.
  [[nodiscard]] static StatusOr<Identities> Parse(std::string_view yaml);

  // nullptr = the token has no identity.
  [[nodiscard]] std::shared_ptr<const Identity> OfToken(const TokenDigest& digest) const;
  // The identity of the first name that has one.
  [[nodiscard]] std::shared_ptr<const Identity> OfCertificate(
      const std::vector<std::string>& names) const;
  [[nodiscard]] size_t size() const { return size_; }

 private:
  struct Entry {
    TokenDigest digest;
    std::shared_ptr<const Identity> identity;
  };
  // Finds a token by a part of its digest. The time that this takes tells nothing useful, because
  // nobody can choose the digest of a token. The whole digest is compared in constant time.
  absl::flat_hash_map<uint64_t, Entry> by_token_;
  absl::flat_hash_map<std::string, std::shared_ptr<const Identity>> by_certificate_;
  size_t size_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_AUTH_IDENTITIES_H_
