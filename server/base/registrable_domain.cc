#include "server/base/registrable_domain.h"

#include <libpsl.h>

#include <string>

#include "core/base/ip_address.h"

namespace freshet {

std::string_view RegistrableDomainOf(std::string_view host) {
  if (host.empty() || host.front() == '[' || ParseIpAddress(host)) return host;
  const psl_ctx_t* const list = psl_builtin();
  if (list == nullptr) return host;  // libpsl was built without a list
  const std::string text(host);
  const char* const domain = psl_registrable_domain(list, text.c_str());
  return domain == nullptr ? host : host.substr(static_cast<size_t>(domain - text.c_str()));
}

}  // namespace freshet
