// Canonical URLs, and the frozen hash that assigns hosts to slots. A page must always get the same
// text and the same slot, whichever client sends it and whichever release reads it back.
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
  std::string host;  // the host without port or trailing dots: HostOfCanonical(text)
};

// Brings an absolute http or https URL into canonical form: the text to which the WHATWG URL
// standard serialises it, without the fragment. A browser would fetch the same URL, so different
// pages never get the same text.
// - Scheme and host are in lower case, and the host is in ASCII (core/base/url_host.h).
// - The default port, and spaces around the URL, are removed.
// - Dot segments are resolved. Characters that the standard forbids in the path or query are
//   escaped. Existing escapes are kept (core/base/url_path.h).
// - An empty path becomes "/".
// The function is idempotent.
//
// Not OK: InvalidArgument, with a reason that can be shown to a client, for text that the standard
// refuses. Some text that the standard accepts is refused too, because a crawler should not guess
// its meaning: control characters (also tabs and line breaks), user information, fewer than two
// slashes after the scheme, invalid UTF-8, hosts that are only dots or longer than
// limits::kMaxHostBytes, schemes other than http and https, and more than limits::kMaxUrlBytes
// before or after the conversion.
//
// Linear time. A URL in plain ASCII costs a few hundred nanoseconds and two allocations, one of
// them only if the host is longer than 15 bytes. A host that is not ASCII costs microseconds
// (core/base/idna.h).
[[nodiscard]] StatusOr<CanonicalUrl> Canonicalise(std::string_view url);

// The host of a canonical URL, without port. An IPv6 address is in brackets. The host decides in
// which slot a page is, and politeness applies per host. Trailing dots are left out, because a name
// means the same machine with and without them. A view into `text`.
[[nodiscard]] std::string_view HostOfCanonical(std::string_view text);

// Returns "DEFAULT" for an empty crawl id, and any other valid crawl id unchanged. Not OK:
// InvalidArgument if `crawl_id` is longer than limits::kMaxCrawlIdBytes or contains spaces or
// characters that are not printable ASCII.
[[nodiscard]] StatusOr<std::string> CanonicalCrawlId(std::string_view crawl_id);

// The slot of a host: XXH3 (64 bit, seed 0) modulo 4096. Frozen: stored keys start with the slot.
[[nodiscard]] Slot SlotOfHost(std::string_view host);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_URL_H_
