// Checks who calls, and whether the client may call, before a method does anything else. gRPC's
// auth metadata processor is not used, because some headers make it end the process
// (docs/decisions/0014).
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

// The same credentials in the form that can be forwarded to another server.
[[nodiscard]] ShownByClient ShownBy(const grpc::CallbackServerContext& call);

// Adds the names in the client's certificate to `names`, and sets `ends` to its expiry. Returns
// false if the client has shown none. gRPC checked the certificate when the connection was made.
[[nodiscard]] bool AddCertificate(const grpc::CallbackServerContext& call,
                                  std::vector<std::string>* names, Instant* ends);

// If the method is only for servers of the fleet, checks that the caller is one. PermissionDenied:
// it is not. A call from another server carries the key of this process, which only its fleet
// knows.
[[nodiscard]] Status CheckServer(const MethodRule& rule, const ShownByClient& shown);

// Checks the caller of a method against the table of methods (Authoriser::Authorise), which counts
// and reports refusals. Calls that this server makes to itself pass, because the HTTP port has
// checked their clients. Unavailable: the call was forwarded to a process that has ended; the
// sender tries again.
[[nodiscard]] Status LetIn(Authoriser& authoriser, std::string_view path,
                           const grpc::CallbackServerContext& call);

// A call that ends at once. `Reactor` is a reactor class of gRPC.
template <typename Reactor>
class EndedCall final : public Reactor {
 public:
  explicit EndedCall(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

// Makes the reactor that refuses a call before the call is read or counted; nullptr = the call may
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

  // The credentials of the client. Thread-safe.
  [[nodiscard]] const Credentials& credentials() const { return credentials_; }
  // When the client's certificate expires. Thread-safe.
  [[nodiscard]] Instant ends() const { return credentials_.certificate_ends; }
  // The network of the client. Thread-safe.
  [[nodiscard]] const IpAddress& network() const { return credentials_.network; }
  // The other end of the call's connection. Thread-safe.
  [[nodiscard]] const Peer& peer() const { return peer_; }
  // The client whose calls are counted together (Authoriser::ClientOf). Thread-safe.
  [[nodiscard]] const std::string& client() const { return client_; }
  // Whether the client had the role admin when the call was opened. Thread-safe.
  [[nodiscard]] bool admin() const { return admin_; }
  // Whether the server knows its clients, but not this one (OpenCall::stranger). Thread-safe.
  [[nodiscard]] bool stranger() const { return stranger_; }
  // Whether the caller may continue. Thread-safe.
  [[nodiscard]] Status Check() const;
  // The caller according to the present identities. Not OK: as for Check. Thread-safe.
  [[nodiscard]] StatusOr<Caller> Look() const;
  // For how long the server should stop reading from the caller, because the caller has used up its
  // budget. Thread-safe.
  [[nodiscard]] Duration Owes() const;
  // The caller according to the present identities. Not OK: as for Check. Owner thread only; the
  // pointer is valid until the next call.
  [[nodiscard]] StatusOr<const Caller*> Get();

 private:
  // Finds the caller among the present identities, with its budget and client number.
  [[nodiscard]] StatusOr<Caller> Recognise(Instant now) const;

  Authoriser& authoriser_;
  Clock& clock_;
  const MethodRule* const rule_;
  const Credentials credentials_;
  const Peer peer_;          // a copy, because gRPC forgets the peer of a cancelled call
  Status server_;            // the result of CheckServer
  uint64_t generation_ = 0;  // the generation of identities for caller_
  StatusOr<Caller> caller_;
  std::string client_;
  bool admin_ = false;
  bool stranger_ = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CALLER_H_
