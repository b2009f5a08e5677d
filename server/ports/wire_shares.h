// What clients hold in gRPC 1.51 of which the server knows nothing: calls whose answers cannot
// leave, as the client takes nothing, and messages that are not whole yet. gRPC has one bound of
// memory for all connections; once a client has used that up, gRPC ends calls of others.
#ifndef FRESHET_SERVER_PORTS_WIRE_SHARES_H_
#define FRESHET_SERVER_PORTS_WIRE_SHARES_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/base/ip_address.h"
#include "sync/mutex.h"

namespace freshet {

// Value type, thread-compatible.
struct WireHeld {
  uint64_t calls = 0;  // that came while nothing was written
  uint64_t bytes = 0;  // of messages that are not whole
  friend bool operator==(const WireHeld&, const WireHeld&) = default;
};

// Shares it between networks (server/base/client_network.h) as core/base/shares.h says, in places
// of kCallsPerPlace and kBytesPerPlace. What a connection may hold free of its network's share is
// for whoever counts. Thread-safe.
class WireShares {
 public:
  static constexpr uint64_t kCallsPerPlace = 16;
  static constexpr uint64_t kBytesPerPlace = uint64_t{256} << 10;

  // So much there may be of all networks together, from now on.
  void SetMost(const WireHeld& most) FRESHET_EXCLUDES(mutex_);
  // A connection of the network holds `now` instead of `before`. Says what there is too much of:
  // then nothing has changed. Empty: nothing. What is less is never too much.
  [[nodiscard]] std::string_view Change(const IpAddress& network, const WireHeld& before,
                                        const WireHeld& now) FRESHET_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  WireHeld most_ FRESHET_GUARDED_BY(mutex_);    // in places
  WireHeld places_ FRESHET_GUARDED_BY(mutex_);  // of all networks
  // None are zero.
  absl::flat_hash_map<IpAddress, WireHeld> by_network_ FRESHET_GUARDED_BY(mutex_);
};

// The part of one connection, which lives no longer than what it counts. Thread-compatible.
class WireAccount {
 public:
  // A connection may hold so much that is not counted: most never hold more.
  static constexpr WireHeld kFree = {.calls = 8, .bytes = 16 << 10};

  // nullptr: nothing is counted.
  WireAccount(std::shared_ptr<WireShares> shares, const IpAddress& network)
      : shares_(std::move(shares)), network_(network) {}
  ~WireAccount();
  WireAccount(const WireAccount&) = delete;
  WireAccount& operator=(const WireAccount&) = delete;

  // Says what there is too much of, as WireShares does. Counts by steps, so that it seldom asks.
  [[nodiscard]] std::string_view Hold(const WireHeld& held);

 private:
  std::shared_ptr<WireShares> shares_;
  IpAddress network_;
  WireHeld told_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_WIRE_SHARES_H_
