#include "lab/bench/server_certificates.h"

namespace freshet {

ServerCertificates::ServerCertificates(const std::string& dir)
    : authority_("freshet bench"),
      ca_(dir + "/ca.pem"),
      certificate_(dir + "/server.pem"),
      key_(dir + "/server.key") {
  ReplaceFile(ca_, authority_.certificate());
  Replace();
}

std::vector<std::string> ServerCertificates::flags() const {
  return {"--tls-certificate", certificate_, "--tls-key", key_};
}

void ServerCertificates::Replace() {
  const KeyPair pair =
      authority_.Issue({.common_name = "freshet", .names = "DNS:localhost,IP:127.0.0.1"});
  ReplaceFile(key_, pair.key);
  ReplaceFile(certificate_, pair.certificate);
}

}  // namespace freshet
