// Shares out the memory of gRPC 1.51 that the server knows nothing of: calls whose answers cannot
// leave, as their client takes nothing, and unfinished or unread messages. gRPC has one bound of
// memory for all connections; a client that uses it up would end calls of others.
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

// Amounts that clients hold. Value type, thread-compatible.
struct WireHeld {
  uint64_t calls = 0;  // opened while nothing was written
  uint64_t bytes = 0;  // for unfinished and unread messages
  friend bool operator==(const WireHeld&, const WireHeld&) = default;
};

// Shares the memory between networks (server/base/client_network.h) as core/base/shares.h says, in
// places of kCallsPerPlace and kBytesPerPlace. The caller decides what a connection may hold
// uncounted. Thread-safe.
class WireShares {
 public:
  static constexpr uint64_t kCallsPerPlace = 16;
  static constexpr uint64_t kBytesPerPlace = uint64_t{256} << 10;

  // Sets the limit of all networks together, from now on.
  void SetMost(const WireHeld& most) FRESHET_EXCLUDES(mutex_);
  // Changes what a connection of the network holds. Returns the amount that is too much, and
  // changes nothing then; empty = none. A decrease is never too much.
  [[nodiscard]] std::string_view Change(const IpAddress& network, const WireHeld& before,
                                        const WireHeld& now) FRESHET_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  WireHeld most_ FRESHET_GUARDED_BY(mutex_);    // in places
  WireHeld places_ FRESHET_GUARDED_BY(mutex_);  // of all networks
  // Places by network; never zero.
  absl::flat_hash_map<IpAddress, WireHeld> by_network_ FRESHET_GUARDED_BY(mutex_);
};

// The part of one connection, which lives no longer than the connection. Thread-compatible.
class WireAccount {
 public:
  // Amounts that a connection may hold uncounted: most never hold more.
  static constexpr WireHeld kFree = {.calls = 8, .bytes = 16 << 10};

  // nullptr = nothing is counted.
  WireAccount(std::shared_ptr<WireShares> shares, const IpAddress& network)
      : shares_(std::move(shares)), network_(network) {}
  ~WireAccount();
  WireAccount(const WireAccount&) = delete;
  WireAccount& operator=(const WireAccount&) = delete;

  // Sets what the connection holds. Returns what WireShares::Change returns. Counts by steps, so it
  // asks seldom.
  [[nodiscard]] std::string_view Hold(const WireHeld& held);

 private:
  std::shared_ptr<WireShares> shares_;
  IpAddress network_;
  WireHeld told_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_WIRE_SHARES_H_
