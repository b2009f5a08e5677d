#include "server/auth/tls_files.h"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/base/check.h"
#include "server/auth/certificate_name.h"
#include "server/config.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using BioPtr = std::unique_ptr<BIO, Free>;
using X509Ptr = std::unique_ptr<X509, Free>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Free>;

// The session id context. It keeps sessions of this server apart from others that OpenSSL may hold.
constexpr unsigned char kSessions[] = "freshet";

BioPtr Memory(const std::string& text) {
  BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  CHECK(bio != nullptr, "no memory for a file");
  return bio;
}

Instant InstantOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return Instant::FromUnixSeconds(timegm(&parts));
}

// Reads all certificates in the text, in order.
StatusOr<std::vector<X509Ptr>> ReadCertificates(std::string_view setting, const std::string& path,
                                                const std::string& pem) {
  const BioPtr bio = Memory(pem);
  std::vector<X509Ptr> all;
  while (X509Ptr one{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    all.push_back(std::move(one));
  }
  // OpenSSL reports the end of the text as an error; any other error means a broken certificate.
  const bool broken = ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (all.empty() || broken) {
    return InvalidArgument("{}: {} holds {}", setting, path,
                           all.empty() ? "no certificate in PEM" : "a broken certificate");
  }
  return all;
}

// Returns no passphrase, because a server cannot ask for one.
int NoPassphrase(char*, int, int, void*) { return -1; }

Status UseOwn(const TlsPaths& paths, TlsMaterial* material) {
  ASSIGN_OR_RETURN(const std::vector<X509Ptr> chain,
                   ReadCertificates("tls.certificate", paths.certificate, material->certificate));
  SSL_CTX* context = material->context.get();
  bool used = SSL_CTX_use_certificate(context, chain.front().get()) == 1;
  for (size_t i = 1; i < chain.size(); ++i) {
    used = used && SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
  }
  ERR_clear_error();
  if (!used) {
    return InvalidArgument("tls.certificate: {} cannot be used; its key may be too weak",
                           paths.certificate);
  }
  const BioPtr bio = Memory(material->key);
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, &NoPassphrase, nullptr));
  const bool fits = key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1 &&
                    SSL_CTX_check_private_key(context) == 1;
  ERR_clear_error();
  if (key == nullptr) {
    return InvalidArgument("tls.key: {} must hold a private key in PEM that has no passphrase",
                           paths.key);
  }
  if (!fits)
    return InvalidArgument("tls.key: the key in {} does not belong to tls.certificate", paths.key);
  material->not_before = InstantOf(X509_get0_notBefore(chain.front().get()));
  material->not_after = InstantOf(X509_get0_notAfter(chain.front().get()));
  return absl::OkStatus();
}

Status UseClientCa(const TlsPaths& paths, TlsMaterial* material) {
  ASSIGN_OR_RETURN(const std::vector<X509Ptr> all,
                   ReadCertificates("tls.client_ca", paths.client_ca, material->client_ca));
  SSL_CTX* context = material->context.get();
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const X509Ptr& one : all) {
    // The handshake names the authorities, so that browsers know which certificates to offer.
    const bool used = X509_STORE_add_cert(store, one.get()) == 1 &&
                      SSL_CTX_add_client_CA(context, one.get()) == 1;
    ERR_clear_error();
    if (!used) return InvalidArgument("tls.client_ca: {} cannot be used", paths.client_ca);
    const Instant end = InstantOf(X509_get0_notAfter(one.get()));
    material->client_ca_not_after =
        &one == &all.front() ? end : std::min(material->client_ca_not_after, end);
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  return absl::OkStatus();
}

std::string TextOf(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<size_t>(ASN1_STRING_length(text))};
}

std::string AddressText(const std::string& bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  const bool v4 = bytes.size() == sizeof(in_addr);
  if (!v4 && bytes.size() != sizeof(in6_addr)) return {};
  return inet_ntop(v4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof(text));
}

