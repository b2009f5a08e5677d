// The servers of a fleet that serve other divisions, and the calls that this server makes to them
// for its clients.
#ifndef FRESHET_SERVER_FORWARD_DIVISION_PEERS_H_
#define FRESHET_SERVER_FORWARD_DIVISION_PEERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/base/status.h"
#include "core/base/units.h"
#include "server/api/divisions.h"
#include "server/auth/door.h"
#include "server/base/system_clock.h"
#include "server/base/ticker.h"
#include "server/forward/peer_call.h"
#include "server/forward/peer_lines.h"
#include "server/forward/serving_peer.h"
#include "sync/mutex.h"

namespace freshet {

struct ServerConfig;

// The peers and their calls. Thread-safe.
class DivisionPeers final : public Divisions, private PeerCalls {
 public:
  // Returns the serving server of a division; nullopt = none, or it cannot be reached. Not OK: not
  // known at the moment.
  using Find = std::function<StatusOr<std::optional<ServingPeer>>(uint32_t division)>;

  // How long a message waits until a server serves or can be reached. This is longer than a
  // takeover.
  static constexpr Duration kPatience = Duration::Seconds(15);
  // If a division had no server that could be reached for this long, hurried calls (ShownByClient)
  // no longer wait for it.
  static constexpr Duration kHurriedPatience = Duration::Seconds(1);

  // `find` is called about twice a second for each division that was ever asked, on threads of this
  // object, in parallel for several divisions. Messages wait for at most `patience`. A new message
  // gets ResourceExhausted while the bytes of waiting ones exceed `limits.unacknowledged_bytes`.
  // All referenced objects must outlive this object.
  DivisionPeers(const ServerConfig& config, Door& door, Clock& clock, Find find,
                Duration patience = kPatience);
  ~DivisionPeers() override { Stop(); }

  [[nodiscard]] std::unique_ptr<DivisionCall> Open(uint32_t division, std::string_view path,
                                                   const ShownByClient& client) override
      FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] bool IsServed(uint32_t division) override FRESHET_EXCLUDES(mutex_);
  // Answers all open and later messages with Unavailable. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  using CallPtr = std::shared_ptr<PeerCall>;
  struct Peer {
    Peer(const ServerConfig& config, const Door& door) : lines(config, door) {}

    std::optional<ServingPeer> serves;
    uint64_t serving = 0;  // number of the serving server, rises with each new one
    // The first and the last failure of Connect in the present series. A series ends after a
    // success, or after kHurriedPatience without a failure.
    Instant lost;
    Instant tried;
    PeerLines lines;
  };

  void AttendCalls() FRESHET_EXCLUDES(mutex_);
  void FindAll() FRESHET_EXCLUDES(mutex_);
  void FindOne(uint32_t division) FRESHET_EXCLUDES(mutex_);
  void TakeOver(uint32_t division, std::optional<ServingPeer> serves) FRESHET_REQUIRES(mutex_);
  // Finds a connection to the division's server, and counts one more call on the connection;
  // nullopt = there is none.
  [[nodiscard]] std::optional<PeerLink> FindLink(Peer& peer) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Peer& PeerOf(uint32_t division) FRESHET_REQUIRES(mutex_) {
    return peers_.try_emplace(division, config_, door_).first->second;
  }

  // PeerCalls
  [[nodiscard]] std::optional<PeerLink> Connect(const CallPtr& call) override
      FRESHET_EXCLUDES(mutex_);
  void Release(const PeerCall& call, const PeerLink& link) override FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] Instant Now() const override { return clock_.Now(); }
  [[nodiscard]] bool Hold(size_t bytes) override FRESHET_EXCLUDES(mutex_);
  void Free(size_t bytes) override FRESHET_EXCLUDES(mutex_);
  void OnOver(const CallPtr& call) override FRESHET_EXCLUDES(mutex_);

  const ServerConfig& config_;
  Door& door_;
  Clock& clock_;
  const Find find_;
  const Duration patience_;
  uint64_t rounds_ = 0;  // rounds of AttendCalls; attender's thread only
  Mutex mutex_;
  Condition over_;  // signaled when calls_ becomes empty
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  std::map<uint32_t, Peer> peers_ FRESHET_GUARDED_BY(mutex_);  // divisions asked so far
  std::set<CallPtr> calls_ FRESHET_GUARDED_BY(mutex_);
  std::set<CallPtr> unconnected_ FRESHET_GUARDED_BY(mutex_);  // those of calls_ without a link
  size_t held_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  // Both use all members above. They are two threads, because Kafka can be slow to name the serving
  // server.
  std::unique_ptr<Ticker> attender_;
  std::unique_ptr<Ticker> finder_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_DIVISION_PEERS_H_
