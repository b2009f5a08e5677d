// Registrable domains. Forced pages take turns by domain (core/schedule/forced_turns.h), because
// the owner of a domain can add any number of hosts at no cost.
#ifndef FRESHET_CORE_SCHEDULE_DOMAIN_H_
#define FRESHET_CORE_SCHEDULE_DOMAIN_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/base/fingerprint.h"
#include "core/base/units.h"

namespace freshet {

// Returns the registrable domain of a canonical host: "example.org" for "www.example.org". A host
// without a registrable domain, such as an address, is returned as it is. The function must be
// thread-safe. Its result is a view into its argument.
using RegistrableDomain = std::string_view (*)(std::string_view host);

// Domains are hashed to this many numbers, so that any number of domains takes bounded memory.
// Domains with the same number are treated as one domain.
inline constexpr uint32_t kDomains = uint32_t{1} << 14;

// Returns the number of the host's domain, from 1 to kDomains.
using DomainNumber = std::function<GroupId(std::string_view host)>;

// Numbers domains by a hash with a secret, so that nobody can choose a domain for its number.
// `domain`: nullptr = every host is a domain. Thread-safe.
[[nodiscard]] inline DomainNumber DomainsBy(RegistrableDomain domain, const Fingerprinter& secret) {
  return [domain, secret](std::string_view host) {
    const std::string_view name = domain == nullptr ? host : domain(host);
    return GroupId(static_cast<uint32_t>(secret.Of("domain", name) % kDomains) + 1);
  };
}

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_DOMAIN_H_
