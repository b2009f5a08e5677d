// Makes certificates while a test runs, with keys that exist nowhere else.
#ifndef FRESHET_TESTS_SUPPORT_TEST_CERTIFICATES_H_
#define FRESHET_TESTS_SUPPORT_TEST_CERTIFICATES_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace freshet {

// A certificate and its key, both in PEM. Value type, thread-compatible.
struct KeyPair {
  std::string certificate;
  std::string key;
};

// The properties of a certificate that is to be made.
struct CertificateRequest {
  std::string common_name = "freshet test";
  std::string names;  // OpenSSL's subjectAltName, such as "DNS:a.test,IP:127.0.0.1"
  int from_days = -1;
  int to_days = 30;  // like from_days, in days from now
};

// A certificate authority. Thread-compatible.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& common_name = "freshet test CA", int to_days = 30);

  // The certificate of the authority, in PEM.
  [[nodiscard]] const std::string& certificate() const { return certificate_; }
  [[nodiscard]] KeyPair Issue(const CertificateRequest& request) const;

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
  };
  using Key = std::unique_ptr<EVP_PKEY, Free>;
  using Certificate = std::unique_ptr<X509, Free>;

  [[nodiscard]] Certificate Sign(const CertificateRequest& request, EVP_PKEY* key, bool authority,
                                 X509* issuer) const;

  Key key_;
  Certificate own_;
  std::string certificate_;
};

// Replaces a file atomically: a reader finds either the complete old text or the complete new text.
void ReplaceFile(const std::string& path, const std::string& text);

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_TEST_CERTIFICATES_H_
