// Fingerprints of pages and other hashes of texts that are not frozen.
//
// The owners of crawled sites choose URLs. All users of fingerprints tell URLs of one fingerprint
// apart by their texts, but a great many of them would slow every look-up. So SipHash-2-4, a
// pseudo-random function, makes fingerprints with a secret that every store draws for itself:
// without the secret, nobody finds two URLs of one fingerprint except by chance.
#ifndef FRESHET_CORE_BASE_FINGERPRINT_H_
#define FRESHET_CORE_BASE_FINGERPRINT_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace freshet {

// The secret of a store. Never logged or shown.
using FingerprintSecret = std::array<uint8_t, 16>;

// Value type, thread-compatible.
class Fingerprinter {
 public:
  static constexpr int kBits = 64;

  // A secret of zeros, for uses without a store.
  Fingerprinter() = default;
  // `bits`, 0 to 64: how many bits of a fingerprint can be set. Tests take few bits, so that
  // fingerprints collide.
  explicit Fingerprinter(const FingerprintSecret& secret, int bits = kBits);

  // The fingerprint of a crawl id (without zero byte) and a canonical URL. Not an identity.
  [[nodiscard]] uint64_t Of(std::string_view crawl_id, std::string_view url) const;

 private:
  FingerprintSecret secret_{};
  uint64_t mask_ = UINT64_MAX;
};

// A hash of two texts, for values that are not kept, or only compared. The author of the texts can
// make two hashes equal. The hash may differ between releases.
[[nodiscard]] uint64_t HashOfTexts(std::string_view scope, std::string_view text);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_FINGERPRINT_H_
