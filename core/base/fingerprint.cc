#include "core/base/fingerprint.h"

#include <sodium/crypto_shorthash.h>
#include <xxhash.h>

#include <cstring>
#include <string>

#include "core/base/check.h"

namespace freshet {
namespace {

// The crawl id and URL of nearly all pages fit in this many bytes. Such texts are joined on the
// stack, without an allocation.
constexpr size_t kShortText = 512;
constexpr char kSeparator = '\0';

static_assert(std::tuple_size_v<FingerprintSecret> == crypto_shorthash_KEYBYTES);
static_assert(sizeof(uint64_t) == crypto_shorthash_BYTES);

uint64_t SipHash(const FingerprintSecret& secret, const char* bytes, size_t size) {
  uint64_t hash = 0;
  crypto_shorthash(reinterpret_cast<unsigned char*>(&hash),
                   reinterpret_cast<const unsigned char*>(bytes), size, secret.data());
  return hash;
}

}  // namespace

Fingerprinter::Fingerprinter(const FingerprintSecret& secret, int bits)
    : secret_(secret), mask_(bits == kBits ? UINT64_MAX : (uint64_t{1} << bits) - 1) {
  CHECK(bits >= 0 && bits <= kBits, "{} bits", bits);
}

uint64_t Fingerprinter::Of(std::string_view crawl_id, std::string_view url) const {
  const size_t size = crawl_id.size() + 1 + url.size();
  const auto join = [&](char* out) {
    std::memcpy(out, crawl_id.data(), crawl_id.size());
    out[crawl_id.size()] = kSeparator;
    std::memcpy(out + crawl_id.size() + 1, url.data(), url.size());
  };
  if (size <= kShortText) {
    std::array<char, kShortText> text;
    join(text.data());
    return SipHash(secret_, text.data(), size) & mask_;
  }
  std::string text(size, '\0');
  join(text.data());
  return SipHash(secret_, text.data(), size) & mask_;
}

uint64_t HashOfTexts(std::string_view scope, std::string_view text) {
  return XXH3_64bits_withSeed(text.data(), text.size(), XXH3_64bits(scope.data(), scope.size()));
}

}  // namespace freshet
