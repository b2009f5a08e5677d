// The leases of one shard, which the store keeps as a log whose oldest rows are deleted. Each
// commit packs its entries into few rows, so a lease costs only some bytes, and not a whole row.
// Internal to storage/.
//
// A later entry replaces earlier ones of its lease. Only the oldest row may be deleted, and only if
// all its entries were replaced by later rows, or are copied by the commit that deletes the row. A
// row must also be kept for kAssignmentsKept after each of its assignments, because a start learns
// from the assignments when each host was last fetched.
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

// A row holds at most this many entries; further ones go into further rows.
inline constexpr size_t kMostEntriesOfRow = 1024;

// Divides the entries into rows, and calls `visit` with the sequence number and the entries of each
// row. `sequence` is the number of the first row. Thread-safe.
template <typename F>
void ForEachLeaseRow(uint64_t sequence, std::span<const LeaseEntry> entries, const F& visit) {
  for (size_t at = 0; at < entries.size(); at += kMostEntriesOfRow) {
    visit(sequence++, entries.subspan(at, std::min(kMostEntriesOfRow, entries.size() - at)));
  }
}

// The changes of one commit to the log.
struct LeaseWrite {
  uint64_t sequence = 0;  // number of the first row that the commit appends
  std::vector<LeaseEntry> entries;
  std::vector<uint64_t> dropped;  // rows to delete
};

// Uses about 40 bytes for each open or remembered lease, and for each row. Owner thread only: the
// thread of the shard's commits.
class LeaseLog {
 public:
  // Reads an existing row.
  using ReadRow = std::function<StatusOr<std::vector<LeaseEntry>>(uint64_t sequence)>;

  // Adds a row at start-up. Rows must come in ascending order of sequence.
  void Load(uint64_t sequence, std::span<const LeaseEntry> entries);
  // Ends start-up: forgets all finished leases except for the latest limits::kMaxRememberedLeases.
  void FinishLoad();

  // Plans the write of a commit without changing anything. Errors: from `read`.
  [[nodiscard]] StatusOr<LeaseWrite> Plan(const Changes& changes, const ReadRow& read) const;
  // Applies the plan after the write has succeeded.
  void Install(const LeaseWrite& write);

  // Returns true if the lease is open or remembered.
  [[nodiscard]] bool Knows(LeaseId id) const { return places_.contains(id); }
  // Returns true if this row has the latest entry of the lease.
  [[nodiscard]] bool Holds(uint64_t sequence, LeaseId id) const;
  // The sequence of the row that the next commit appends.
  [[nodiscard]] uint64_t next_sequence() const { return next_sequence_; }

 private:
  struct Row {
    uint64_t sequence = 0;
    uint32_t entries = 0;
    uint32_t live = 0;  // entries that no later entry replaces
    Instant assigned;   // the newest assignment in this row or earlier ones
  };
  struct Place {
    uint64_t sequence = 0;
    bool over = false;
  };

  void Append(uint64_t sequence, std::span<const LeaseEntry> entries);
  void Forget(LeaseId id);
  [[nodiscard]] Row& RowOf(uint64_t sequence);
  // Plans to delete the oldest rows, and copies their live entries into `write`.
  [[nodiscard]] Status PlanCut(Instant now, const ReadRow& read, LeaseWrite& write) const;

  std::deque<Row> rows_;  // by ascending sequence
  absl::flat_hash_map<LeaseId, Place> places_;
  uint64_t next_sequence_ = 1;
  uint64_t entries_ = 0;  // total over all rows
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_LEASE_LOG_H_
