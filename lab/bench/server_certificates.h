// Makes certificates for a server that is measured over TLS, and replaces them while it runs.
#ifndef FRESHET_LAB_BENCH_SERVER_CERTIFICATES_H_
#define FRESHET_LAB_BENCH_SERVER_CERTIFICATES_H_

#include <string>
#include <vector>

#include "tests/support/test_certificates.h"

namespace freshet {

// Owner thread only.
class ServerCertificates {
 public:
  // Keeps its files in the directory `dir`, which must exist.
  explicit ServerCertificates(const std::string& dir);

  // The flags with which a server uses the certificate.
  [[nodiscard]] std::vector<std::string> flags() const;
  // The PEM file of the authority that signs all certificates. Clients need it.
  [[nodiscard]] const std::string& ca() const { return ca_; }
  // Replaces the certificate and its key. The caller must then tell the server.
  void Replace();

 private:
  const TestAuthority authority_;
  const std::string ca_;
  const std::string certificate_;
  const std::string key_;
};

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_SERVER_CERTIFICATES_H_
