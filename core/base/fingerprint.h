// Fingerprints of pages and other hashes of texts that are not frozen.
//
// URLs are chosen by those who are crawled. Two URLs of one fingerprint are kept apart by their
// texts wherever fingerprints are used, but a great many of them would make every look-up slow; so
// fingerprints are made by SipHash-2-4, a pseudo-random function, with a secret that every store
// draws for itself: who does not know it finds no two URLs of one fingerprint other than by chance.
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

  // The secret of nobody: for what has no store.
  Fingerprinter() = default;
  // `bits`, 0 to 64: how many of the bits may be other than zero. Tests take few, so that all pages
  // have one of a few fingerprints.
  explicit Fingerprinter(const FingerprintSecret& secret, int bits = kBits);

  // Of (crawl id, canonical URL); the crawl id holds no zero byte. Not an identity.
  [[nodiscard]] uint64_t Of(std::string_view crawl_id, std::string_view url) const;

 private:
  FingerprintSecret secret_{};
  uint64_t mask_ = UINT64_MAX;
};

// A hash of two texts for what is not kept, or only compared. Whoever chooses the texts can make
// two hashes equal. May differ between releases.
[[nodiscard]] uint64_t HashOfTexts(std::string_view scope, std::string_view text);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_FINGERPRINT_H_
