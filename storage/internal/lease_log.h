// The leases of one shard as the store keeps them: a log, to which each commit appends rows of what
// it says of leases, as few as their size allows, and that is cut off at its beginning. So a lease
// costs some bytes and no row of its own. Internal to storage/.
//
// What is said later replaces what was said before, so only the oldest row may go, once all of its
// entries are replaced, or said again by the commit that drops it; and not before all assignments
// in it are older than kAssignmentsKept: from them a start learns when each host was last fetched
// from.
#ifndef FRESHET_STORAGE_INTERNAL_LEASE_LOG_H_
#define FRESHET_STORAGE_INTERNAL_LEASE_LOG_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/schedule/changes.h"
#include "storage/internal/lease_rows.h"

namespace freshet::storage {

// Of one row: more of them are more rows.
inline constexpr size_t kMostEntriesOfRow = 1024;

// Calls `visit` with the entries of each row that they make, the first of this sequence.
// Thread-safe.
template <typename F>
void ForEachLeaseRow(uint64_t sequence, std::span<const LeaseEntry> entries, const F& visit) {
  for (size_t at = 0; at < entries.size(); at += kMostEntriesOfRow) {
    visit(sequence++, entries.subspan(at, std::min(kMostEntriesOfRow, entries.size() - at)));
  }
}

// What one commit does to the log.
struct LeaseWrite {
  uint64_t sequence = 0;  // of the first row that it appends
  std::vector<LeaseEntry> entries;
  std::vector<uint64_t> dropped;  // rows to be deleted
};

// Owner thread only: that of the shard's commits. Holds some 40 bytes for each lease that is open
// or remembered, and for each row.
class LeaseLog {
 public:
  // Reads a row that is there.
  using ReadRow = std::function<StatusOr<std::vector<LeaseEntry>>(uint64_t sequence)>;

  // Start-up, by rising sequence.
  void Load(uint64_t sequence, std::span<const LeaseEntry> entries);
  // After all of it: leases that are over count among the latest limits::kMaxRememberedLeases, or
  // not at all.
  void FinishLoad();

  // What the changes of a commit make of the log; nothing is changed. Errors: those of `read`.
  [[nodiscard]] StatusOr<LeaseWrite> Plan(const Changes& changes, const ReadRow& read) const;
  // It was written.
  void Install(const LeaseWrite& write);

  // Whether the lease is open or remembered.
  [[nodiscard]] bool Knows(LeaseId id) const { return places_.contains(id); }
  // Whether the entry of that row is the last word on its lease.
  [[nodiscard]] bool Holds(uint64_t sequence, LeaseId id) const;
  // Of the row that the next commit appends.
  [[nodiscard]] uint64_t next_sequence() const { return next_sequence_; }

 private:
  struct Row {
    uint64_t sequence = 0;
    uint32_t entries = 0;
    uint32_t live = 0;  // entries that are the last word
    Instant assigned;   // the newest assignment in it or before it
  };
  struct Place {
    uint64_t sequence = 0;
    bool over = false;
  };

  void Append(uint64_t sequence, std::span<const LeaseEntry> entries);
  void Forget(LeaseId id);
  [[nodiscard]] Row& RowOf(uint64_t sequence);
  // Drops rows from the beginning, and says again what is live in them.
  [[nodiscard]] Status PlanCut(Instant now, const ReadRow& read, LeaseWrite& write) const;

  std::deque<Row> rows_;  // by rising sequence
  absl::flat_hash_map<LeaseId, Place> places_;
  uint64_t next_sequence_ = 1;
  uint64_t entries_ = 0;  // of all rows
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_LEASE_LOG_H_
