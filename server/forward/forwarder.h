// Takes the calls of a server that stands by, and has the one that serves answer them: whatever
// server of a cluster a client reaches, it is served.
#ifndef FRESHET_SERVER_FORWARD_FORWARDER_H_
#define FRESHET_SERVER_FORWARD_FORWARDER_H_

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
#include "server/config.h"
#include "server/forward/forwarded_call.h"
#include "server/forward/peer_lines.h"
#include "server/forward/serving_peer.h"
#include "server/ports/grpc_port.h"
#include "sync/mutex.h"

namespace freshet {

// Counts of calls, and of pings of IndexNow, of one server since its start. Thread-safe.
struct ForwardCounters {
  std::atomic<uint64_t> open{0};       // now
  std::atomic<uint64_t> forwarded{0};  // since the start, as those that follow
  std::atomic<uint64_t> refused{0};    // too many, or nobody served, or answered a ping, in time
  std::atomic<uint64_t> dropped{0};    // the server that had them serves no more
};

// Thread-safe but for Start and Stop.
class Forwarder final : private ForwardedCalls {
 public:
  // Who serves; nullopt: nobody, or it cannot be reached. Not OK: it is not known at the moment.
  using Find = std::function<StatusOr<std::optional<ServingPeer>>()>;

  // For somebody to serve, or to be reached: longer than it takes to take over.
  static constexpr Duration kPatience = Duration::Seconds(15);

  // At most `connections` of gRPC are open at a time. `find` is called about twice a second, on a
  // thread of this. Calls wait for `patience` at most. All that is referred to outlives this.
  Forwarder(const ServerConfig& config, size_t connections, Door& door, Clock& clock,
            ForwardCounters& counters, Find find, Duration patience = kPatience);
  ~Forwarder() override { Stop(); }
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  // Takes calls at `listen`. Returns the port. Unavailable says why it is not possible.
  [[nodiscard]] StatusOr<int> Start();
  // Ends all calls, with UNAVAILABLE; the port is free. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);
  // Where calls go; nullopt: nobody serves.
  [[nodiscard]] std::optional<ServingPeer> peer() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return peer_;
  }

 private:
  using CallPtr = std::shared_ptr<ForwardedCall>;
  class Service final : public grpc::CallbackGenericService {
   public:
    explicit Service(Forwarder& forwarder) : forwarder_(forwarder) {}
    grpc::ServerGenericBidiReactor* CreateReactor(
        grpc::GenericCallbackServerContext* context) override {
      return forwarder_.Take(*context);
    }

   private:
    Forwarder& forwarder_;
  };
  struct Route {
    PeerLine* line = nullptr;  // nullptr: the call was dropped
    Instant dropped;
  };
  // What there is to be done to a call, without any lock.
  struct ToConnect {
    CallPtr call;
    std::shared_ptr<grpc::Channel> channel;
    std::string key;
  };
  struct ToDrop {
    CallPtr call;
    const char* why = "";
  };
  struct Steps {
    std::vector<ToConnect> connect;
    std::vector<CallPtr> refuse;  // nobody serves
    std::vector<ToDrop> drop;
    std::vector<CallPtr> cut;  // were dropped, and their clients do not listen
  };

  [[nodiscard]] grpc::ServerGenericBidiReactor* Take(grpc::GenericCallbackServerContext& context)
      FRESHET_EXCLUDES(mutex_);
  // Whether there is room for another call of that client.
  [[nodiscard]] Status Admit(const std::string& client) const FRESHET_REQUIRES(mutex_);
  void Forget(const CallPtr& call) FRESHET_REQUIRES(mutex_);
  // Finds a line for the call; not OK: there is none, and this is to be told to the client.
  [[nodiscard]] StatusOr<ToConnect> Assign(const CallPtr& call) FRESHET_REQUIRES(mutex_);
  void Look() FRESHET_EXCLUDES(mutex_);
  void TakeOver(std::optional<ServingPeer> peer, Steps* steps) FRESHET_REQUIRES(mutex_);
  // Drops the calls of these lines, and the lines.
  void DropLines(const std::function<bool(const PeerLine&)>& of_these, const char* why,
                 Steps* steps) FRESHET_REQUIRES(mutex_);
  // Ends what has waited for too long: for somebody to serve, to be reached, to be listened to.
  void GiveUpOnWaiting(Instant now, Steps* steps) FRESHET_REQUIRES(mutex_);
  void GiveUpOnLines(Instant now, Steps* steps) FRESHET_REQUIRES(mutex_);
  void GiveUpOnClients(Instant now, Steps* steps) FRESHET_REQUIRES(mutex_);
  void AwaitEnd() FRESHET_EXCLUDES(mutex_);
  void Perform(const Steps& steps);
  void Refuse(const CallPtr& call, const grpc::Status& status);
  void TellHealth(bool serving);

  // ForwardedCalls
  bool MayRead(const CallPtr& call) override FRESHET_EXCLUDES(mutex_);
  void Hold(size_t bytes) override FRESHET_EXCLUDES(mutex_);
  void Release(size_t bytes) override FRESHET_EXCLUDES(mutex_);
  void OnClientGone(const CallPtr& call) override FRESHET_EXCLUDES(mutex_);
  void OnOver(const CallPtr& call) override FRESHET_EXCLUDES(mutex_);

  const ServerConfig& config_;
  Door& door_;
  Clock& clock_;
  ForwardCounters& counters_;
  const Find find_;
  const Duration patience_;
  Service service_{*this};
  mutable Mutex mutex_;
  Condition over_;  // a call is
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<ServingPeer> peer_ FRESHET_GUARDED_BY(mutex_);    // nullopt: nobody serves
  std::optional<ServingPeer> former_ FRESHET_GUARDED_BY(mutex_);  // to which the lines lead
  PeerLines lines_ FRESHET_GUARDED_BY(mutex_);
  std::map<CallPtr, Route> calls_ FRESHET_GUARDED_BY(mutex_);
  std::map<CallPtr, Instant> waiting_ FRESHET_GUARDED_BY(mutex_);  // for somebody to serve; since
  std::map<std::string, size_t> by_client_ FRESHET_GUARDED_BY(mutex_);  // of all of these
  std::set<CallPtr> parked_ FRESHET_GUARDED_BY(mutex_);                 // MayRead said no
  size_t held_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  GrpcPort port_;
  std::unique_ptr<Ticker> ticker_;  // uses all of them
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_FORWARDER_H_
