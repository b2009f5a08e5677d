// Limits how much of a shared table each client can take. All shared tables follow one rule
// (docs/limits.md lists the tables):
// - In the first three quarters of the table, a client may hold as many places as remain free. A
//   single client gets three eighths of the table. Two clients that take places alternately get a
//   quarter each.
// - The last quarter is reserved for newcomers: a client that holds nothing gets one place there.
// - The last sixteenth is reserved for admins, who may take all free places.
// So even if all clients take as much as they are allowed to, the table has a place for one more
// client. The table runs out of places for newcomers only once they have filled three sixteenths of
// it.
#ifndef FRESHET_CORE_BASE_SHARES_H_
#define FRESHET_CORE_BASE_SHARES_H_

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace freshet {

// Describes who takes a place. Value type, thread-compatible.
struct Claim {
  // ClientNumber of the client's identity, or of its network if it has no identity. 0 = the server,
  // an operator, or an unknown client that took the place before a restart.
  uint64_t client = 0;
  // The entry's name appears in the limits that an operator configured for this client, so the
  // client did not invent it.
  bool named = false;
  // The client is an identity with the role admin.
  bool admin = false;
  bool operator==(const Claim&) const = default;
};

// The number of the client with this name: never zero, and different in each process. Thread-safe.
[[nodiscard]] inline uint64_t ClientNumber(std::string_view name) {
  return absl::Hash<absl::string_view>()({name.data(), name.size()}) | 1;
}

// The number of places that a client with `held` places may still take if `taken` of the table's
// `most` places are taken.
[[nodiscard]] constexpr uint64_t ShareLeft(uint64_t held, uint64_t taken, uint64_t most,
                                           bool admin = false) {
  if (taken >= most) return 0;
  if (admin) return most - taken;
  const uint64_t shared = most - most / 4;
  if (taken < shared && held < shared - taken) return (shared - taken - held + 1) / 2;
  return held == 0 && taken < most - most / 16 ? 1 : 0;
}

// A client with fewer places than this may also use the eighth of a table that follows the first
// three quarters (MayTakePlace).
inline constexpr uint64_t kFewPlaces = 8;
// Returns true if a client may take one more place in a table of connections or calls. The rule is
// looser than ShareLeft, because a client needs several connections, and callers can also limit the
// number per client. All clients share the first three quarters of the table. The next eighth is
// reserved for clients with fewer than kFewPlaces, the next sixteenth for clients with no place,
// and the last sixteenth for admins.
[[nodiscard]] constexpr bool MayTakePlace(uint64_t held, uint64_t taken, uint64_t most,
                                          bool admin = false) {
  if (taken >= most) return false;
  if (admin || taken < most - most / 4) return true;
  if (taken < most - most / 8) return held < kFewPlaces;
  return held == 0 && taken < most - most / 16;
}

// Like ShareLeft, for a table of names. A quarter of the table is reserved for configured names,
// admins and operators.
[[nodiscard]] constexpr uint64_t NamesLeft(const Claim& claim, uint64_t held, uint64_t taken,
                                           uint64_t most) {
  const bool free = claim.named || claim.admin || claim.client == 0;
  return free ? most - std::min(taken, most) : ShareLeft(held, taken, most - most / 4);
}

// Counts the places of each client in a table of names. Thread-compatible.
class Shares {
 public:
  explicit Shares(uint64_t most) : most_(most) {}

  // The number of places that the client may still take. Places that are planned but not taken yet
  // count as taken: `staged` of them are for other clients, and `own` for this client.
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
