// The registered domain that a host belongs to: hosts below a domain cost nothing.
#ifndef FRESHET_SERVER_BASE_REGISTRABLE_DOMAIN_H_
#define FRESHET_SERVER_BASE_REGISTRABLE_DOMAIN_H_

#include <string_view>

namespace freshet {

// Finds the domain by the Public Suffix List that libpsl was built with: "example.co.uk" of
// "www.example.co.uk". An address, a public suffix and a name of one label are their own. `host` is
// canonical, and the result is a part of it. Thread-safe.
[[nodiscard]] std::string_view RegistrableDomainOf(std::string_view host);

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_REGISTRABLE_DOMAIN_H_
