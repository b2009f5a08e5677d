#include "storage/internal/lease_log.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/schedule/leases.h"

namespace freshet::storage {
namespace {

// The allowed length of the log in entries: two for each lease, plus this many. Commits shorten a
// longer log.
constexpr uint64_t kSlackEntries = 4096;
// The number of entries that one commit may copy from the oldest rows, in addition to one for each
// new entry of the commit. So the log can shrink as fast as it grows. A row with more entries is
// copied only if the log is more than twice as long as allowed.
constexpr size_t kSaidAgain = 64;

Instant NewestAssignment(std::span<const LeaseEntry> entries, Instant newest) {
  for (const LeaseEntry& entry : entries) newest = std::max(newest, entry.record.assigned);
  return newest;
}

}  // namespace

void LeaseLog::Load(uint64_t sequence, std::span<const LeaseEntry> entries) {
  Append(sequence, entries);
  next_sequence_ = sequence + 1;
}

void LeaseLog::FinishLoad() {
  std::vector<LeaseId> over;
  for (const auto& [id, place] : places_) {
    if (place.over) over.push_back(id);
  }
  if (over.size() <= limits::kMaxRememberedLeases) return;
  const auto surplus =
      over.begin() + static_cast<ptrdiff_t>(over.size() - limits::kMaxRememberedLeases);
  std::nth_element(over.begin(), surplus, over.end(), GivenOutBefore);
  for (auto it = over.begin(); it != surplus; ++it) Forget(*it);
}

bool LeaseLog::Holds(uint64_t sequence, LeaseId id) const {
  const auto it = places_.find(id);
  return it != places_.end() && it->second.sequence == sequence;
}

StatusOr<LeaseWrite> LeaseLog::Plan(const Changes& changes, const ReadRow& read) const {
  LeaseWrite write;
  write.sequence = next_sequence_;
  write.entries.reserve(changes.leases.size() + changes.closed_leases.size());
  for (const LeaseRecord& lease : changes.leases) write.entries.push_back({.record = lease});
  for (const LeaseId id : changes.closed_leases) {
    LeaseEntry& entry = write.entries.emplace_back();
    entry.record.id = id;
    entry.kind = LeaseEntry::Kind::kDropped;
  }
  RETURN_IF_ERROR(PlanCut(changes.now, read, write));
  return write;
}

Status LeaseLog::PlanCut(Instant now, const ReadRow& read, LeaseWrite& write) const {
  if (write.entries.empty() || rows_.empty()) return absl::OkStatus();
  // `now` is needed, too, because signals and results append entries even while nothing is
  // assigned.
  const Instant latest = std::max(now, NewestAssignment(write.entries, rows_.back().assigned));
  const size_t own = write.entries.size();
  size_t may_say = own + kSaidAgain;
  uint64_t left = entries_ + own;
  absl::flat_hash_set<LeaseId> said;
  for (const Row& row : rows_) {
    if (latest - row.assigned < kAssignmentsKept) break;
    if (row.live > 0) {
      const uint64_t allowed = 2 * places_.size() + kSlackEntries;
      if (left <= allowed || (row.live > may_say && left <= 2 * allowed)) break;
      ASSIGN_OR_RETURN(std::vector<LeaseEntry> entries, read(row.sequence));
      for (size_t i = 0; i < own && said.size() < own; ++i) said.insert(write.entries[i].record.id);
      // Within a row, the last entry of a lease counts.
      for (auto it = entries.rbegin(); it != entries.rend(); ++it) {
        if (it->kind != LeaseEntry::Kind::kLease || !Holds(row.sequence, it->record.id)) continue;
        if (said.insert(it->record.id).second) write.entries.push_back(std::move(*it));
      }
      may_say -= std::min<size_t>(may_say, row.live);
    }
    left -= row.entries;
    write.dropped.push_back(row.sequence);
  }
  return absl::OkStatus();
}

void LeaseLog::Install(const LeaseWrite& write) {
  ForEachLeaseRow(write.sequence, write.entries,
                  [this](uint64_t sequence, auto entries) { Load(sequence, entries); });
  for (const uint64_t sequence : write.dropped) {
    CHECK(rows_.front().sequence == sequence && rows_.front().live == 0,
          "row {} of the lease log is dropped out of turn", sequence);
    entries_ -= rows_.front().entries;
    rows_.pop_front();
  }
}

void LeaseLog::Append(uint64_t sequence, std::span<const LeaseEntry> entries) {
  CHECK(rows_.empty() || rows_.back().sequence < sequence, "row {} of the lease log", sequence);
  const Instant newest =
      NewestAssignment(entries, rows_.empty() ? Instant() : rows_.back().assigned);
  rows_.push_back({.sequence = sequence,
                   .entries = static_cast<uint32_t>(entries.size()),
                   .live = 0,
                   .assigned = newest});
  entries_ += entries.size();
  for (const LeaseEntry& entry : entries) {
    if (entry.kind == LeaseEntry::Kind::kAssigned) continue;
    Forget(entry.record.id);
    if (entry.kind == LeaseEntry::Kind::kDropped) continue;
    places_[entry.record.id] = {.sequence = sequence, .over = entry.record.over};
    ++rows_.back().live;
  }
}

void LeaseLog::Forget(LeaseId id) {
  const auto it = places_.find(id);
  if (it == places_.end()) return;
  --RowOf(it->second.sequence).live;
  places_.erase(it);
}

LeaseLog::Row& LeaseLog::RowOf(uint64_t sequence) {
  const auto it =
      std::lower_bound(rows_.begin(), rows_.end(), sequence,
                       [](const Row& row, uint64_t wanted) { return row.sequence < wanted; });
  CHECK(it != rows_.end() && it->sequence == sequence, "row {} of the lease log", sequence);
  return *it;
}

}  // namespace freshet::storage
