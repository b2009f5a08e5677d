// The host part of a URL, following the host parser of the WHATWG URL standard.
#ifndef FRESHET_CORE_BASE_URL_HOST_H_
#define FRESHET_CORE_BASE_URL_HOST_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace freshet {

// Appends the canonical text of `host`, which is the host part of a URL (valid UTF-8, without
// port). A name becomes ASCII in lower case, with its escapes decoded and its trailing dot kept. An
// IPv4 address becomes four decimal numbers, however it was written. An IPv6 address is compressed,
// in brackets.
//
// Not OK: InvalidArgument ("url: ..."), with `out` in any state, for other text: an empty host, a
// host of only dots, a forbidden character, an address out of range, or more than
// limits::kMaxHostBytes. Thread-safe. A name in plain ASCII costs a few nanoseconds per byte and no
// allocation. Only other names, and names with `xn--` labels, are passed to ICU.
[[nodiscard]] Status AppendHost(std::string_view host, std::string* out);

// The host without trailing dots: `example.com.` and `example.com` are the same machine. A view
// into `host`.
[[nodiscard]] std::string_view WithoutTrailingDots(std::string_view host);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_URL_HOST_H_
