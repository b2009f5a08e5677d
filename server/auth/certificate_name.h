// Says which kind of name in a certificate can prove a configured text. A name of one kind never
// proves a text of another kind, because certificate authorities check DNS names, URIs, mail
// addresses and IP addresses in different ways.
#ifndef FRESHET_SERVER_AUTH_CERTIFICATE_NAME_H_
#define FRESHET_SERVER_AUTH_CERTIFICATE_NAME_H_

#include <cstdint>
#include <string_view>

#include "grpc/grpc_security_constants.h"

namespace freshet {

enum class NameKind : uint8_t { kDns, kUri, kMail, kIp };

// The only kind of name that can prove this text. The form of the text decides: an IP address is
// kIp, a text with a colon kUri, a text with an at sign kMail, and any other text kDns.
// Thread-safe.
[[nodiscard]] NameKind KindOfName(std::string_view text);

// The property in which gRPC lists a certificate's names of one kind.
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
