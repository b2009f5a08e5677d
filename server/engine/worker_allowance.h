// How many leases a worker may have open. A worker whose leases run out without a result does not
// get its share of the crawl rate for ever: each that does halves its allowance, down to one, and
// each result gives one back.
#ifndef FRESHET_SERVER_ENGINE_WORKER_ALLOWANCE_H_
#define FRESHET_SERVER_ENGINE_WORKER_ALLOWANCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "server/engine/lease_tally.h"

namespace freshet {

// Workers are told apart by name: those that share one share an allowance, and one that comes back
// finds what it left. Thread-compatible.
class WorkerAllowances {
 public:
  // `most` open leases a worker; `names` are remembered, of more some are treated as if new.
  WorkerAllowances(uint64_t most, size_t names) : most_(most), names_(names) {}

  // Takes in what happened. Returns the allowance of the worker when that has halved or doubled
  // since it was last returned, or is whole again: then the worker should know.
  std::optional<uint64_t> Apply(const std::string& worker, const LeaseTally& tally);

  // Sets one lease that is about to be asked for aside, until Settle; false: the worker holds all
  // that it may.
  [[nodiscard]] bool Reserve(const std::string& worker);
  // The lease is open and tallied, or did not come about.
  void Settle(const std::string& worker);
  [[nodiscard]] bool HasRoom(const std::string& worker) const;
  [[nodiscard]] bool whole(uint64_t allowance) const { return allowance >= most_; }

  // Names with less than a whole allowance.
  [[nodiscard]] size_t reduced() const { return reduced_; }
  // Of whatever worker there is something to remember.
  [[nodiscard]] size_t remembered() const { return entries_.size(); }

 private:
  struct Entry {
    uint64_t open = 0;
    uint64_t reserved = 0;
    uint64_t allowance = 0;
    uint64_t told = 0;
  };

  Entry& Find(const std::string& worker);
  void Forget(const std::string& worker);
  void MakeRoom();

  const uint64_t most_;
  const size_t names_;
  absl::flat_hash_map<std::string, Entry> entries_;
  size_t reduced_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_WORKER_ALLOWANCE_H_
