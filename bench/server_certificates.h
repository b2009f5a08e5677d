// Certificates of a server that is measured over TLS: made for it, and replaced while it runs.
#ifndef FRESHET_BENCH_SERVER_CERTIFICATES_H_
#define FRESHET_BENCH_SERVER_CERTIFICATES_H_

#include <string>
#include <vector>

#include "tests/support/test_certificates.h"

namespace freshet {

// Owner thread only.
class ServerCertificates {
 public:
  // Keeps its files in `dir`, which exists.
  explicit ServerCertificates(const std::string& dir);

  // What a server is told.
  [[nodiscard]] std::vector<std::string> flags() const;
  // PEM file of who signs all of them, for clients.
  [[nodiscard]] const std::string& ca() const { return ca_; }
  // Puts another certificate, with another key, in place of the present one. The server is still to
  // be told.
  void Replace();

 private:
  const TestAuthority authority_;
  const std::string ca_;
  const std::string certificate_;
  const std::string key_;
};

}  // namespace freshet

#endif  // FRESHET_BENCH_SERVER_CERTIFICATES_H_
