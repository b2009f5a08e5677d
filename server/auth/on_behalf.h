// Calls that one part of Freshet makes of another on behalf of a client: the HTTP port of the
// services of its own server, a server of a cluster that stands by of the one that serves. What the
// client has shown of itself goes along as metadata. A key says that it is to be believed.
#ifndef FRESHET_SERVER_AUTH_ON_BEHALF_H_
#define FRESHET_SERVER_AUTH_ON_BEHALF_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/auth/authoriser.h"

namespace freshet {

// The key of this process: 32 random bytes. Who has it is believed whatever it says. Thread-safe.
[[nodiscard]] const std::string& OwnKey();
// What comes right before the key in the headers of a call on behalf of a client, as gRPC sends
// them: HPACK's literal that is not indexed (RFC 7541, section 6.2.2), with a value that is not
// encoded. Thread-safe.
[[nodiscard]] std::string_view MarkOfKey();

// What a client has shown. Value type, thread-compatible.
struct ShownByClient {
  std::vector<std::string> authorizations;  // values of the header
  bool certificate = false;                 // one that was checked
  std::vector<std::string> names;           // in it
  Instant certificate_ends = Instant::Infinite();
  std::string address;  // IpAddressText of where it comes from
  // What is asked for was sent to this server as the one that has it, and goes no further.
  bool sent_on = false;
};

// The metadata that a call has on behalf of the client, of a server whose key that is. Thread-safe.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> OnBehalfOf(
    const ShownByClient& client, const std::string& key);
// Metadata beside that of OnBehalfOf: this process has looked already whether the client may have
// what is asked for. It goes to no other process. Thread-safe.
[[nodiscard]] std::pair<std::string, std::string> LetInAlready();
// Whether metadata of this name is one of those: no client may send it. Thread-safe.
[[nodiscard]] bool IsOnBehalf(std::string_view name);

// Takes in the metadata of a call, all of it. Owner thread only.
class OnBehalfReader {
 public:
  void Add(std::string_view name, std::string_view value);
  // What the client has shown on whose behalf the call is made; unset: it is on nobody's, or has
  // not the key of this process.
  [[nodiscard]] std::optional<Credentials> Take();
  // The same as it was shown, to be passed on.
  [[nodiscard]] std::optional<ShownByClient> TakeShown();
  // Whether it has another key: it was meant for a process that is no more.
  [[nodiscard]] bool mistaken() const { return has_key_ && !believed_; }
  // Whether it is believed to be let in already.
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
