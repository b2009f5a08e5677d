// The certificate, key and client CA of a server, read from files and checked before use.
#ifndef FRESHET_SERVER_AUTH_TLS_FILES_H_
#define FRESHET_SERVER_AUTH_TLS_FILES_H_

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"

namespace freshet {

inline constexpr size_t kMaxPemBytes = size_t{1} << 20;

// Frees a context of OpenSSL.
struct SslContextFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

// A server's certificates and key, and the TLS context made of them. Immutable once made;
// thread-safe.
struct TlsMaterial {
  std::string certificate;  // PEM: the server's certificate, then the intermediate ones
  std::string key;          // PEM
  std::string client_ca;    // PEM; empty = no client certificates
  Instant not_before;       // the start of the server certificate's validity
  Instant not_after;
  Instant client_ca_not_after;  // when its first certificate expires; the epoch = no client CA
  // The context for the HTTP port; gRPC makes its own contexts. It requires TLS 1.2 or later. A
  // client may show a certificate. If the client CA has not signed the certificate, the handshake
  // fails.
  std::unique_ptr<SSL_CTX, SslContextFree> context;
  uint64_t version = 0;  // increases with every change
};

// Value type, thread-compatible.
struct TlsPaths {
  std::string certificate;
  std::string key;
  std::string client_ca;  // empty = none
};

// Loads the files. InvalidArgument or NotFound names the setting at fault: a file cannot be read or
// holds no PEM, or the key does not belong to the certificate. An expired certificate is not an
// error.
[[nodiscard]] StatusOr<TlsMaterial> LoadTls(const TlsPaths& paths);

// Reads a PEM file without parsing it. InvalidArgument or NotFound names the setting of a file that
// cannot be read or is too large.
[[nodiscard]] StatusOr<std::string> ReadPem(std::string_view setting, const std::string& path);

// The subject alternative names of the peer's certificate: DNS names, URIs, mail and IP addresses.
// Unset = the peer has shown no certificate, or one that was not verified.
[[nodiscard]] std::optional<std::vector<std::string>> PeerNames(SSL* connection);
// When the peer's certificate expires; Instant::Infinite() = the peer has shown none.
[[nodiscard]] Instant PeerCertificateEnd(SSL* connection);
// When a certificate in PEM expires; the epoch = the text is no certificate. Remembers the results
// of recent calls. Thread-safe.
[[nodiscard]] Instant CertificateEnd(std::string_view pem);

}  // namespace freshet

#endif  // FRESHET_SERVER_AUTH_TLS_FILES_H_
