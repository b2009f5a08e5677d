// Registrable domains: hosts below one's own domain cost nothing, so turns are by domain.
#ifndef FRESHET_CORE_SCHEDULE_DOMAIN_H_
#define FRESHET_CORE_SCHEDULE_DOMAIN_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/base/fingerprint.h"
#include "core/base/units.h"

namespace freshet {

// Returns the registered domain of a canonical host: "example.org" of "www.example.org". A host
// without one, such as an address, is its own. The function must be thread-safe; its result is a
// part of its argument.
using RegistrableDomain = std::string_view (*)(std::string_view host);

// Domains share this many numbers, so that any number of domains takes bounded memory. Domains of
// one number share their turns.
inline constexpr uint32_t kDomains = uint32_t{1} << 14;

// The number of the domain of a host, from 1 to kDomains.
using DomainNumber = std::function<GroupId(std::string_view host)>;

// Numbers domains by a hash with a secret, so that nobody can choose a domain for its number.
// `domain`: nullptr = every host is its own. Thread-safe.
[[nodiscard]] inline DomainNumber DomainsBy(RegistrableDomain domain, const Fingerprinter& secret) {
  return [domain, secret](std::string_view host) {
    const std::string_view name = domain == nullptr ? host : domain(host);
    return GroupId(static_cast<uint32_t>(secret.Of("domain", name) % kDomains) + 1);
  };
}

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_DOMAIN_H_
