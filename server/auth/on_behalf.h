// Calls that one part of Freshet makes to another for a client. The HTTP port calls the services of
// its own server; a standby calls the server that serves. Metadata carries what the client has
// shown, and a key that proves the metadata.
#ifndef FRESHET_SERVER_AUTH_ON_BEHALF_H_
#define FRESHET_SERVER_AUTH_ON_BEHALF_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/auth/authoriser.h"

namespace freshet {

// The key of this process: 32 random bytes. A caller that has it is always believed. Thread-safe.
[[nodiscard]] const std::string& OwnKey();
// The bytes right before the key in the headers of a call on behalf of a client. gRPC sends them as
// HPACK's literal that is not indexed (RFC 7541, section 6.2.2), with a value that is not encoded.
// Thread-safe.
[[nodiscard]] std::string_view MarkOfKey();

// The proof of identity that a client has shown. Value type, thread-compatible.
struct ShownByClient {
  std::vector<std::string> authorizations;  // values of the header
  bool certificate = false;                 // a certificate was checked
  std::vector<std::string> names;           // in the certificate
  Instant certificate_ends = Instant::Infinite();
  std::string address;  // IpAddressText of the client
  // Whether the request was already sent on to this server as the owner, and goes no further.
  bool sent_on = false;
  // Whether the request is one of the console, whose one thread waits for no division that has been
  // away (LetInAlready).
  bool hurried = false;
};

// Makes the metadata of a call on behalf of the client, to a server with this key. Thread-safe.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> OnBehalfOf(
    const ShownByClient& client, const std::string& key);
// Makes metadata beside that of OnBehalfOf: this process has already checked that the client may
// make the call. It goes to no other process. Thread-safe.
[[nodiscard]] std::pair<std::string, std::string> LetInAlready();
// Whether this is a name of such metadata, which no client may send. Thread-safe.
[[nodiscard]] bool IsOnBehalf(std::string_view name);

// Reads the metadata of a call. Owner thread only.
class OnBehalfReader {
 public:
  void Add(std::string_view name, std::string_view value);
  // Returns what the client of the call has shown; unset = the call is for no client, or lacks the
  // key of this process.
  [[nodiscard]] std::optional<Credentials> Take();
  // Returns the same as the client sent it, to forward it.
  [[nodiscard]] std::optional<ShownByClient> TakeShown();
  // Whether the call has another key: it was meant for a process that has ended.
  [[nodiscard]] bool mistaken() const { return has_key_ && !believed_; }
  // Whether the call carries proof that it was already let in.
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
