// International host names in ASCII, as browsers look them up. The only place that knows ICU.
#ifndef FRESHET_CORE_BASE_IDNA_H_
#define FRESHET_CORE_BASE_IDNA_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace freshet {

// Appends a domain name (valid UTF-8) in ASCII: Unicode's UTS #46, non-transitional, with the
// checks that the WHATWG URL standard asks for: of joiners and of the direction of writing, not of
// hyphens, of lengths or for letters of DNS alone. Characters that no host may hold are the
// caller's to find.
//
// InvalidArgument ("url: ..."), with `out` as it was, for what UTS #46 refuses (characters that
// were not assigned in the Unicode version of the library, malformed `xn--` labels) and for more
// than limits::kMaxHostBytes in ASCII. Thread-safe; some microseconds, and no more than a
// millisecond however the name is made.
[[nodiscard]] Status AppendDomainInAscii(std::string_view name, std::string* out);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_IDNA_H_
