#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/schedule/leases.h"
#include "storage/internal/keys.h"
#include "storage/internal/lease_rows.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/sealing.h"
#include "storage/internal/stored_leases.h"

namespace freshet::storage {

Status StoredLeases::ForEachRow(const RowVisit& visit) const {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> it(
      base_.db().NewIterator(read, base_.handle(Family::kLeases)));
  std::vector<LeaseEntry> entries;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    const std::string_view key = it->key().ToStringView();
    const std::optional<LeaseKeyParts> row = ParseLeaseKey(key);
    if (!row) return BadRow(Family::kLeases, key, "key is malformed");
    entries.clear();
    RETURN_IF_ERROR(DecodeLeases(key, it->value().ToStringView(), &entries));
    visit(row->shard, row->sequence, entries);
  }
  return FromRocksDb(it->status(), "reading leases");
}

// Merges the rows of all logs. Later rows replace earlier ones. Owner thread only.
class StoredLeases::Replay {
 public:
  // Adds a row of the shard's log. Moves records out of `entries`.
  void Add(uint16_t shard, std::vector<LeaseEntry>& entries) {
    for (LeaseEntry& entry : entries) {
      LeaseRecord& lease = entry.record;
      if (!lease.assigned.is_none()) {
        Instant& latest = assigned_[lease.page];
        latest = std::max(latest, lease.assigned);
      }
      const LeaseId id = lease.id;
      if (entry.kind == LeaseEntry::Kind::kDropped) leases_.erase(id);
      if (entry.kind == LeaseEntry::Kind::kLease) leases_[id] = {shard, std::move(lease)};
    }
  }

  // Returns open leases, and finished ones that the logs have kept.
  std::shared_ptr<Rows> Finish(const Logs& logs) {
    auto stored = std::make_shared<Rows>();
    for (auto& [id, lease] : leases_) {
      if (logs[lease.first].Knows(id)) stored->leases.push_back(std::move(lease.second));
    }
    std::sort(stored->leases.begin(), stored->leases.end(), [](const auto& a, const auto& b) {
      return std::pair(SlotOf(a.page), a.id) < std::pair(SlotOf(b.page), b.id);
    });
    stored->assignments.assign(assigned_.begin(), assigned_.end());
    std::sort(stored->assignments.begin(), stored->assignments.end());
    return stored;
  }

 private:
  absl::flat_hash_map<LeaseId, std::pair<uint16_t, LeaseRecord>> leases_;  // and their shards
  absl::flat_hash_map<PageNumber, Instant> assigned_;
};

Status StoredLeases::Open() {
  logs_ = std::make_unique<Logs>();
  Replay replay;
  damage_ = ForEachRow([&](uint16_t shard, uint64_t sequence, auto& entries) {
    (*logs_)[shard].Load(sequence, entries);
    replay.Add(shard, entries);
  });
  for (LeaseLog& log : *logs_) log.FinishLoad();
  const MutexLock lock(mutex_);
  rows_ = replay.Finish(*logs_);
  return absl::IsDataLoss(damage_) ? absl::OkStatus() : damage_;
}

StatusOr<std::vector<LeaseEntry>> StoredLeases::ReadRow(uint16_t shard, uint64_t sequence) const {
  const std::string key = LeaseKeyOf(shard, sequence);
  rocksdb::PinnableSlice value;
  RETURN_IF_ERROR(FromRocksDb(
      base_.db().Get(rocksdb::ReadOptions(), base_.handle(Family::kLeases), key, &value),
      "reading leases"));
  std::vector<LeaseEntry> entries;
  RETURN_IF_ERROR(DecodeLeases(key, value.ToStringView(), &entries));
  return entries;
}

StatusOr<std::shared_ptr<const StoredLeases::Rows>> StoredLeases::Read(uint64_t commits) const {
  RETURN_IF_ERROR(damage_);
  const MutexLock lock(mutex_);
  if (rows_ != nullptr && rows_->commits == commits) return rows_;
  Replay replay;
  RETURN_IF_ERROR(
      ForEachRow([&](uint16_t shard, uint64_t, auto& entries) { replay.Add(shard, entries); }));
  rows_ = replay.Finish(*logs_);
  rows_->commits = commits;
  return std::shared_ptr<const Rows>(rows_);
}

Status StoredLeases::Rows::Visit(Slot slot, LoadVisitor& visitor) const {
  const PageNumber first = FirstNumber(slot.value());
  const PageNumber end = FirstNumber(slot.value() + 1U);
  for (auto it = std::lower_bound(assignments.begin(), assignments.end(),
                                  std::pair(first, Instant::FromMicros(INT64_MIN)));
       it != assignments.end() && it->first < end; ++it) {
    RETURN_IF_ERROR(visitor.OnAssignment(it->first, it->second));
  }
  for (auto it = std::lower_bound(
           leases.begin(), leases.end(), slot,
           [](const LeaseRecord&lease, Slot wanted) { return SlotOf(lease.page) < wanted; });
       it != leases.end() && SlotOf(it->page) == slot; ++it) {
    RETURN_IF_ERROR(visitor.OnLease(*it));
  }
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<StoredLeases::Logs>> StoredLeases::Deal(uint32_t shards, uint64_t commits,
                                                                 rocksdb::WriteBatch* batch) const {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Rows> stored, Read(commits));
  rocksdb::ColumnFamilyHandle* family = base_.handle(Family::kLeases);
  Status status;
  RETURN_IF_ERROR(ForEachRow([&](uint16_t shard, uint64_t sequence, const auto&) {
    status.Update(FromRocksDb(batch->Delete(family, LeaseKeyOf(shard, sequence)), "leases"));
  }));
  std::vector<std::vector<LeaseEntry>> dealt(shards);
  for (const auto& [page, assigned] : stored->assignments) {
    LeaseEntry& entry = dealt[SlotOf(page).value() % shards].emplace_back();
    entry.record.page = page;
    entry.record.assigned = assigned;
    entry.kind = LeaseEntry::Kind::kAssigned;
  }
  for (const LeaseRecord& lease : stored->leases) {
    dealt[SlotOf(lease.page).value() % shards].push_back({.record = lease});
  }
  auto logs = std::make_unique<Logs>();
  std::string value;
  for (uint32_t i = 0; i < shards; ++i) {
    const auto shard = static_cast<uint16_t>(i);
    if (dealt[shard].empty()) continue;
    const auto add = [&](uint64_t sequence, auto entries) {
      const std::string key = LeaseKeyOf(shard, sequence);
      EncodeLeases(key, entries, &value);
      status.Update(FromRocksDb(batch->Put(family, key, value), "leases"));
      (*logs)[shard].Load(sequence, entries);
    };
    ForEachLeaseRow((*logs_)[shard].next_sequence(), dealt[shard], add);
  }
  RETURN_IF_ERROR(status);
  for (LeaseLog& log : *logs) log.FinishLoad();
  return logs;
}

}  // namespace freshet::storage
