// The certificate, key and client CA of a server, from their files and checked, so that nothing
// that cannot serve comes into use.
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

// What TLS is spoken with. Immutable once made; thread-safe.
struct TlsMaterial {
  std::string certificate;  // PEM: the server's, then those between it and a root
  std::string key;          // PEM
  std::string client_ca;    // PEM; empty: clients show no certificates
  Instant not_before;       // of the server's certificate
  Instant not_after;
  Instant client_ca_not_after;  // the earliest of them; without a client CA the epoch
  // For one's own connections, TLS 1.2 and above: a client may show a certificate, and one that is
  // not of the client CA ends the connection.
  std::unique_ptr<SSL_CTX, SslContextFree> context;
  uint64_t version = 0;  // rises with every change
};

// Value type, thread-compatible.
struct TlsPaths {
  std::string certificate;
  std::string key;
  std::string client_ca;  // empty: none
};

// InvalidArgument or NotFound names the setting at fault: a file that cannot be read or holds no
// PEM, a key that is not the certificate's. A certificate whose time is over is no fault.
[[nodiscard]] StatusOr<TlsMaterial> LoadTls(const TlsPaths& paths);

// The text of a file of PEM, which is not looked into. InvalidArgument or NotFound names the
// setting: it cannot be read, or is larger than such files are.
[[nodiscard]] StatusOr<std::string> ReadPem(std::string_view setting, const std::string& path);

// The subject alternative names (DNS names, URIs, mail and IP addresses) of the certificate that
// the other side of a connection has shown and that was checked; nothing: it has shown none.
[[nodiscard]] std::optional<std::vector<std::string>> PeerNames(SSL* connection);
// When the certificate ends that the other side has shown; far away: it has shown none.
[[nodiscard]] Instant PeerCertificateEnd(SSL* connection);
// That of a certificate in PEM; the epoch: it is none. Looks into the same one once. Thread-safe.
[[nodiscard]] Instant CertificateEnd(std::string_view pem);

}  // namespace freshet

#endif  // FRESHET_SERVER_AUTH_TLS_FILES_H_