// Returns an empty text for a name that must not be compared: its kind is not supported, or its
// text has the form of another kind.
std::string NameOf(const GENERAL_NAME& name) {
  const auto of_kind = [](std::string text, NameKind kind) {
    return KindOfName(text) == kind ? text : std::string();
  };
  switch (name.type) {
    case GEN_DNS:
      return of_kind(TextOf(name.d.dNSName), NameKind::kDns);
    case GEN_URI:
      return of_kind(TextOf(name.d.uniformResourceIdentifier), NameKind::kUri);
    case GEN_EMAIL:
      return of_kind(TextOf(name.d.rfc822Name), NameKind::kMail);
    case GEN_IPADD:
      return AddressText(TextOf(name.d.iPAddress));
    default:
      return {};
  }
}

}  // namespace

std::optional<std::vector<std::string>> PeerNames(SSL* connection) {
  const X509Ptr certificate(SSL_get1_peer_certificate(connection));
  if (certificate == nullptr || SSL_get_verify_result(connection) != X509_V_OK) return {};
  std::vector<std::string> names;
  auto* all = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const std::string name = NameOf(*sk_GENERAL_NAME_value(all, i));
    if (!name.empty()) names.push_back(name);
  }
  GENERAL_NAMES_free(all);
  return names;
}

Instant PeerCertificateEnd(SSL* connection) {
  const X509Ptr certificate(SSL_get1_peer_certificate(connection));
  if (certificate == nullptr) return Instant::Infinite();
  return InstantOf(X509_get0_notAfter(certificate.get()));
}

Instant CertificateEnd(std::string_view pem) {
  static constexpr size_t kMostKnown = 1024;
  struct Known {
    Mutex mutex;
    absl::flat_hash_map<std::string, Instant> ends FRESHET_GUARDED_BY(mutex);
  };
  static auto* const kKnown = new Known();
  const std::string text(pem);
  {
    const MutexLock lock(kKnown->mutex);
    if (const auto it = kKnown->ends.find(text); it != kKnown->ends.end()) return it->second;
  }
  const BioPtr bio = Memory(text);
  const X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, &NoPassphrase, nullptr));
  ERR_clear_error();
  const Instant end =
      certificate == nullptr ? Instant() : InstantOf(X509_get0_notAfter(certificate.get()));
  const MutexLock lock(kKnown->mutex);
  if (kKnown->ends.size() >= kMostKnown) kKnown->ends.clear();
  return kKnown->ends[text] = end;
}

StatusOr<std::string> ReadPem(std::string_view setting, const std::string& path) {
  StatusOr<std::string> text = ReadSettingsFile(path, kMaxPemBytes);
  RETURN_IF_ERROR(WithKey(setting, text.status()));
  if (text->size() > kMaxPemBytes) {
    return InvalidArgument("{}: the file {} is over the limit of {} bytes", setting, path,
                           kMaxPemBytes);
  }
  return text;
}

StatusOr<TlsMaterial> LoadTls(const TlsPaths& paths) {
  TlsMaterial material;
  ASSIGN_OR_RETURN(material.certificate, ReadPem("tls.certificate", paths.certificate));
  ASSIGN_OR_RETURN(material.key, ReadPem("tls.key", paths.key));
  material.context.reset(SSL_CTX_new(TLS_server_method()));
  CHECK(material.context != nullptr, "OpenSSL has no TLS");
  SSL_CTX* context = material.context.get();
  CHECK(SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1, "OpenSSL has no TLS 1.2");
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // The same ciphers as gRPC uses: authenticated ciphers of TLS 1.2 with forward secrecy.
  CHECK(SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1, "no ciphers");
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  (void)SSL_CTX_set_session_id_context(context, kSessions, sizeof(kSessions) - 1);
  RETURN_IF_ERROR(UseOwn(paths, &material));
  if (!paths.client_ca.empty()) {
    ASSIGN_OR_RETURN(material.client_ca, ReadPem("tls.client_ca", paths.client_ca));
    RETURN_IF_ERROR(UseClientCa(paths, &material));
  }
  return material;
}

}  // namespace freshet
