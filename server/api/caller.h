// Who calls, and whether they may: the first that every method asks, before anything else is looked
// at. gRPC itself is asked nothing: what it has for that (its auth metadata processor) ends the
// process at some headers (docs/decisions/0014).
#ifndef FRESHET_SERVER_API_CALLER_H_
#define FRESHET_SERVER_API_CALLER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "grpcpp/server_context.h"
#include "server/api/faults.h"
#include "server/auth/authoriser.h"
#include "server/auth/on_behalf.h"
#include "server/base/system_clock.h"

namespace freshet {

// What the client of a call has shown of itself.
[[nodiscard]] Credentials CredentialsOf(const grpc::CallbackServerContext& call);

// The same, to be passed on to another server.
[[nodiscard]] ShownByClient ShownBy(const grpc::CallbackServerContext& call);

// Whether the client has shown a certificate, which gRPC has checked when the connection was made;
// adds the names in it, and sets when it ends.
[[nodiscard]] bool AddCertificate(const grpc::CallbackServerContext& call,
                                  std::vector<std::string>* names, Instant* ends);

// PermissionDenied: the method is for servers of the fleet, and the call comes from none. What is
// sent on has the key of this process, which its fleet alone is told.
[[nodiscard]] Status CheckServer(const MethodRule& rule, const ShownByClient& shown);

// Whether whoever makes a call of that method may, by the table of methods (Authoriser::Authorise),
// counted and told of where not. Unavailable: it was forwarded to another process, and goes to its
// sender once more. The server's calls of itself were let in where their clients came in.
[[nodiscard]] Status LetIn(Authoriser& authoriser, std::string_view path,
                           const grpc::CallbackServerContext& call);

// A call that ends at once, as gRPC's `Reactor` of its kind.
template <typename Reactor>
class EndedCall final : public Reactor {
 public:
  explicit EndedCall(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

// What answers a call that is not let in, with nothing of it read or counted; nullptr: it is.
template <typename Reactor>
[[nodiscard]] Reactor* TurnAway(Authoriser& authoriser, std::string_view path,
                                const grpc::CallbackServerContext& call) {
  const Status status = LetIn(authoriser, path, call);
  return status.ok() ? nullptr : new EndedCall<Reactor>(GrpcStatusOf(status));
}

// Who has opened a call of one method, for as long as it is open: identities may change meanwhile.
class CallAuth {
 public:
  // `path` is that of a MethodRule; `authoriser` and `clock` outlive this.
  CallAuth(Authoriser& authoriser, Clock& clock, std::string_view path,
           const grpc::CallbackServerContext& call);

  // What the client has shown. Thread-safe.
  [[nodiscard]] const Credentials& credentials() const { return credentials_; }
  // When the first of that ends. Thread-safe.
  [[nodiscard]] Instant ends() const { return credentials_.certificate_ends; }
  // That the client comes from. Thread-safe.
  [[nodiscard]] const IpAddress& network() const { return credentials_.network; }
  // Whose calls are counted together (Authoriser::ClientOf). Thread-safe.
  [[nodiscard]] const std::string& client() const { return client_; }
  // Whether the client was an identity with the role admin when the call was opened. Thread-safe.
  [[nodiscard]] bool admin() const { return admin_; }
  // Whether the caller may go on. Thread-safe.
  [[nodiscard]] Status Check() const;
  // The caller as identities are now. Not OK as Check. Thread-safe.
  [[nodiscard]] StatusOr<Caller> Look() const;
  // How long nothing should be read of what the caller sends, as identities are now. Thread-safe.
  [[nodiscard]] Duration Owes() const;
  // The caller as identities are now. Not OK as Check. Owner thread only; what it points to is
  // valid until the next call.
  [[nodiscard]] StatusOr<const Caller*> Get();

 private:
  // Who calls, as identities are now.
  [[nodiscard]] StatusOr<Caller> Recognise(Instant now) const;

  Authoriser& authoriser_;
  Clock& clock_;
  const MethodRule* const rule_;
  const Credentials credentials_;
  Status server_;            // CheckServer's
  uint64_t generation_ = 0;  // of caller_
  StatusOr<Caller> caller_;
  std::string client_;
  bool admin_ = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CALLER_H_
