// Forwards calls to another server: a client is served whichever server of a cluster it reaches.
#ifndef FRESHET_SERVER_FORWARD_CALL_FORWARDER_H_
#define FRESHET_SERVER_FORWARD_CALL_FORWARDER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "server/auth/door.h"
#include "server/base/system_clock.h"
#include "server/base/ticker.h"
#include "server/forward/forwarded_call.h"
#include "server/forward/peer_lines.h"
#include "server/forward/serving_peer.h"
#include "sync/mutex.h"

namespace freshet {

struct ServerConfig;

// Counts of calls, and of IndexNow pings, of one server since its start. Thread-safe.
struct ForwardCounters {
  std::atomic<uint64_t> open{0};       // now
  std::atomic<uint64_t> forwarded{0};  // since the start, as are the next ones
  std::atomic<uint64_t> refused{0};    // too many, or no server took the call or answered the ping
                                       // in time
  std::atomic<uint64_t> dropped{0};    // their server serves no more
};

// The calls to forward, and how. Value type, thread-compatible.
struct ForwardOptions {
  // The wait for a server to serve, or to be reached: longer than a take-over.
  Duration patience = Duration::Seconds(15);
  // The time for passing a message on when others need its room.
  Duration pass_patience = Duration::Seconds(10);
  // The prefix of forwarded methods; others are UNIMPLEMENTED.
  std::string only = "/";
  // Whether calls sent on by a standby of this server are forwarded too. Else they are refused,
  // because their sender has yet to hear who serves.
  bool on_behalf = false;
  // The name of the calls in the log, and the answer while no server serves; that text outlives the
  // calls.
  std::string name = "calls";
  const char* nobody = "no server of the cluster serves at the moment: try again";
};

// Forwards the calls. Thread-safe but for Start and Stop.
class CallForwarder final : private ForwardedCalls {
 public:
  // The serving server; nullopt = none, or it cannot be reached. Not OK: unknown at the moment.
  using Find = std::function<StatusOr<std::optional<ServingPeer>>()>;

  // `find` is called about twice a second, on a thread of this. All references outlive this.
  CallForwarder(const ServerConfig& config, Door& door, Clock& clock, ForwardCounters& counters,
                Find find, ForwardOptions options);
  ~CallForwarder() override { Stop(); }
  CallForwarder(const CallForwarder&) = delete;
  CallForwarder& operator=(const CallForwarder&) = delete;

  // The service that takes the calls; its server ends before this does.
  [[nodiscard]] grpc::CallbackGenericService* service() { return &service_; }
  // Begins to look for the serving server. Reports each time whether there is one, and the peers
  // whose connections must be closed (OpenCall::Look). InvalidArgument: ReadRoots'.
  [[nodiscard]] Status Start(std::function<void(bool somebody)> tell,
                             std::function<void(const std::set<Peer>& peers)> cut);
  // Ends all calls, with UNAVAILABLE. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);
  // Counts all calls of the port, also those that are answered here.
  [[nodiscard]] StreamSet& streams() { return streams_; }
  // Bytes of answers that wait for clients.
  [[nodiscard]] size_t answer_bytes() const { return streams_.stats().answer_bytes; }
  // The server that takes the calls; nullopt = none serves.
  [[nodiscard]] std::optional<ServingPeer> peer() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return peer_;
  }

 private:
  using CallPtr = std::shared_ptr<ForwardedCall>;
  class Service final : public grpc::CallbackGenericService {
   public:
    explicit Service(CallForwarder& forwarder) : forwarder_(forwarder) {}
    grpc::ServerGenericBidiReactor* CreateReactor(
        grpc::GenericCallbackServerContext* context) override {
      return forwarder_.Take(*context);
    }

   private:
    CallForwarder& forwarder_;
  };
  // An action on a call, taken without any lock.
  struct ToConnect {
    CallPtr call;
    std::shared_ptr<grpc::Channel> channel;
    std::string key;
  };
  struct ToEnd {
    CallPtr call;
    grpc::Status why;
  };
  struct Steps {
    std::vector<ToConnect> connect;
    std::vector<ToEnd> refuse;  // not connected
    std::vector<ToEnd> drop;    // their server serves no more
  };

  [[nodiscard]] grpc::ServerGenericBidiReactor* Take(grpc::GenericCallbackServerContext& context)
      FRESHET_EXCLUDES(mutex_);
  // Finds a line for the call. Not OK: there is none, and the client gets this status.
  [[nodiscard]] StatusOr<ToConnect> Assign(const CallPtr& call) FRESHET_REQUIRES(mutex_);
  void Look() FRESHET_EXCLUDES(mutex_);
  void TakeOver(std::optional<ServingPeer> peer, Steps* steps) FRESHET_REQUIRES(mutex_);
  // Drops these lines and their calls.
  void DropLines(const std::function<bool(const PeerLine&)>& of_these, const char* why,
                 Steps* steps) FRESHET_REQUIRES(mutex_);
  // End what has waited too long: calls for a serving server, lines for a connection.
  void GiveUpOnWaiting(Instant now, Steps* steps) FRESHET_REQUIRES(mutex_);
  void GiveUpOnLines(Instant now, Steps* steps) FRESHET_REQUIRES(mutex_);
  void AwaitEnd() FRESHET_EXCLUDES(mutex_);
  void Perform(const Steps& steps);
  void Refuse(const CallPtr& call, const grpc::Status& status);
  // The limits by the present configuration.
  [[nodiscard]] StreamLimits Limits() const;

  // ForwardedCalls
  void OnSpoken(const CallPtr& call) override FRESHET_EXCLUDES(mutex_);
  void OnOutdone() override { ++counters_.refused; }
  void OnClientGone(const CallPtr& call) override FRESHET_EXCLUDES(mutex_);
  void OnOver(const CallPtr& call) override FRESHET_EXCLUDES(mutex_);

  const ServerConfig& config_;
  Door& door_;
  Clock& clock_;
  ForwardCounters& counters_;
  const Find find_;
  const ForwardOptions options_;
  std::function<void(bool)> tell_;
  std::function<void(const std::set<Peer>&)> cut_;
  Service service_{*this};
  mutable Mutex mutex_;
  Condition over_;  // signalled at the end of a call
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<ServingPeer> peer_ FRESHET_GUARDED_BY(mutex_);    // nullopt = none serves
  std::optional<ServingPeer> former_ FRESHET_GUARDED_BY(mutex_);  // the end of the lines
  PeerLines lines_ FRESHET_GUARDED_BY(mutex_);
  StreamSet streams_;  // all calls, and the bytes held for them
  std::map<CallPtr, PeerLine*> calls_ FRESHET_GUARDED_BY(mutex_);  // nullptr = the line is gone
  // calls that wait for a serving server, and since when
  std::map<CallPtr, Instant> waiting_ FRESHET_GUARDED_BY(mutex_);
  std::unique_ptr<Ticker> ticker_;  // uses all of them
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_CALL_FORWARDER_H_
