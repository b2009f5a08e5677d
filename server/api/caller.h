// Checks who calls, and whether they may, before a method looks at anything else. The auth metadata
// processor of gRPC is not used: some headers make it end the process (docs/decisions/0014).
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
#include "server/base/client_network.h"
#include "server/base/system_clock.h"

namespace freshet {

// The credentials that the client of a call has shown.
[[nodiscard]] Credentials CredentialsOf(const grpc::CallbackServerContext& call);

// The same credentials, to be passed on to another server.
[[nodiscard]] ShownByClient ShownBy(const grpc::CallbackServerContext& call);

// Whether the client has shown a certificate, which gRPC checked when the connection was made. Adds
// the names in it, and sets its end.
[[nodiscard]] bool AddCertificate(const grpc::CallbackServerContext& call,
                                  std::vector<std::string>* names, Instant* ends);

// PermissionDenied: the method is for servers of the fleet only, and the caller is none. Calls that
// are sent on carry the key of this process, which only its fleet knows.
[[nodiscard]] Status CheckServer(const MethodRule& rule, const ShownByClient& shown);

// Checks the caller of a method by the table of methods (Authoriser::Authorise), which counts and
// reports refusals. Unavailable: the call was forwarded to another process, and its sender sends it
// again. The server's calls to itself were checked where their clients came in.
[[nodiscard]] Status LetIn(Authoriser& authoriser, std::string_view path,
                           const grpc::CallbackServerContext& call);

// A call that ends at once, as gRPC's `Reactor` of its kind.
template <typename Reactor>
class EndedCall final : public Reactor {
 public:
  explicit EndedCall(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

// Makes the reactor that refuses a call, with nothing of it read or counted; nullptr = the call may
// continue.
template <typename Reactor>
[[nodiscard]] Reactor* TurnAway(Authoriser& authoriser, std::string_view path,
                                const grpc::CallbackServerContext& call) {
  const Status status = LetIn(authoriser, path, call);
  return status.ok() ? nullptr : new EndedCall<Reactor>(GrpcStatusOf(status));
}

// The caller of an open call. Identities may change while the call is open.
class CallAuth {
 public:
  // `path` names a MethodRule; `authoriser` and `clock` outlive this.
  CallAuth(Authoriser& authoriser, Clock& clock, std::string_view path,
           const grpc::CallbackServerContext& call);

  // The credentials that the client has shown. Thread-safe.
  [[nodiscard]] const Credentials& credentials() const { return credentials_; }
  // The end of the client's certificate. Thread-safe.
  [[nodiscard]] Instant ends() const { return credentials_.certificate_ends; }
  // The network of the client. Thread-safe.
  [[nodiscard]] const IpAddress& network() const { return credentials_.network; }
  // The other side of the connection of the call. Thread-safe.
  [[nodiscard]] const Peer& peer() const { return peer_; }
  // Whose calls are counted together (Authoriser::ClientOf). Thread-safe.
  [[nodiscard]] const std::string& client() const { return client_; }
  // Whether the client was an identity with the role admin when the call was opened. Thread-safe.
  [[nodiscard]] bool admin() const { return admin_; }
  // Whether the caller may continue. Thread-safe.
  [[nodiscard]] Status Check() const;
  // The caller by present identities. Not OK as Check. Thread-safe.
  [[nodiscard]] StatusOr<Caller> Look() const;
  // How long nothing more should be read from the caller, by present identities. Thread-safe.
  [[nodiscard]] Duration Owes() const;
  // The caller by present identities. Not OK as Check. Owner thread only; the pointer is valid
  // until the next call.
  [[nodiscard]] StatusOr<const Caller*> Get();

 private:
  // Finds the caller by present identities.
  [[nodiscard]] StatusOr<Caller> Recognise(Instant now) const;

  Authoriser& authoriser_;
  Clock& clock_;
  const MethodRule* const rule_;
  const Credentials credentials_;
  const Peer peer_;          // kept here, as gRPC forgets the peer of a cancelled call
  Status server_;            // CheckServer's
  uint64_t generation_ = 0;  // the generation of caller_
  StatusOr<Caller> caller_;
  std::string client_;
  bool admin_ = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CALLER_H_
