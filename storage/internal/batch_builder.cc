#include "storage/internal/batch_builder.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/url.h"
#include "core/schedule/leases.h"
#include "rocksdb/iterator.h"
#include "storage/change_log.h"
#include "storage/internal/cursor.h"
#include "storage/internal/epoch_rows.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "storage/internal/rocksdb_status.h"

namespace freshet {

using storage::Family;
using storage::FromRocksDb;

Status Store::Impl::BatchBuilder::Add(const Changes& changes) {
  CHECK(batch_.Count() == 0, "a batch is of one commit");
  for (const HostRecord& host : changes.hosts) RETURN_IF_ERROR(AddHost(host));
  // Removals come first, because a page that is removed and added again has a different number but
  // the same URL.
  for (const PageRecord* page : changes.removed_pages) AddRemoval(*page);
  for (const PageWrite& write : changes.pages) RETURN_IF_ERROR(AddPage(write));
  for (const std::string& host : changes.removed_hosts) AddHostRemoval(host);
  AddSerialMarks();
  RETURN_IF_ERROR(AddLeases(changes));
  for (const SourceRecord& source : changes.sources) {
    const std::string key = storage::SourceKeyOf(source.index);
    storage::EncodeSource(key, source, &value_);
    Put(Family::kSources, key);
  }
  for (const CrawlRecord& crawl : changes.crawls) {
    const std::string key = storage::CrawlKeyOf(crawl.crawl_id);
    storage::EncodeCrawl(key, crawl, &value_);
    Put(Family::kMeta, key);
  }
  for (const std::string& crawl : changes.removed_crawls) {
    Delete(Family::kMeta, storage::CrawlKeyOf(crawl));
  }
  if (changes.settings) {
    const std::string key = storage::MetaKeyOf(storage::MetaKey::kSettings);
    storage::EncodeSettings(key, *changes.settings, &value_);
    Put(Family::kMeta, key);
  }
  if (changes.epoch) {
    RETURN_IF_ERROR(AddEpoch(*changes.epoch));
  }
  return row_;
}

void Store::Impl::BatchBuilder::Put(Family family, const std::string& key) {
  const rocksdb::Status status = batch_.Put(store_.base_.handle(family), key, value_);
  CHECK(status.ok(), "{}", status.ToString());
  row_.Update(CheckRowSize(family, key.size() + value_.size()));
}

void Store::Impl::BatchBuilder::Delete(Family family, const std::string& key) {
  const rocksdb::Status status = batch_.Delete(store_.base_.handle(family), key);
  CHECK(status.ok(), "{}", status.ToString());
}

Status Store::Impl::BatchBuilder::AddEpoch(const EpochRecord& epoch) {
  const auto put = [this](const std::string& key, const std::string& value) {
    value_ = value;
    Put(Family::kMeta, key);
  };
  const uint16_t parts = storage::EncodeEpochRows(epoch, put);
  // Deletes surplus rows: an earlier epoch might have needed more of them.
  storage::Cursor rows(
      &store_.base_.db(), store_.base_.handle(Family::kMeta),
      storage::EpochPartKeyOf(epoch.shard, parts),
      storage::PrefixEnd(storage::MetaKeyOf(storage::MetaKey::kEpochPart, epoch.shard)), {});
  for (; rows.valid(); rows.Next()) Delete(Family::kMeta, std::string(rows.key()));
  return FromRocksDb(rows.status(), "reading what was learned before");
}

Status Store::Impl::BatchBuilder::AddPage(const PageWrite& write) {
  const PageRecord& page = *write.record;
  const std::string key = storage::PageKeyOf(page.number);
  const Slot slot = SlotOf(page.number);
  DCHECK(slot == SlotOfHost(page.host), "page {:x} is not in the slot of {}", page.number.value(),
         page.host);
  ASSIGN_OR_RETURN(const uint32_t host_serial, HostSerial(slot, page.host, true));
  storage::EncodePage(key, host_serial, page, &value_);
  Put(Family::kPages, key);
  rows_ += value_;
  written_.push_back({.page = page.number, .end = rows_.size(), .created = write.created});
  return absl::OkStatus();
}

void Store::Impl::BatchBuilder::AddRemoval(const PageRecord& page) {
  CHECK(SerialOf(page.number) >= 1, "page {:x} has no serial", page.number.value());
  Delete(Family::kPages, storage::PageKeyOf(page.number));
  removed_.push_back(page.number);
  uint64_t& highest = removed_up_to_[SlotOf(page.number)];
  highest = std::max(highest, SerialOf(page.number));
}

Status Store::Impl::BatchBuilder::AddHost(const HostRecord& host) {
  const Slot slot = SlotOfHost(host.host);
  ASSIGN_OR_RETURN(const uint32_t serial, HostSerial(slot, host.host, false));
  const std::string key = storage::HostKeyOf(slot, host.host);
  storage::EncodeHost(key, serial, host, &value_);
  Put(Family::kHosts, key);
  return absl::OkStatus();
}

// The serial of the removed host becomes free: no page refers to it any more, so a later host of
// the slot can get it.
void Store::Impl::BatchBuilder::AddHostRemoval(const std::string& host) {
  // Otherwise the host's row would be removed, but rows of pages with the host's serial would stay.
  CHECK(!new_hosts_.contains(host), "host {} is written and removed", host);
  Delete(Family::kHosts, storage::HostKeyOf(SlotOfHost(host), host));
  removed_hosts_.push_back(host);
}

StatusOr<uint32_t> Store::Impl::BatchBuilder::HostSerial(Slot slot, const std::string& host,
                                                         bool write_new) {
  if (const auto it = new_hosts_.find(host); it != new_hosts_.end()) return it->second.serial;
  uint32_t next = 0;
  {
    SlotHosts& hosts = (*store_.slot_hosts_)[slot.value()];
    const MutexLock lock(hosts.mutex);
    if (!hosts.loaded) RETURN_IF_ERROR(store_.LoadSlotHosts(slot, hosts));
    const auto it = hosts.serials.find(host);
    if (it != hosts.serials.end()) return it->second;
    next = hosts.next_serial;
  }
  uint32_t& serial = next_host_serials_.try_emplace(slot, next).first->second;
  const uint32_t given = serial++;
  CHECK(given >= 1, "slot {} has no host serials left", slot.value());
  new_hosts_[host] = {.slot = slot, .serial = given};
  if (write_new) {
    const std::string key = storage::HostKeyOf(slot, host);
    storage::EncodeHost(key, given, HostRecord{.host = host}, &value_);
    Put(Family::kHosts, key);
  }
  return given;
}

Status Store::Impl::BatchBuilder::AddLeases(const Changes& changes) {
  if (changes.leases.empty() && changes.closed_leases.empty()) return absl::OkStatus();
  shard_ = changes.shard;
  const auto read = [this](uint64_t sequence) { return store_.leases_.ReadRow(shard_, sequence); };
  ASSIGN_OR_RETURN(leases_, store_.leases_.log(shard_).Plan(changes, read));
  storage::ForEachLeaseRow(leases_.sequence, leases_.entries, [&](uint64_t sequence, auto entries) {
    const std::string key = storage::LeaseKeyOf(shard_, sequence);
    storage::EncodeLeases(key, entries, &value_);
    Put(Family::kLeases, key);
  });
  for (const uint64_t sequence : leases_.dropped) {
    Delete(Family::kLeases, storage::LeaseKeyOf(shard_, sequence));
  }
  return absl::OkStatus();
}

// The serial of a removed page is never reused, even if it was the highest of its slot. So a late
// message about the old page cannot apply to a new one.
void Store::Impl::BatchBuilder::AddSerialMarks() {
  for (const auto& [slot, highest] : removed_up_to_) {
    const uint64_t known = (*store_.next_serials_)[slot.value()].load(std::memory_order_relaxed);
    if (highest < known) continue;
    const std::string key = storage::MetaKeyOf(storage::MetaKey::kNextSerial, slot.value());
    storage::EncodeNumber(key, highest + 1, &value_);
    Put(Family::kMeta, key);
  }
}

void Store::Impl::BatchBuilder::InstallPages() {
  storage::PageCache& cache = store_.reads_.cache();
  for (const PageNumber page : removed_) cache.Remove(page);
  size_t begin = 0;
  for (const Row& row : written_) {
    const std::string_view bytes = std::string_view(rows_).substr(begin, row.end - begin);
    begin = row.end;
    if (row.created) {
      // The row of a new page will soon be needed for its first crawl, but it evicts no other row.
      cache.Keep(row.page, bytes, storage::PageCache::Room::kIfThereIs);
    } else {
      cache.Replace(row.page, bytes);
    }
  }
}

void Store::Impl::BatchBuilder::Install() {
  InstallPages();
  if (!leases_.entries.empty()) store_.leases_.log(shard_).Install(leases_);
  for (const std::string& host : removed_hosts_) {
    SlotHosts& hosts = (*store_.slot_hosts_)[SlotOfHost(host).value()];
    const MutexLock lock(hosts.mutex);
    hosts.serials.erase(host);
  }
  for (const auto& [slot, highest] : removed_up_to_) {
    std::atomic<uint64_t>& next = (*store_.next_serials_)[slot.value()];
    next.store(std::max(next.load(std::memory_order_relaxed), highest + 1),
               std::memory_order_relaxed);
  }
  for (auto& [name, host] : new_hosts_) {
    SlotHosts& hosts = (*store_.slot_hosts_)[host.slot.value()];
    const MutexLock lock(hosts.mutex);
    const bool is_new = hosts.serials.emplace(name, host.serial).second;
    CHECK(hosts.loaded && is_new, "two commits of slot {} at a time", host.slot.value());
    hosts.next_serial = std::max(hosts.next_serial, host.serial + 1);
  }
}

}  // namespace freshet
