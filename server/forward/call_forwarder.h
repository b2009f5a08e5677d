// Calls that a server has another one answer: whatever server of a cluster a client reaches, it is
// served.
#ifndef FRESHET_SERVER_FORWARD_CALL_FORWARDER_H_
#define FRESHET_SERVER_FORWARD_CALL_FORWARDER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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

// Counts of calls, and of pings of IndexNow, of one server since its start. Thread-safe.
struct ForwardCounters {
  std::atomic<uint64_t> open{0};       // now
  std::atomic<uint64_t> forwarded{0};  // since the start, as those that follow
  std::atomic<uint64_t> refused{0};    // too many, or nobody served, or answered a ping, in time
  std::atomic<uint64_t> dropped{0};    // the server that had them serves no more
};

// Which calls, and how. Value type, thread-compatible.
struct ForwardOptions {
  // For somebody to serve, or to be reached: longer than it takes to take over.
  Duration patience = Duration::Seconds(15);
  // For a message to be passed on whose room others need.
  Duration pass_patience = Duration::Seconds(10);
  // Those of methods whose path begins so; others are UNIMPLEMENTED.
  std::string only = "/";
  // Also calls that were sent here on behalf of a client: by who stands by for this server. Else
  // they are refused, as whoever sent them has yet to hear who serves.
  bool on_behalf = false;
  // What the log calls them, and what is said while nobody serves; this one outlives the calls.
  std::string name = "calls";
  const char* nobody = "no server of the cluster serves at the moment: try again";
};

// Thread-safe but for Start and Stop.
class CallForwarder final : private ForwardedCalls {
 public:
  // Who serves; nullopt: nobody, or it cannot be reached. Not OK: it is not known at the moment.
  using Find = std::function<StatusOr<std::optional<ServingPeer>>()>;

  // `find` is called about twice a second, on a thread of this. All that is referred to outlives
  // this.
  CallForwarder(const ServerConfig& config, Door& door, Clock& clock, ForwardCounters& counters,
                Find find, ForwardOptions options);
  ~CallForwarder() override { Stop(); }
  CallForwarder(const CallForwarder&) = delete;
  CallForwarder& operator=(const CallForwarder&) = delete;

  // Takes the calls; a server that has it ends before this does.
  [[nodiscard]] grpc::CallbackGenericService* service() { return &service_; }
  // Begins to look who serves, and says it each time. InvalidArgument: ReadRoots'.
  [[nodiscard]] Status Start(std::function<void(bool somebody)> tell);
  // Ends all calls, with UNAVAILABLE. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);
  // Counts all calls of the port, also those that are answered here.
  [[nodiscard]] StreamSet& streams() { return streams_; }
  // Bytes of answers that wait for clients.
  [[nodiscard]] size_t answer_bytes() const { return streams_.answer_bytes(); }
  // Where calls go; nullopt: nobody serves.
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
  // What there is to be done to a call, without any lock.
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
    std::vector<ToEnd> refuse;  // that were not connected
    std::vector<ToEnd> drop;    // the server that had them serves no more
  };

  [[nodiscard]] grpc::ServerGenericBidiReactor* Take(grpc::GenericCallbackServerContext& context)
      FRESHET_EXCLUDES(mutex_);
  // Finds a line for the call; not OK: there is none, and this is to be told to the client.
  [[nodiscard]] StatusOr<ToConnect> Assign(const CallPtr& call) FRESHET_REQUIRES(mutex_);
  void Look() FRESHET_EXCLUDES(mutex_);
  void TakeOver(std::optional<ServingPeer> peer, Steps* steps) FRESHET_REQUIRES(mutex_);
  // Drops the calls of these lines, and the lines.
  void DropLines(const std::function<bool(const PeerLine&)>& of_these, const char* why,
                 Steps* steps) FRESHET_REQUIRES(mutex_);
  // Ends what has waited for too long: for somebody to serve, to be reached.
  void GiveUpOnWaiting(Instant now, Steps* steps) FRESHET_REQUIRES(mutex_);
  void GiveUpOnLines(Instant now, Steps* steps) FRESHET_REQUIRES(mutex_);
  void AwaitEnd() FRESHET_EXCLUDES(mutex_);
  void Perform(const Steps& steps);
  void Refuse(const CallPtr& call, const grpc::Status& status);
  // As the configuration has it now.
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
  Service service_{*this};
  mutable Mutex mutex_;
  Condition over_;  // a call is
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<ServingPeer> peer_ FRESHET_GUARDED_BY(mutex_);    // nullopt: nobody serves
  std::optional<ServingPeer> former_ FRESHET_GUARDED_BY(mutex_);  // to which the lines lead
  PeerLines lines_ FRESHET_GUARDED_BY(mutex_);
  StreamSet streams_;  // all calls, and what is held of them
  std::map<CallPtr, PeerLine*> calls_ FRESHET_GUARDED_BY(mutex_);  // nullptr: it is no more
  std::map<CallPtr, Instant> waiting_ FRESHET_GUARDED_BY(mutex_);  // for somebody to serve; since
  std::unique_ptr<Ticker> ticker_;                                 // uses all of them
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_CALL_FORWARDER_H_
