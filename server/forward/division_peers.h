// The servers of a fleet that serve other divisions, and the calls that are made of them on behalf
// of this one's clients.
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

// Thread-safe.
class DivisionPeers final : public Divisions, private PeerCalls {
 public:
  // Who serves a division; nullopt: nobody, or it cannot be reached. Not OK: it is not known at the
  // moment.
  using Find = std::function<StatusOr<std::optional<ServingPeer>>(uint32_t division)>;

  // For somebody to serve, or to be reached: longer than it takes to take over.
  static constexpr Duration kPatience = Duration::Seconds(15);

  // `find` is called about twice a second for each division that was ever asked, on threads of
  // this, and at the same time for several divisions. Messages wait for `patience` at most, and are
  // refused with ResourceExhausted while those that wait have more than
  // `limits.unacknowledged_bytes`. All that is referred to outlives this.
  DivisionPeers(const ServerConfig& config, Door& door, Clock& clock, Find find,
                Duration patience = kPatience);
  ~DivisionPeers() override { Stop(); }

  [[nodiscard]] std::unique_ptr<DivisionCall> Open(uint32_t division, std::string_view path,
                                                   const ShownByClient& client) override
      FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] bool IsServed(uint32_t division) override FRESHET_EXCLUDES(mutex_);
  // Answers all that is open, and whatever comes yet, by Unavailable. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  using CallPtr = std::shared_ptr<PeerCall>;
  struct Peer {
    Peer(const ServerConfig& config, const Door& door) : lines(config, door) {}

    std::optional<ServingPeer> serves;
    uint64_t serving = 0;  // number of servers so far
    PeerLines lines;
  };

  void AttendCalls() FRESHET_EXCLUDES(mutex_);
  void FindAll() FRESHET_EXCLUDES(mutex_);
  void FindOne(uint32_t division) FRESHET_EXCLUDES(mutex_);
  void TakeOver(uint32_t division, std::optional<ServingPeer> serves) FRESHET_REQUIRES(mutex_);
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
  uint64_t rounds_ = 0;  // of AttendCalls, on the attender's thread
  Mutex mutex_;
  Condition over_;  // a call is
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  std::map<uint32_t, Peer> peers_ FRESHET_GUARDED_BY(mutex_);  // that were asked
  std::set<CallPtr> calls_ FRESHET_GUARDED_BY(mutex_);
  std::set<CallPtr> unconnected_ FRESHET_GUARDED_BY(mutex_);  // of them: Connect had nothing
  size_t held_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  // Both use all of them. Kafka may be slow to say who serves.
  std::unique_ptr<Ticker> attender_;
  std::unique_ptr<Ticker> finder_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_DIVISION_PEERS_H_
