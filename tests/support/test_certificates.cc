#include "tests/support/test_certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr int kDaySeconds = 86400;

template <typename Write>
std::string PemOf(Write write) {
  BIO* bio = BIO_new(BIO_s_mem());
  CHECK(write(bio) == 1, "cannot write PEM");
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  std::string pem(data, static_cast<size_t>(size));
  BIO_free(bio);
  return pem;
}

std::string PemOf(X509* certificate) {
  return PemOf([certificate](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

void AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  CHECK(extension != nullptr, "{} is no extension", value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

TestAuthority::TestAuthority(const std::string& common_name, int to_days)
    : key_(EVP_EC_gen("P-256")) {
  CHECK(key_ != nullptr, "no key");
  own_ = Sign({.common_name = common_name, .to_days = to_days}, key_.get(), true, nullptr);
  certificate_ = PemOf(own_.get());
}

KeyPair TestAuthority::Issue(const CertificateRequest& request) const {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate = Sign(request, key.get(), false, own_.get());
  return {.certificate = PemOf(certificate.get()),
          .key = PemOf([&key](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

TestAuthority::Certificate TestAuthority::Sign(const CertificateRequest& request, EVP_PKEY* key,
                                               bool authority, X509* issuer) const {
  Certificate certificate(X509_new());
  X509* made = certificate.get();
  X509_set_version(made, X509_VERSION_3);
  uint32_t serial = 0;
  CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) == 1, "no luck");
  ASN1_INTEGER_set(X509_get_serialNumber(made), serial);
  X509_gmtime_adj(X509_getm_notBefore(made), int64_t{request.from_days} * kDaySeconds);
  X509_gmtime_adj(X509_getm_notAfter(made), int64_t{request.to_days} * kDaySeconds);
  X509_set_pubkey(made, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(request.common_name.c_str()),
                             -1, -1, 0);
  if (issuer == nullptr) issuer = made;
  X509_set_issuer_name(made, X509_get_subject_name(issuer));
  AddExtension(made, issuer, NID_basic_constraints, authority ? "critical,CA:TRUE" : "CA:FALSE");
  if (!request.names.empty()) AddExtension(made, issuer, NID_subject_alt_name, request.names);
  CHECK(X509_sign(made, key_.get(), EVP_sha256()) > 0, "cannot sign");
  return certificate;
}

void ReplaceFile(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  std::ofstream(fresh, std::ios::binary) << text;
  std::filesystem::rename(fresh, path);
}

}  // namespace freshet
