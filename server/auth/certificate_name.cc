#include "server/auth/certificate_name.h"

#include <arpa/inet.h>

#include <string>

namespace freshet {

NameKind KindOfName(std::string_view text) {
  const std::string name(text);
  in6_addr address{};
  if (inet_pton(AF_INET, name.c_str(), &address) == 1 ||
      inet_pton(AF_INET6, name.c_str(), &address) == 1) {
    return NameKind::kIp;
  }
  if (text.find(':') != std::string_view::npos) return NameKind::kUri;
  return text.find('@') != std::string_view::npos ? NameKind::kMail : NameKind::kDns;
}

}  // namespace freshet
