// Start-up: rebuilds the shards' memory from the store, on every core.
#ifndef FRESHET_SERVER_ENGINE_SHARD_LOADER_H_
#define FRESHET_SERVER_ENGINE_SHARD_LOADER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"

namespace freshet {

class ShardState;
class Store;

// The progress of a load. Thread-safe: others read it while the load runs.
struct LoadProgress {
  std::atomic<uint64_t> pages = 0;
  std::atomic<uint32_t> slots = 0;  // of limits::kSlots
  // About how many pages there are, more if many were rewritten lately; 0 = not known yet.
  std::atomic<uint64_t> expected_pages = 0;
  // Pages with the URL of another page: the store was damaged.
  std::atomic<uint64_t> stored_twice = 0;
  // Pages, hosts and leases from a clock ahead of this one, and the most by which it was ahead.
  std::atomic<uint64_t> ahead = 0;
  std::atomic<int64_t> ahead_micros = 0;

  // Counts a record that was ahead by `by`, unless clocks may differ by that much.
  void NoteAhead(Duration by);
  // Nothing is loaded any more.
  void Reset() {
    pages = 0;
    slots = 0;
    expected_pages = 0;
    stored_twice = 0;
    ahead = 0;
    ahead_micros = 0;
  }
};

struct LoadOptions {
  unsigned threads = 0;  // 0 = one for each core
  // The time of the start: all later picks are for later instants. Infinite = not known. Later
  // times in the store come from a clock that was set back since: core/schedule/clock_ahead.h.
  Instant now = Instant::Infinite();
  // Called every `report_interval` while it runs, on the caller's thread. Unset = not called.
  std::function<void()> report;
  Duration report_interval = Duration::Seconds(1);
  // Leases are left out, for LoadLeases to add: until then the shards can follow.
  bool without_leases = false;
  // Once true, the load ends as soon as it can, with Cancelled. nullptr = it cannot be cancelled.
  const std::atomic<bool>* cancelled = nullptr;
};

// Loads every host, page and lease into the shard that owns its slot (slot modulo the number of
// shards), then calls FinishLoad of each. The shards are new, their epochs loaded.
//
// Threads read and decode ranges of slots side by side, and file them under the lock of the shard,
// some thousand pages at a time. A thread that finds the lock taken reads on. A page that is stored
// twice, under two numbers, is loaded twice, counted and named in the log: both are whole, and a
// repair keeps one. Which ids pages get, and so the order of pages of exactly equal value, depends
// on the threads; nothing else does.
//
// Returns the status of the first range that failed; the shards are then useless.
[[nodiscard]] Status LoadShards(const Store& store, const std::vector<ShardState*>& shards,
                                const LoadOptions& options, LoadProgress& progress);

// Loads all leases into shards that were loaded without, and have followed the store since. `now`
// is that of LoadOptions.
[[nodiscard]] Status LoadLeases(const Store& store, const std::vector<ShardState*>& shards,
                                Instant now);

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_SHARD_LOADER_H_
