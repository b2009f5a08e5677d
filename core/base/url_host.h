// The host part of a URL, after the host parser of the WHATWG URL standard.
#ifndef FRESHET_CORE_BASE_URL_HOST_H_
#define FRESHET_CORE_BASE_URL_HOST_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace freshet {

// Appends the canonical text of a host as a URL spells it (valid UTF-8, without port): a name in
// lower case and ASCII, with its escapes undone and its trailing dot kept; an IPv4 address as four
// decimal numbers, whatever way it was written; an IPv6 address compressed, in brackets.
//
// InvalidArgument ("url: ..."), with `out` in any state, for other text: nothing or nothing but
// dots, a character that no host may hold, an address out of range, more than
// limits::kMaxHostBytes. Thread-safe. A name in plain ASCII costs some nanoseconds a byte and no
// allocation; only other names go to ICU.
[[nodiscard]] Status AppendHost(std::string_view host, std::string* out);

// The machine that a canonical host means: `example.com.` is `example.com`. A view into `host`.
[[nodiscard]] std::string_view WithoutTrailingDots(std::string_view host);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_URL_HOST_H_
