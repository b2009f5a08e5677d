// Fingerprints of pages, and a general hash of texts.
//
// The owners of crawled sites choose URLs, so an attacker can try to craft URLs with equal
// fingerprints. Every lookup by fingerprint also compares the URLs, so collisions cause no errors.
// But a very large number of collisions would slow down the lookups. Therefore fingerprints are
// computed with SipHash-2-4, a pseudo-random function, under a secret that is drawn at random for
// each store. Without the secret, nobody can find two URLs with the same fingerprint except by
// chance.
#ifndef FRESHET_CORE_BASE_FINGERPRINT_H_
#define FRESHET_CORE_BASE_FINGERPRINT_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace freshet {

// The secret key of a store. Never logged or shown.
using FingerprintSecret = std::array<uint8_t, 16>;

// Value type, thread-compatible.
class Fingerprinter {
 public:
  static constexpr int kBits = 64;

  // Uses a secret of zeros, for callers without a store.
  Fingerprinter() = default;
  // Only the lowest `bits` bits of a fingerprint can be set, 0 to 64. Tests pass few bits to make
  // fingerprints collide.
  explicit Fingerprinter(const FingerprintSecret& secret, int bits = kBits);

  // The fingerprint of a crawl id (without zero bytes) and a canonical URL. Two pages can have the
  // same fingerprint.
  [[nodiscard]] uint64_t Of(std::string_view crawl_id, std::string_view url) const;

 private:
  FingerprintSecret secret_{};
  uint64_t mask_ = UINT64_MAX;
};

// A hash of two texts. It uses no secret, so the author of the texts can make two hashes equal. It
// can differ between releases, so it must not be stored.
[[nodiscard]] uint64_t HashOfTexts(std::string_view scope, std::string_view text);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_FINGERPRINT_H_
