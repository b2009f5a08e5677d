// Calls that one part of Freshet makes to another on behalf of a client. The HTTP port calls the
// services of its own server; a standby, or a server of another division, forwards calls. The
// metadata of a call has the client's credentials, and a key that proves that they are genuine.
#ifndef FRESHET_SERVER_AUTH_ON_BEHALF_H_
#define FRESHET_SERVER_AUTH_ON_BEHALF_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/auth/authoriser.h"

namespace freshet {

// The key of this process: 32 random bytes. The server believes all metadata of a caller that has
// the key. Thread-safe.
[[nodiscard]] const std::string& OwnKey();
// The bytes right before the key in the HPACK headers of a call on behalf of a client. gRPC sends
// the key as a literal header field without indexing (RFC 7541, section 6.2.2), with a value that
// is not encoded. Thread-safe.
[[nodiscard]] std::string_view MarkOfKey();

// The credentials that a client has shown, in a form that can be forwarded. Value type,
// thread-compatible.
struct ShownByClient {
  std::vector<std::string> authorizations;  // values of the header
  bool certificate = false;                 // a certificate was shown and checked
  std::vector<std::string> names;           // names in the certificate
  Instant certificate_ends = Instant::Infinite();
  std::string address;  // IpAddressText of the client
  // Whether another server has forwarded the request to this one. If so, this server does not
  // forward the request again.
  bool sent_on = false;
  // Whether the request comes from the HTTP port (LetInAlready). The console has few threads,
  // so the call does not wait for a division whose server cannot be reached.
  bool hurried = false;
};

// Makes the metadata of a call on behalf of the client, for the server with this key. Thread-safe.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> OnBehalfOf(
    const ShownByClient& client, const std::string& key);
// Makes a pair to add to the metadata of OnBehalfOf. The pair says that this process has already
// checked that the client may make the call. Calls to other processes do not carry the pair.
// Thread-safe.
[[nodiscard]] std::pair<std::string, std::string> LetInAlready();
// Whether OnBehalfOf or LetInAlready makes metadata of this name. Clients may not send it.
// Thread-safe.
[[nodiscard]] bool IsOnBehalf(std::string_view name);

// Reads the metadata of a call. Owner thread only.
class OnBehalfReader {
 public:
  void Add(std::string_view name, std::string_view value);
  // Returns the credentials of the client; unset = the call is not on behalf of a client, or lacks
  // the key of this process.
  [[nodiscard]] std::optional<Credentials> Take();
  // Returns the same credentials in the form that can be forwarded.
  [[nodiscard]] std::optional<ShownByClient> TakeShown();
  // Whether the call has the key of another process. If so, the call was meant for a server that
  // has ended.
  [[nodiscard]] bool mistaken() const { return has_key_ && !believed_; }
  // Whether this process has already checked that the client may make the call (LetInAlready).
  [[nodiscard]] bool let_in() const { return believed_ && let_in_; }

 private:
  bool has_key_ = false;
  bool believed_ = false;
  bool let_in_ = false;
  Credentials credentials_;
  ShownByClient shown_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_AUTH_ON_BEHALF_H_
