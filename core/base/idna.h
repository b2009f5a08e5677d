// International host names in ASCII, as browsers look them up. The only place that knows ICU.
#ifndef FRESHET_CORE_BASE_IDNA_H_
#define FRESHET_CORE_BASE_IDNA_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace freshet {

// Appends a domain name (valid UTF-8) in ASCII: Unicode's UTS #46, non-transitional, with the
// checks that the WHATWG URL standard asks for: of joiners and of the direction of writing, not of
// hyphens, of lengths or for letters of DNS alone. The caller looks for characters that no host may
// hold.
//
// InvalidArgument ("url: ..."), with `out` as it was, for names that UTS #46 refuses and for more
// than limits::kMaxHostBytes in ASCII. UTS #46 refuses characters that the library's Unicode
// version does not assign, and malformed `xn--` labels. Thread-safe; some microseconds, at most a
// millisecond for any name.
[[nodiscard]] Status AppendDomainInAscii(std::string_view name, std::string* out);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_IDNA_H_
