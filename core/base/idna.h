// Converts international host names to the ASCII form in which browsers look them up. In the core,
// only the implementation of this header uses ICU's IDNA functions.
#ifndef FRESHET_CORE_BASE_IDNA_H_
#define FRESHET_CORE_BASE_IDNA_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace freshet {

// Appends the ASCII form of a domain name (valid UTF-8), following Unicode's UTS #46,
// non-transitional. The checks are those of the WHATWG URL standard: joiners and the direction of
// writing are checked; hyphens, lengths and STD3 rules (only the ASCII characters of DNS names) are
// not. The caller checks for characters that are forbidden in hosts.
//
// Not OK: InvalidArgument ("url: ..."), with `out` unchanged, if UTS #46 refuses the name or it has
// more than limits::kMaxHostBytes in ASCII. UTS #46 also refuses malformed `xn--` labels and
// characters that the library's Unicode version does not assign. Thread-safe. Takes a few
// microseconds, and never more than a millisecond.
[[nodiscard]] Status AppendDomainInAscii(std::string_view name, std::string* out);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_IDNA_H_
