// The registered domain of a host. Limits count domains, because the owner of a domain can add
// hosts to it for free.
#ifndef FRESHET_SERVER_BASE_REGISTRABLE_DOMAIN_H_
#define FRESHET_SERVER_BASE_REGISTRABLE_DOMAIN_H_

#include <string_view>

namespace freshet {

// Finds the domain in the Public Suffix List that libpsl was built with: "example.co.uk" for
// "www.example.co.uk". Returns addresses, public suffixes and single-label names unchanged.
// Precondition: `host` is canonical. The result is a view into `host`. Thread-safe.
[[nodiscard]] std::string_view RegistrableDomainOf(std::string_view host);

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_REGISTRABLE_DOMAIN_H_
