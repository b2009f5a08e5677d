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
  std::string host;  // the machine: HostOfCanonical(text)
};

// Brings an absolute http or https URL into canonical form: the text that the WHATWG URL standard
// makes of it, without the fragment. It is what a browser would fetch, so no two pages become one.
// Scheme and host are in lower case, the host in ASCII (core/base/url_host.h), the default port is
// left out; dot segments are resolved, what the standard forbids in path or query is escaped, and
// escapes are left as they are (core/base/url_path.h); an empty path is "/". Spaces around the URL
// are left out. Idempotent.
//
// InvalidArgument, with a reason that can be shown to a client, for text that the standard refuses,
// and for some that it accepts and a crawler should not guess at: control characters (tabs and line
// breaks too), user information, fewer than two slashes after the scheme, invalid UTF-8, hosts of
// nothing but dots or more than limits::kMaxHostBytes, another scheme, and more than
// limits::kMaxUrlBytes before or after.
//
// Linear. A URL in plain ASCII costs a few hundred nanoseconds and two allocations, one of them for
// a host of more than 15 bytes; a host that is not ASCII costs microseconds (core/base/idna.h).
[[nodiscard]] StatusOr<CanonicalUrl> Canonicalise(std::string_view url);

// The host of a canonical URL, by which pages are placed and politeness is kept: without port, IPv6
// in brackets, and without the trailing dot that the text may have, since with and without it a
// name means one machine. A view into `text`.
[[nodiscard]] std::string_view HostOfCanonical(std::string_view text);

// The crawl id that a message means: "DEFAULT" when empty. InvalidArgument when it is longer than
// limits::kMaxCrawlIdBytes or holds anything but printable ASCII without space.
[[nodiscard]] StatusOr<std::string> CanonicalCrawlId(std::string_view crawl_id);

// The slot of a host. Frozen: stored keys start with it. XXH3 (64 bit, seed 0) modulo 4096.
[[nodiscard]] Slot SlotOfHost(std::string_view host);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_URL_H_
