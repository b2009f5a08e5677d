// Divides among clients the memory that gRPC 1.51 uses outside the server's control: for calls
// whose answers cannot be sent because their client reads nothing, and for unfinished or unread
// messages. gRPC has one memory limit for all connections. A client that used all of it would make
// calls of other clients fail.
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
  uint64_t calls = 0;  // calls opened while no bytes were sent
  uint64_t bytes = 0;  // memory for unfinished and unread messages
  friend bool operator==(const WireHeld&, const WireHeld&) = default;
};

// Divides the memory among networks (server/base/client_network.h) as core/base/shares.h says, in
// units ("places") of kCallsPerPlace calls and kBytesPerPlace bytes. The caller decides how much a
// connection may hold uncounted. Thread-safe.
class WireShares {
 public:
  static constexpr uint64_t kCallsPerPlace = 16;
  static constexpr uint64_t kBytesPerPlace = uint64_t{256} << 10;

  // Sets the limit for all networks together.
  void SetMost(const WireHeld& most) FRESHET_EXCLUDES(mutex_);
  // Changes what a connection of the network holds, and returns an empty text. If the change would
  // exceed the share, changes nothing and returns the kind of excess in words. A decrease never
  // fails.
  [[nodiscard]] std::string_view Change(const IpAddress& network, const WireHeld& before,
                                        const WireHeld& now) FRESHET_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  WireHeld most_ FRESHET_GUARDED_BY(mutex_);    // in places
  WireHeld places_ FRESHET_GUARDED_BY(mutex_);  // of all networks
  // The amounts held by network; never zero.
  absl::flat_hash_map<IpAddress, WireHeld> by_network_ FRESHET_GUARDED_BY(mutex_);
};

// The amounts of one connection. Must not outlive the connection. Thread-compatible.
class WireAccount {
 public:
  // Amounts that a connection may hold uncounted. Most connections never hold more.
  static constexpr WireHeld kFree = {.calls = 8, .bytes = 16 << 10};

  // `shares`: nullptr = not counted.
  WireAccount(std::shared_ptr<WireShares> shares, const IpAddress& network)
      : shares_(std::move(shares)), network_(network) {}
  ~WireAccount();
  WireAccount(const WireAccount&) = delete;
  WireAccount& operator=(const WireAccount&) = delete;

  // Sets what the connection holds. Returns the result of WireShares::Change. Counts in steps, so
  // that it rarely needs to call WireShares.
  [[nodiscard]] std::string_view Hold(const WireHeld& held);

 private:
  std::shared_ptr<WireShares> shares_;
  IpAddress network_;
  WireHeld told_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_WIRE_SHARES_H_
