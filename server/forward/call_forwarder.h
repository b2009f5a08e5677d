// Forwards calls to the serving server of a cluster, so that a client can use any of its servers.
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
  std::atomic<uint64_t> open{0};       // number of calls open now
  std::atomic<uint64_t> forwarded{0};  // since the start, like the next two
  // Calls and pings that were refused: too many calls were open, or no server took the call or
  // answered the ping in time.
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> dropped{0};  // calls whose server stopped serving
};

// Options: which calls are forwarded, and how. Value type, thread-compatible.
struct ForwardOptions {
  // How long a call waits until a server serves or can be reached. This is longer than a takeover.
  Duration patience = Duration::Seconds(15);
  // How long the serving server may take to read a message while other calls need the memory that
  // the message takes.
  Duration pass_patience = Duration::Seconds(10);
  // The prefix of the methods that are forwarded. Others end with UNIMPLEMENTED.
  std::string only = "/";
  // True if calls that another server has already forwarded to this one are forwarded again. If
  // false, they are refused, because their sender does not know yet which server serves.
  bool on_behalf = false;
  // The name of the calls in the log, and the answer while no server serves. `nobody` must outlive
  // the calls.
  std::string name = "calls";
  const char* nobody = "no server of the cluster serves at the moment: try again";
};

// Forwards the calls. Thread-safe, except Start and Stop.
class CallForwarder final : private ForwardedCalls {
 public:
  // Returns the serving server; nullopt = none, or it cannot be reached. Not OK: not known at the
  // moment.
  using Find = std::function<StatusOr<std::optional<ServingPeer>>()>;

  // `find` is called about twice a second, on the forwarder's thread. All referenced objects must
  // outlive this object.
  CallForwarder(const ServerConfig& config, Door& door, Clock& clock, ForwardCounters& counters,
                Find find, ForwardOptions options);
  ~CallForwarder() override { Stop(); }
  CallForwarder(const CallForwarder&) = delete;
  CallForwarder& operator=(const CallForwarder&) = delete;

  // The service that takes the calls. The server that uses it must end before this object.
  [[nodiscard]] grpc::CallbackGenericService* service() { return &service_; }
  // Begins to look for the serving server. After each search, calls `tell` with whether a server
  // serves, and `cut` with the peers whose connections must be closed (OpenCall::Look).
  // InvalidArgument: the error of ReadRoots.
  [[nodiscard]] Status Start(std::function<void(bool somebody)> tell,
                             std::function<void(const std::set<Peer>& peers)> cut);
  // Ends all calls with UNAVAILABLE. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);
  // All calls of the port, including those that this server answers itself.
  [[nodiscard]] StreamSet& streams() { return streams_; }
  // The bytes of answers that clients have not read yet.
  [[nodiscard]] size_t answer_bytes() const { return streams_.stats().answer_bytes; }
  // The server to which calls are forwarded; nullopt = none serves.
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
  // Actions on calls, to be performed without a lock.
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
    std::vector<ToEnd> refuse;  // calls that are not connected
    std::vector<ToEnd> drop;    // calls whose server stopped serving
  };

  [[nodiscard]] grpc::ServerGenericBidiReactor* Take(grpc::GenericCallbackServerContext& context)
      FRESHET_EXCLUDES(mutex_);
  // Finds a line (connection) for the call. Not OK: there is none. The client must then get this
  // status.
  [[nodiscard]] StatusOr<ToConnect> Assign(const CallPtr& call) FRESHET_REQUIRES(mutex_);
  void Look() FRESHET_EXCLUDES(mutex_);
  void TakeOver(std::optional<ServingPeer> peer, Steps* steps) FRESHET_REQUIRES(mutex_);
  // Drops the lines for which `of_these` returns true, and their calls.
  void DropLines(const std::function<bool(const PeerLine&)>& of_these, const char* why,
                 Steps* steps) FRESHET_REQUIRES(mutex_);
  // The first one ends calls that have waited too long for a serving server. The second one drops
  // lines that have waited too long for a connection, with their calls.
  void GiveUpOnWaiting(Instant now, Steps* steps) FRESHET_REQUIRES(mutex_);
  void GiveUpOnLines(Instant now, Steps* steps) FRESHET_REQUIRES(mutex_);
  void AwaitEnd() FRESHET_EXCLUDES(mutex_);
  void Perform(const Steps& steps);
  void Refuse(const CallPtr& call, const grpc::Status& status);
  // The limits of the present configuration.
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
  Condition over_;  // signaled when calls_ becomes empty
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<ServingPeer> peer_ FRESHET_GUARDED_BY(mutex_);    // nullopt = none
  std::optional<ServingPeer> former_ FRESHET_GUARDED_BY(mutex_);  // the server that lines_ lead to
  PeerLines lines_ FRESHET_GUARDED_BY(mutex_);
  StreamSet streams_;  // all open calls, and the bytes held for them
  std::map<CallPtr, PeerLine*> calls_ FRESHET_GUARDED_BY(mutex_);  // nullptr = dropped
  // The calls that wait for a serving server, each with the time since when it waits.
  std::map<CallPtr, Instant> waiting_ FRESHET_GUARDED_BY(mutex_);
  std::unique_ptr<Ticker> ticker_;  // last: uses all members above
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_CALL_FORWARDER_H_
