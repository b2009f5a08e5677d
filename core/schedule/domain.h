// Registrable domains: hosts below one's own cost nothing, so that what may only take its turn
// takes it by domain.
#ifndef FRESHET_CORE_SCHEDULE_DOMAIN_H_
#define FRESHET_CORE_SCHEDULE_DOMAIN_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/base/fingerprint.h"
#include "core/base/units.h"

namespace freshet {

// The domain that somebody has registered, of a canonical host: "example.org" of
// "www.example.org". A host that has none, as an address, is its own. Must be thread-safe; what it
// returns is part of its argument.
using RegistrableDomain = std::string_view (*)(std::string_view host);

// Domains share so many numbers, so that they take bounded memory whatever their number. Those of
// one number take their turns together.
inline constexpr uint32_t kDomains = uint32_t{1} << 14;

// The number of the domain of a host, from 1 to kDomains.
using DomainNumber = std::function<GroupId(std::string_view host)>;

// By a hash with a secret, so that nobody can choose a domain for its number. `domain`: null is
// that of every host itself. Thread-safe.
[[nodiscard]] inline DomainNumber DomainsBy(RegistrableDomain domain, const Fingerprinter& secret) {
  return [domain, secret](std::string_view host) {
    const std::string_view name = domain == nullptr ? host : domain(host);
    return GroupId(static_cast<uint32_t>(secret.Of("domain", name) % kDomains) + 1);
  };
}

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_DOMAIN_H_
