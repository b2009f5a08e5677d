// The lease logs of all shards: opened, loaded by slots, and dealt out anew when the number of
// shards changes.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/schedule/leases.h"
#include "storage/internal/keys.h"
#include "storage/internal/lease_rows.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/sealing.h"
#include "storage/internal/store_impl.h"

namespace freshet {

using storage::Family;
using storage::FromRocksDb;
using storage::LeaseEntry;

Status Store::Impl::ForEachLeaseRow(const LeaseRowVisit& visit) const {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(read, handle(Family::kLeases)));
  std::vector<LeaseEntry> entries;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    const std::string_view key = it->key().ToStringView();
    const std::optional<storage::LeaseKeyParts> row = storage::ParseLeaseKey(key);
    if (!row) return storage::BadRow(Family::kLeases, key, "key is malformed");
    entries.clear();
    RETURN_IF_ERROR(storage::DecodeLeases(key, it->value().ToStringView(), &entries));
    visit(row->shard, row->sequence, entries);
  }
  return FromRocksDb(it->status(), "reading leases");
}

// What the rows of all logs, in their order, have to say. Owner thread only.
class Store::Impl::LeaseReplay {
 public:
  // Takes the records of the entries.
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

  // Of what is over only what the logs have kept.
  std::shared_ptr<StoredLeases> Finish(const LeaseLogs& logs) {
    auto stored = std::make_shared<StoredLeases>();
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

Status Store::Impl::OpenLeaseLogs() {
  lease_logs_ = std::make_unique<LeaseLogs>();
  LeaseReplay replay;
  lease_damage_ = ForEachLeaseRow([&](uint16_t shard, uint64_t sequence, auto& entries) {
    (*lease_logs_)[shard].Load(sequence, entries);
    replay.Add(shard, entries);
  });
  for (storage::LeaseLog& log : *lease_logs_) log.FinishLoad();
  const MutexLock lock(leases_mutex_);
  stored_leases_ = replay.Finish(*lease_logs_);
  // What is damaged is for Load and Verify to say: a store can be opened to be looked at.
  return absl::IsDataLoss(lease_damage_) ? absl::OkStatus() : lease_damage_;
}

StatusOr<std::vector<LeaseEntry>> Store::Impl::ReadLeaseRow(uint16_t shard,
                                                            uint64_t sequence) const {
  const std::string key = storage::LeaseKeyOf(shard, sequence);
  rocksdb::PinnableSlice value;
  RETURN_IF_ERROR(FromRocksDb(
      db_->Get(rocksdb::ReadOptions(), handle(Family::kLeases), key, &value), "reading leases"));
  std::vector<LeaseEntry> entries;
  RETURN_IF_ERROR(storage::DecodeLeases(key, value.ToStringView(), &entries));
  return entries;
}

StatusOr<std::shared_ptr<const Store::Impl::StoredLeases>> Store::Impl::ReadLeases() const {
  RETURN_IF_ERROR(lease_damage_);
  const MutexLock lock(leases_mutex_);
  const uint64_t commits = commits_;
  if (stored_leases_ != nullptr && stored_leases_->commits == commits) return stored_leases_;
  LeaseReplay replay;
  RETURN_IF_ERROR(ForEachLeaseRow(
      [&](uint16_t shard, uint64_t, auto& entries) { replay.Add(shard, entries); }));
  stored_leases_ = replay.Finish(*lease_logs_);
  stored_leases_->commits = commits;
  return std::shared_ptr<const StoredLeases>(stored_leases_);
}

Status Store::Impl::LoadLeasesOf(Slot slot, const StoredLeases& stored, LoadVisitor& visitor) {
  const PageNumber first = FirstNumber(slot.value());
  const PageNumber end = FirstNumber(slot.value() + 1U);
  const auto& assignments = stored.assignments;
  for (auto it = std::lower_bound(assignments.begin(), assignments.end(),
                                  std::pair(first, Instant::FromMicros(INT64_MIN)));
       it != assignments.end() && it->first < end; ++it) {
    RETURN_IF_ERROR(visitor.OnAssignment(it->first, it->second));
  }
  for (auto it = std::lower_bound(
           stored.leases.begin(), stored.leases.end(), slot,
           [](const LeaseRecord&lease, Slot wanted) { return SlotOf(lease.page) < wanted; });
       it != stored.leases.end() && SlotOf(it->page) == slot; ++it) {
    RETURN_IF_ERROR(visitor.OnLease(*it));
  }
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<Store::Impl::LeaseLogs>> Store::Impl::DealLeases(
    uint32_t shards, rocksdb::WriteBatch* batch) const {
  ASSIGN_OR_RETURN(const std::shared_ptr<const StoredLeases> stored, ReadLeases());
  rocksdb::ColumnFamilyHandle* family = handle(Family::kLeases);
  Status status;
  RETURN_IF_ERROR(ForEachLeaseRow([&](uint16_t shard, uint64_t sequence, const auto&) {
    status.Update(
        FromRocksDb(batch->Delete(family, storage::LeaseKeyOf(shard, sequence)), "leases"));
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
  auto logs = std::make_unique<LeaseLogs>();
  std::string value;
  for (uint32_t i = 0; i < shards; ++i) {
    const auto shard = static_cast<uint16_t>(i);
    if (dealt[shard].empty()) continue;
    const auto add = [&](uint64_t sequence, auto entries) {
      const std::string key = storage::LeaseKeyOf(shard, sequence);
      storage::EncodeLeases(key, entries, &value);
      status.Update(FromRocksDb(batch->Put(family, key, value), "leases"));
      (*logs)[shard].Load(sequence, entries);
    };
    storage::ForEachLeaseRow((*lease_logs_)[shard].next_sequence(), dealt[shard], add);
  }
  RETURN_IF_ERROR(status);
  for (storage::LeaseLog& log : *logs) log.FinishLoad();
  return logs;
}

}  // namespace freshet
