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

// The certificates and the TLS context made of them. Immutable once made; thread-safe.
struct TlsMaterial {
  std::string certificate;  // PEM: the server's, then the intermediate ones
  std::string key;          // PEM
  std::string client_ca;    // PEM; empty = clients show no certificates
  Instant not_before;       // of the server's certificate
  Instant not_after;
  Instant client_ca_not_after;  // the earliest of them; the epoch without a client CA
  // For connections that Freshet makes itself, TLS 1.2 and above. A client may show a certificate;
  // if the client CA has not signed it, the connection ends.
  std::unique_ptr<SSL_CTX, SslContextFree> context;
  uint64_t version = 0;  // rises with every change
};

// Value type, thread-compatible.
struct TlsPaths {
  std::string certificate;
  std::string key;
  std::string client_ca;  // empty = none
};

// Loads the files. InvalidArgument or NotFound names the setting at fault: a file that cannot be
// read or holds no PEM, or a key that does not fit the certificate. A certificate that has ended is
// no fault.
[[nodiscard]] StatusOr<TlsMaterial> LoadTls(const TlsPaths& paths);

// Reads a PEM file without parsing it. InvalidArgument or NotFound names the setting of a file that
// cannot be read or is too large.
[[nodiscard]] StatusOr<std::string> ReadPem(std::string_view setting, const std::string& path);

// The subject alternative names of the certificate that the peer has shown and that was checked:
// DNS names, URIs, mail and IP addresses. Unset = the peer has shown none.
[[nodiscard]] std::optional<std::vector<std::string>> PeerNames(SSL* connection);
// The end of the certificate that the peer has shown; far away = it has shown none.
[[nodiscard]] Instant PeerCertificateEnd(SSL* connection);
// The end of a certificate in PEM; the epoch = the text is no certificate. Parses the same text
// only once. Thread-safe.
[[nodiscard]] Instant CertificateEnd(std::string_view pem);

}  // namespace freshet

#endif  // FRESHET_SERVER_AUTH_TLS_FILES_H_
