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

// The SHA-256 of a token. The server never stores the token.
using TokenDigest = std::array<unsigned char, 32>;
[[nodiscard]] TokenDigest DigestOf(std::string_view text);
// Reads 64 hexadecimal digits, in upper or lower case; nullopt = the text is something else.
[[nodiscard]] std::optional<TokenDigest> ParseDigest(std::string_view hex);
// Writes hexadecimal digits in lower case.
[[nodiscard]] std::string HexOf(const TokenDigest& digest);

// Value type, thread-compatible.
struct Identity {
  std::string name;
  Roles roles = 0;
  // The limits of the identity; unset = no limit.
  std::optional<std::vector<std::string>> crawl_ids;  // canonical
  std::optional<std::vector<std::string>> hosts;      // canonical
  std::optional<std::vector<std::string>> sources;
  std::optional<double> items_per_second;

  [[nodiscard]] LimitKinds limits() const {
    return static_cast<LimitKinds>((crawl_ids ? kCrawlIds : 0) | (hosts ? kHosts : 0) |
                                   (sources ? kSources : 0));
  }
};

// Whether `host` is `domain` or a subdomain of it. An IP address is a subdomain of nothing.
[[nodiscard]] bool IsWithin(std::string_view host, std::string_view domain);

// Thread-compatible.
class Identities {
 public:
  // Parses an auth file. InvalidArgument: the message names the identity and the key at fault, and
  // never quotes a value that could be a secret.
  [[nodiscard]] static StatusOr<Identities> Parse(std::string_view yaml);

  // The identity to which this token belongs; nullptr = none.
  [[nodiscard]] std::shared_ptr<const Identity> OfToken(const TokenDigest& digest) const;
  // Returns the identity that a certificate with these names proves; nullptr = none. The first name
  // that belongs to an identity counts.
  [[nodiscard]] std::shared_ptr<const Identity> OfCertificate(
      const std::vector<std::string>& names) const;
  [[nodiscard]] size_t size() const { return size_; }

 private:
  struct Entry {
    TokenDigest digest;
    std::shared_ptr<const Identity> identity;
  };
  // Identities by the first 8 bytes of their tokens' digests. The time of a lookup reveals nothing
  // useful, because nobody can choose the digest of a token. The whole digest is then compared in
  // constant time.
  absl::flat_hash_map<uint64_t, Entry> by_token_;
  absl::flat_hash_map<std::string, std::shared_ptr<const Identity>> by_certificate_;
  size_t size_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_AUTH_IDENTITIES_H_
