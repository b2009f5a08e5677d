// The kind of name in a certificate that can prove a text. No name proves a text of another kind:
// authorities check a DNS name, a URI, a mail address and an IP address in different ways.
#ifndef FRESHET_SERVER_AUTH_CERTIFICATE_NAME_H_
#define FRESHET_SERVER_AUTH_CERTIFICATE_NAME_H_

#include <cstdint>
#include <string_view>

#include "grpc/grpc_security_constants.h"

namespace freshet {

enum class NameKind : uint8_t { kDns, kUri, kMail, kIp };

// The one kind of name that proves this text, by its looks. An IP address is one, a text with a
// colon a URI, one with an at sign a mail address, any other a DNS name. Thread-safe.
[[nodiscard]] NameKind KindOfName(std::string_view text);

// How gRPC calls the names that it has found in a certificate.
struct PeerNameProperty {
  NameKind kind;
  const char* name;
};
inline constexpr PeerNameProperty kPeerNameProperties[] = {
    {NameKind::kDns, GRPC_PEER_DNS_PROPERTY_NAME},
    {NameKind::kUri, GRPC_PEER_URI_PROPERTY_NAME},
    {NameKind::kMail, GRPC_PEER_EMAIL_PROPERTY_NAME},
    {NameKind::kIp, GRPC_PEER_IP_PROPERTY_NAME}};

}  // namespace freshet

#endif  // FRESHET_SERVER_AUTH_CERTIFICATE_NAME_H_
