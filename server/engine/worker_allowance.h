// How many leases a worker may have open. A worker whose leases run out without a result does not
// get its share of the crawl rate for ever: each that does halves its allowance, down to one, and
// each result gives one back.
//
// Names cost nothing, so a worker that lets its leases run out could come back under another one.
// Newcomers, names of which no result has come yet, therefore hold only so many leases together;
// those of one client no more than are left for others. Nobody gains or loses by the name of
// another client's worker.
#ifndef FRESHET_SERVER_ENGINE_WORKER_ALLOWANCE_H_
#define FRESHET_SERVER_ENGINE_WORKER_ALLOWANCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "server/engine/lease_tally.h"

namespace freshet {

// Value type, thread-compatible.
struct AllowanceLimits {
  uint64_t most = 0;          // open leases of one worker
  uint64_t newcomers = 0;     // open leases of all newcomers
  size_t proven_names = 0;    // that are remembered; one more makes a name a newcomer again
  size_t newcomer_names = 0;  // likewise
};

// Workers are told apart by client and name: those that share both share an allowance, and one that
// comes back finds what it left. Thread-compatible.
class WorkerAllowances {
 public:
  explicit WorkerAllowances(const AllowanceLimits& limits) : limits_(limits) {}

  // Takes in what happened. Returns the allowance of the worker when that has halved or doubled
  // since it was last returned, or is whole again: then the worker should know.
  std::optional<uint64_t> Apply(const WorkerKey& worker, const LeaseTally& tally);

  // What keeps a worker from another lease.
  struct Full {
    uint64_t held = 0;
    uint64_t most = 0;
    bool newcomers = false;  // these are numbers of all newcomers of its client
  };
  // Unset: it may have one more open.
  [[nodiscard]] std::optional<Full> FullBy(const WorkerKey& worker) const;
  // Sets one lease that is about to be asked for aside, until Settle. Precondition: no FullBy.
  void Reserve(const WorkerKey& worker);
  // The lease is open and tallied, or did not come about.
  void Settle(const WorkerKey& worker);

  [[nodiscard]] bool whole(uint64_t allowance) const { return allowance >= limits_.most; }
  // Whether a result of the worker has come.
  [[nodiscard]] bool proven(const WorkerKey& worker) const { return proven_.contains(worker); }
  // Names with less than a whole allowance.
  [[nodiscard]] size_t reduced() const { return reduced_; }
  // Leases that newcomers hold.
  [[nodiscard]] uint64_t newcomer_leases() const { return newcomer_leases_; }
  // Of whatever worker there is something to remember.
  [[nodiscard]] size_t remembered() const { return proven_.size() + newcomers_.size(); }

 private:
  struct Entry {
    uint64_t open = 0;
    uint64_t reserved = 0;
    uint64_t allowance = 0;
    uint64_t told = 0;
    [[nodiscard]] uint64_t held() const { return open + reserved; }
  };
  using Names = absl::flat_hash_map<std::string, size_t>;  // by client; none are zero
  using Entries = absl::flat_hash_map<WorkerKey, Entry>;

  [[nodiscard]] const Entry* Find(const WorkerKey& worker) const;
  // Adds a newcomer where the name is unknown.
  Entry& FindOrAdd(const WorkerKey& worker);
  void Prove(const WorkerKey& worker);
  void SetHeld(const WorkerKey& worker, Entry& entry, uint64_t open, uint64_t reserved);
  // The newcomers of the client hold more, or less.
  void AddToNewcomers(const std::string& client, uint64_t more, uint64_t less);
  [[nodiscard]] uint64_t HeldByNewcomersOf(const std::string& client) const;
  void Forget(const WorkerKey& worker);
  // Adds an entry that there is not yet. Where there are `most`, another makes room for it.
  Entry& Add(const WorkerKey& worker, size_t most, Entries& entries, Names& names);
  void Erase(Entries::iterator entry, Entries& entries, Names& names);

  const AllowanceLimits limits_;
  Entries proven_;
  Entries newcomers_;
  Names proven_names_;
  Names newcomer_names_;
  uint64_t newcomer_leases_ = 0;
  absl::flat_hash_map<std::string, uint64_t> by_client_;  // of these; none are zero
  size_t reduced_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_WORKER_ALLOWANCE_H_
