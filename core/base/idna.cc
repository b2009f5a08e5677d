#include "core/base/idna.h"

#include <unicode/uidna.h>

#include <array>

#include "core/base/check.h"
#include "core/base/limits.h"

namespace freshet {
namespace {

// Four bytes per character of the longest host. A longer name cannot fit once it is in ASCII,
// except if it contains characters that the mapping removes. The cap also bounds the work of
// Punycode, which is quadratic in the length of a label.
constexpr size_t kMaxUnicodeBytes = 4 * limits::kMaxHostBytes;

// Errors that do not count, because the URL standard sets CheckHyphens and VerifyDnsLength to
// false.
constexpr uint32_t kPassed = UIDNA_ERROR_EMPTY_LABEL | UIDNA_ERROR_LABEL_TOO_LONG |
                             UIDNA_ERROR_DOMAIN_NAME_TOO_LONG | UIDNA_ERROR_LEADING_HYPHEN |
                             UIDNA_ERROR_TRAILING_HYPHEN | UIDNA_ERROR_HYPHEN_3_4;

// Never closed: names can be processed until the process ends.
const UIDNA* Processor() {
  static const UIDNA* const kProcessor = [] {
    UErrorCode code = U_ZERO_ERROR;
    const UIDNA* opened =
        uidna_openUTS46(UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ | UIDNA_NONTRANSITIONAL_TO_ASCII |
                            UIDNA_NONTRANSITIONAL_TO_UNICODE,
                        &code);
    CHECK(U_SUCCESS(code), "ICU has no data: {}", u_errorName(code));
    return opened;
  }();
  return kProcessor;
}

std::string_view Reason(uint32_t errors) {
  if (errors & UIDNA_ERROR_DISALLOWED) return "a character that no name may hold";
  if (errors & (UIDNA_ERROR_PUNYCODE | UIDNA_ERROR_INVALID_ACE_LABEL)) {
    return "a label starts with xn-- and encodes none";
  }
  if (errors & UIDNA_ERROR_BIDI) return "a label mixes directions of writing";
  if (errors & UIDNA_ERROR_CONTEXTJ) return "a joiner where none may stand";
  if (errors & UIDNA_ERROR_LEADING_COMBINING_MARK) return "a label starts with a combining mark";
  return "a label may not hold a dot";
}

}  // namespace

Status AppendDomainInAscii(std::string_view name, std::string* out) {
  const auto too_long = [] {
    return InvalidArgument("url: host is longer than {} bytes", limits::kMaxHostBytes);
  };
  if (name.size() > kMaxUnicodeBytes) return too_long();
  std::array<char, kMaxUnicodeBytes> ascii;
  UIDNAInfo info = UIDNA_INFO_INITIALIZER;
  UErrorCode code = U_ZERO_ERROR;
  const int32_t size =
      uidna_nameToASCII_UTF8(Processor(), name.data(), static_cast<int32_t>(name.size()),
                             ascii.data(), static_cast<int32_t>(ascii.size()), &info, &code);
  if (code == U_BUFFER_OVERFLOW_ERROR) return too_long();
  if (U_FAILURE(code))
    return InvalidArgument("url: host is not a valid name: {}", u_errorName(code));
  if (const uint32_t errors = info.errors & ~kPassed; errors != 0) {
    return InvalidArgument("url: host is not a valid name: {}", Reason(errors));
  }
  out->append(ascii.data(), static_cast<size_t>(size));
  return absl::OkStatus();
}

}  // namespace freshet
