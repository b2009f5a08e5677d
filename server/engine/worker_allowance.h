// Limits how many open leases each worker may have (its allowance). Each lease that expires without
// a result halves the allowance, down to one. Each result adds one, up to the maximum. So a worker
// without results loses its share of the crawl rate.
//
// A worker that lets its leases expire could come back under another name, because names cost
// nothing. Therefore newcomers (names without a result so far) may together hold only a limited
// number of leases. The newcomers of one client may hold at most as many of these leases as remain
// free for other clients (ShareLeft). Workers of different clients are separate, even if they have
// the same name.
#ifndef FRESHET_SERVER_ENGINE_WORKER_ALLOWANCE_H_
#define FRESHET_SERVER_ENGINE_WORKER_ALLOWANCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "server/engine/lease_tally.h"

namespace freshet {

// The limits. Value type, thread-compatible.
struct AllowanceLimits {
  uint64_t most = 0;          // open leases of one worker, the full allowance
  uint64_t newcomers = 0;     // open leases of all newcomers
  size_t proven_names = 0;    // remembered proven names; a forgotten one is a newcomer again
  size_t newcomer_names = 0;  // remembered newcomers
};

// The allowances. Workers of one client with the same name share one allowance, and a worker that
// reconnects has its old allowance. Thread-compatible.
class WorkerAllowances {
 public:
  explicit WorkerAllowances(const AllowanceLimits& limits) : limits_(limits) {}

  // Counts a tally. Returns the worker's allowance if the worker should be told: the allowance has
  // halved or doubled since it was last returned, or is whole again.
  std::optional<uint64_t> Apply(const WorkerKey& worker, const LeaseTally& tally);

  // The limit that keeps a worker from getting another lease.
  struct Full {
    uint64_t held = 0;
    uint64_t most = 0;
    bool newcomers = false;  // the two numbers are for all newcomers of the client
  };
  // Unset = the worker may have one more lease.
  [[nodiscard]] std::optional<Full> FullBy(const WorkerKey& worker) const;
  // Reserves a lease for the worker, before the lease is requested. The reservation counts as a
  // lease until Settle. Precondition: FullBy is unset.
  void Reserve(const WorkerKey& worker);
  // Ends a reservation: the lease has been tallied, or was not made.
  void Settle(const WorkerKey& worker);

  [[nodiscard]] bool whole(uint64_t allowance) const { return allowance >= limits_.most; }
  // Returns true if the worker has reported a result.
  [[nodiscard]] bool proven(const WorkerKey& worker) const { return proven_.contains(worker); }
  // The number of names with less than a whole allowance.
  [[nodiscard]] size_t reduced() const { return reduced_; }
  // The number of leases that newcomers hold.
  [[nodiscard]] uint64_t newcomer_leases() const { return newcomer_leases_; }
  // The number of remembered workers.
  [[nodiscard]] size_t remembered() const { return proven_.size() + newcomers_.size(); }

 private:
  struct Entry {
    uint64_t open = 0;
    uint64_t reserved = 0;
    uint64_t allowance = 0;
    uint64_t told = 0;
    [[nodiscard]] uint64_t held() const { return open + reserved; }
  };
  using Names = absl::flat_hash_map<std::string, size_t>;  // number of names by client; never 0
  using Entries = absl::flat_hash_map<WorkerKey, Entry>;

  [[nodiscard]] const Entry* Find(const WorkerKey& worker) const;
  // Finds the entry; adds a newcomer if the name is unknown.
  Entry& FindOrAdd(const WorkerKey& worker);
  void Prove(const WorkerKey& worker);
  void SetHeld(const WorkerKey& worker, Entry& entry, uint64_t open, uint64_t reserved);
  // Adds `more` to the leases of the client's newcomers and subtracts `less`.
  void AddToNewcomers(const std::string& client, uint64_t more, uint64_t less);
  [[nodiscard]] uint64_t HeldByNewcomersOf(const std::string& client) const;
  void Forget(const WorkerKey& worker);
  // Adds a new entry. If there are already `most` entries, drops one.
  Entry& Add(const WorkerKey& worker, size_t most, Entries& entries, Names& names);
  void Erase(Entries::iterator entry, Entries& entries, Names& names);

  const AllowanceLimits limits_;
  Entries proven_;
  Entries newcomers_;
  Names proven_names_;
  Names newcomer_names_;
  uint64_t newcomer_leases_ = 0;
  absl::flat_hash_map<std::string, uint64_t> by_client_;  // newcomer leases by client; never 0
  size_t reduced_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_WORKER_ALLOWANCE_H_
