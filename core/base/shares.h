// How much of a table that all clients share each of them may take. One rule for all such tables
// (docs/limits.md lists them):
// - A client may have as many places of three quarters of the table as are free of them. One client
//   alone gets three eighths of the table; two that take turns get a quarter each.
// - The last quarter is kept for newcomers: a client that holds nothing finds one place there.
// - The last sixteenth is kept for admins, who may take whatever is free.
// However many clients take all that they may, the table therefore has a place for one more until
// as many clients hold something as three sixteenths of it are places.
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
  // The number of a client: an identity, else a network. Zero: the server itself, an operator, or
  // whoever it was before a restart.
  uint64_t client = 0;
  // What the place is for is among what the client's own limits name: that is an operator's choice,
  // and nobody's invention.
  bool named = false;
  // The client is an identity with the role admin.
  bool admin = false;
  bool operator==(const Claim&) const = default;
};

// The number of a client by its name: never zero, and another one in each process. Thread-safe.
[[nodiscard]] inline uint64_t ClientNumber(std::string_view name) {
  return absl::Hash<absl::string_view>()({name.data(), name.size()}) | 1;
}

// How many more places of `most`, of which `taken` are, a client may take that holds `held`.
[[nodiscard]] constexpr uint64_t ShareLeft(uint64_t held, uint64_t taken, uint64_t most,
                                           bool admin = false) {
  if (taken >= most) return 0;
  if (admin) return most - taken;
  const uint64_t shared = most - most / 4;
  if (taken < shared && held < shared - taken) return (shared - taken - held + 1) / 2;
  return held == 0 && taken < most - most / 16 ? 1 : 0;
}

// Whether a client may take one more place of a table whose places are for connections and calls,
// of which clients need some each and may be given a limit of their own: anybody has a place of
// three quarters. Of the last quarter half is for clients that hold less than kFewPlaces, a quarter
// for those that hold nothing, and a quarter for admins.
inline constexpr uint64_t kFewPlaces = 8;
[[nodiscard]] constexpr bool MayTakePlace(uint64_t held, uint64_t taken, uint64_t most,
                                          bool admin = false) {
  if (taken >= most) return false;
  if (admin || taken < most - most / 4) return true;
  if (taken < most - most / 8) return held < kFewPlaces;
  return held == 0 && taken < most - most / 16;
}

// The same in a table of names: a further quarter is kept for what limits name, and for operators.
[[nodiscard]] constexpr uint64_t NamesLeft(const Claim& claim, uint64_t held, uint64_t taken,
                                           uint64_t most) {
  const bool free = claim.named || claim.admin || claim.client == 0;
  return free ? most - std::min(taken, most) : ShareLeft(held, taken, most - most / 4);
}

// Counts the places of each client in a table of names. Thread-compatible.
class Shares {
 public:
  explicit Shares(uint64_t most) : most_(most) {}

  // How many more the client may take; so many others, and so many of its own, are about to be
  // taken.
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
