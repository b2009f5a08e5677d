// Canonical URLs and the frozen hashes that place pages. The same page must always get the same
// text and the same slot, whatever client sent it and whichever release reads it back.
#ifndef FRESHET_CORE_BASE_URL_H_
#define FRESHET_CORE_BASE_URL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/base/units.h"

namespace freshet {

// A URL in canonical form. Value type, thread-compatible.
struct CanonicalUrl {
  std::string text;  // the whole URL, without fragment
  std::string host;  // lower case, IDNA-encoded; IPv6 in brackets; without port
};

// Brings an absolute http or https URL into canonical form: lower-case scheme and host, IDNA host,
// no default port, no fragment, dot segments resolved, percent escapes in upper case, escapes of
// unreserved characters undone, everything that RFC 3986 does not allow (and a bare `%`) escaped,
// empty path as "/". Letters of path and query keep their case. Idempotent.
//
// InvalidArgument, with a reason that can be shown to a client, for: empty text, more than
// limits::kMaxUrlBytes, invalid UTF-8, control characters or white space, another scheme, user
// information, a missing or malformed host or port.
[[nodiscard]] StatusOr<CanonicalUrl> Canonicalise(std::string_view url);

// The crawl id that a message means: "DEFAULT" when empty. InvalidArgument when it is longer than
// limits::kMaxCrawlIdBytes or holds anything but printable ASCII without space.
[[nodiscard]] StatusOr<std::string> CanonicalCrawlId(std::string_view crawl_id);

// InvalidArgument unless `text` is valid UTF-8 without control characters and within `max_bytes`;
// `field` names it in the message.
[[nodiscard]] Status ValidateText(std::string_view field, std::string_view text, size_t max_bytes);

// The slot of a host. Frozen: stored keys start with it. XXH3 (64 bit, seed 0) modulo 4096.
[[nodiscard]] Slot SlotOfHost(std::string_view host);

// A 64-bit fingerprint of (crawl id, canonical URL) for maps; not an identity. Frozen.
[[nodiscard]] uint64_t Fingerprint(std::string_view crawl_id, std::string_view url);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_URL_H_
