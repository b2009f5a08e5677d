// Rebuilds the memory of the shards from the store at start-up, on all cores.
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

// The progress of a load. Thread-safe, so that other threads can read it during the load.
struct LoadProgress {
  std::atomic<uint64_t> pages = 0;
  std::atomic<uint32_t> slots = 0;  // loaded slots, of limits::kSlots
  // An estimate of the number of pages; 0 = not yet known. The estimate is too high if many pages
  // were rewritten lately.
  std::atomic<uint64_t> expected_pages = 0;
  // Pages that have the URL of another page, because the store was damaged.
  std::atomic<uint64_t> stored_twice = 0;
  // `ahead`: the number of pages, hosts and leases with times in the future, which come from a
  // clock that was ahead. `ahead_micros`: the most by which one of these times is ahead.
  std::atomic<uint64_t> ahead = 0;
  std::atomic<int64_t> ahead_micros = 0;

  // Counts a record that was ahead by `by`, unless that is within the usual difference of clocks.
  void NoteAhead(Duration by);
  // Sets everything to 0. Called when the loaded data was dropped.
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
  // The time of the start; infinite = not known. All picks are for later instants. Times in the
  // store that are later than this come from a clock that was set back since
  // (core/schedule/clock_ahead.h).
  Instant now = Instant::Infinite();
  // Called on the caller's thread every `report_interval` during the load; unset = not called.
  std::function<void()> report;
  Duration report_interval = Duration::Seconds(1);
  // Leaves out leases, which LoadLeases adds later. Before LoadLeases, the shards can follow
  // another server's store.
  bool without_leases = false;
  // Once it is true, the load ends as soon as possible with Cancelled; nullptr = the load cannot be
  // cancelled.
  const std::atomic<bool>* cancelled = nullptr;
};

// Loads every host, page and lease into the shard that owns its slot (slot modulo the number of
// shards), and then calls FinishLoad of each shard. Precondition: the shards are new, and only
// their epochs are loaded.
//
// Threads read and decode ranges of slots in parallel. They file pages under the lock of the shard,
// about a thousand at a time. A thread that finds the lock taken reads on. A page that is stored
// twice, under two numbers, is loaded twice, counted and logged. Both copies are whole, and a
// repair keeps one. The ids of pages depend on the timing of the threads, and so does the order of
// pages of exactly equal value. Nothing else does.
//
// Not OK: the status of the first range that failed. The shards must not be used then.
[[nodiscard]] Status LoadShards(const Store& store, const std::vector<ShardState*>& shards,
                                const LoadOptions& options, LoadProgress& progress);

// Loads all leases into shards that were loaded without leases and have followed the store since.
// `now`: as in LoadOptions.
[[nodiscard]] Status LoadLeases(const Store& store, const std::vector<ShardState*>& shards,
                                Instant now);

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_SHARD_LOADER_H_
