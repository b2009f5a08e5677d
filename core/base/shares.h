// Limits how much of a shared table each client may take. One rule for all such tables
// (docs/limits.md lists them):
// - In the first three quarters of the table, a client may hold as many places as are free. One
//   client alone gets three eighths of the table; two that take turns get a quarter each.
// - The last quarter is kept for newcomers: a client that holds nothing finds one place there.
// - The last sixteenth is kept for admins, who may take whatever is free.
// So even if all clients take all that they may, the table has a place for one more client. This
// ends when clients with places number three sixteenths of the table.
#ifndef FRESHET_CORE_BASE_SHARES_H_
#define FRESHET_CORE_BASE_SHARES_H_

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace freshet {

// The client that takes a place. Value type, thread-compatible.
struct Claim {
  // The number of a client: an identity, else a network. 0 = the server itself, an operator, or any
  // client before a restart.
  uint64_t client = 0;
  // The client's own limits name the entry that takes the place: an operator chose the name, the
  // client did not invent it.
  bool named = false;
  // The client is an identity with the role admin.
  bool admin = false;
  bool operator==(const Claim&) const = default;
};

// The number of a client by its name: never zero, and another one in each process. Thread-safe.
[[nodiscard]] inline uint64_t ClientNumber(std::string_view name) {
  return absl::Hash<absl::string_view>()({name.data(), name.size()}) | 1;
}

// How many more places a client with `held` may take, if `taken` of `most` are taken.
[[nodiscard]] constexpr uint64_t ShareLeft(uint64_t held, uint64_t taken, uint64_t most,
                                           bool admin = false) {
  if (taken >= most) return 0;
  if (admin) return most - taken;
  const uint64_t shared = most - most / 4;
  if (taken < shared && held < shared - taken) return (shared - taken - held + 1) / 2;
  return held == 0 && taken < most - most / 16 ? 1 : 0;
}

// Whether a client may take one more place of a table of connections or calls, of which each client
// needs some and can have its own limit. Three quarters are for all clients. Half of the last
// quarter is for clients with less than kFewPlaces, a quarter of it for clients with none, and a
// quarter for admins.
inline constexpr uint64_t kFewPlaces = 8;
[[nodiscard]] constexpr bool MayTakePlace(uint64_t held, uint64_t taken, uint64_t most,
                                          bool admin = false) {
  if (taken >= most) return false;
  if (admin || taken < most - most / 4) return true;
  if (taken < most - most / 8) return held < kFewPlaces;
  return held == 0 && taken < most - most / 16;
}

// ShareLeft for a table of names: a further quarter is kept for names in limits, and for operators.
[[nodiscard]] constexpr uint64_t NamesLeft(const Claim& claim, uint64_t held, uint64_t taken,
                                           uint64_t most) {
  const bool free = claim.named || claim.admin || claim.client == 0;
  return free ? most - std::min(taken, most) : ShareLeft(held, taken, most - most / 4);
}

// Counts the places of each client in a table of names. Thread-compatible.
class Shares {
 public:
  explicit Shares(uint64_t most) : most_(most) {}

  // How many more places the client may take, if others are about to take `staged` and it takes
  // `own` itself.
  [[nodiscard]] uint64_t Left(const Claim& claim, uint64_t staged = 0, uint64_t own = 0) const {
    return NamesLeft(claim, held(claim.client) + own, taken_ + staged + own, most_);
  }
  void Take(uint64_t client) {
    ++taken_;
    if (client != 0) ++by_client_[client];
  }
  void Give(uint64_t client) {
    --taken_;
    const auto it = by_client_.find(client);
    if (it != by_client_.end() && --it->second == 0) by_client_.erase(it);
  }
  [[nodiscard]] uint64_t held(uint64_t client) const {
    const auto it = by_client_.find(client);
    return it == by_client_.end() ? 0 : it->second;
  }
  [[nodiscard]] uint64_t taken() const { return taken_; }
  [[nodiscard]] uint64_t most() const { return most_; }

 private:
  const uint64_t most_;
  uint64_t taken_ = 0;
  absl::flat_hash_map<uint64_t, uint64_t> by_client_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_SHARES_H_
