// Start-up: reads everything that the program holds in memory, sequentially.
#include <algorithm>

#include "core/base/check.h"
#include "rocksdb/perf_level.h"
#include "storage/internal/cursor.h"
#include "storage/internal/epoch_rows.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/sealing.h"
#include "storage/internal/store_impl.h"

namespace freshet {

using storage::Cursor;
using storage::Family;
using storage::FromRocksDb;
using storage::MetaKey;
using storage::MetaKeyOf;

namespace {

// Readahead of a cursor over pages. Other families use none: they are small, and each range of
// slots would read ahead in them again.
constexpr size_t kReadaheadBytes = 1 << 20;

// `readahead_bytes`: 0 = RocksDB increases the readahead during the scan.
rocksdb::ReadOptions SequentialRead(size_t readahead_bytes = 0) {
  rocksdb::ReadOptions read;
  read.verify_checksums = true;
  // Start-up reads every row once, and must not evict rows that are read often.
  read.fill_cache = false;
  read.readahead_size = readahead_bytes;
  return read;
}

// Returns true if the cursor is at a row whose key starts with `prefix`.
bool IsAt(const Cursor& cursor, std::string_view prefix) {
  return cursor.valid() && cursor.key().starts_with(prefix);
}

// Reads the rows of hosts and pages of a range of slots side by side. Owner thread only.
class SlotReader {
 public:
  SlotReader(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* hosts,
             rocksdb::ColumnFamilyHandle* pages, const Fingerprinter& fingerprinter, Slot first,
             Slot last)
      : fingerprinter_(fingerprinter),
        hosts_(db, hosts, storage::SlotPrefix(first), EndOf(last), SequentialRead()),
        pages_(db, pages, storage::SlotPrefix(first), EndOf(last),
               SequentialRead(kReadaheadBytes)) {}

  Status ReadSlot(Slot slot, uint64_t* next_serial, LoadVisitor& visitor) {
    const std::string prefix = storage::SlotPrefix(slot);
    RETURN_IF_ERROR(ReadHosts(prefix, visitor));
    RETURN_IF_ERROR(ReadPages(prefix, visitor, next_serial));
    return FromRocksDb(pages_.status(), "reading pages");
  }

 private:
  static std::string EndOf(Slot last) { return storage::PrefixEnd(storage::SlotPrefix(last)); }

  Status ReadHosts(const std::string& prefix, LoadVisitor& visitor) {
    names_.clear();
    for (; IsAt(hosts_, prefix); hosts_.Next()) {
      storage::HostRow row;
      RETURN_IF_ERROR(storage::DecodeHost(hosts_.key(), hosts_.value(), &row));
      RETURN_IF_ERROR(visitor.OnHost(row.record, row.serial));
      names_.insert_or_assign(row.serial, std::move(row.record.host));
    }
    return FromRocksDb(hosts_.status(), "reading hosts");
  }

  Status ReadPages(const std::string& prefix, LoadVisitor& visitor, uint64_t* next_serial) {
    storage::PageHead row;
    const std::string* host = nullptr;
    uint32_t host_serial = 0;
    for (; IsAt(pages_, prefix); pages_.Next()) {
      const std::optional<PageNumber> number = storage::ParsePageKey(pages_.key());
      if (!number) return storage::BadRow(Family::kPages, pages_.key(), "key is malformed");
      RETURN_IF_ERROR(storage::DecodePageHead(pages_.key(), pages_.value(), &row));
      if (host == nullptr || host_serial != row.host_serial) {
        const auto it = names_.find(row.host_serial);
        if (it == names_.end()) {
          return storage::BadRow(Family::kPages, pages_.key(),
                                 fmt::format("host {} is missing", row.host_serial));
        }
        host = &it->second;
        host_serial = row.host_serial;
      }
      RETURN_IF_ERROR(visitor.OnPage({.number = *number,
                                      .fingerprint = fingerprinter_.Of(row.crawl_id, row.url),
                                      .host = *host,
                                      .host_serial = row.host_serial,
                                      .crawl_id = row.crawl_id,
                                      .spec = row.spec,
                                      .state = row.state}));
      *next_serial = std::max(*next_serial, SerialOf(*number) + 1);
    }
    return FromRocksDb(pages_.status(), "reading pages");
  }

  const Fingerprinter& fingerprinter_;
  Cursor hosts_;
  Cursor pages_;
  absl::flat_hash_map<uint32_t, std::string> names_;  // hosts of the slot, by serial
};

}  // namespace

Status Store::Impl::Load(Slot first, Slot last, LoadVisitor& visitor) const {
  CHECK(first <= last && last.value() < limits::kSlots);
  // Nobody reads RocksDB's counters of this thread.
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  ASSIGN_OR_RETURN(const auto leases, leases_.Read(commits_));
  SlotReader reader(&base_.db(), base_.handle(Family::kHosts), base_.handle(Family::kPages),
                    fingerprinter_, first, last);
  for (uint16_t slot = first.value(); slot <= last.value(); ++slot) {
    const uint64_t mark = (*next_serials_)[slot].load(std::memory_order_relaxed);
    uint64_t next_serial = std::max<uint64_t>(mark, 1);
    RETURN_IF_ERROR(reader.ReadSlot(Slot(slot), &next_serial, visitor));
    RETURN_IF_ERROR(leases->Visit(Slot(slot), visitor));
    RETURN_IF_ERROR(visitor.OnSlotEnd(Slot(slot), next_serial));
  }
  // No slots are left to read. Threads that are still reading other slots each hold a reference to
  // the rows.
  if (last.value() == limits::kSlots - 1) leases_.ForgetRows();
  return absl::OkStatus();
}

Status Store::Impl::LoadLeases(LoadVisitor& visitor) const {
  ASSIGN_OR_RETURN(const auto leases, leases_.Read(commits_));
  for (uint16_t slot = 0; slot < limits::kSlots; ++slot) {
    RETURN_IF_ERROR(leases->Visit(Slot(slot), visitor));
    const uint64_t mark = (*next_serials_)[slot].load(std::memory_order_relaxed);
    RETURN_IF_ERROR(visitor.OnSlotEnd(Slot(slot), std::max<uint64_t>(mark, 1)));
  }
  leases_.ForgetRows();
  return absl::OkStatus();
}

Status Store::Impl::LoadSlotHosts(Slot slot, SlotHosts& hosts) const {
  CHECK(!hosts.loaded, "hosts of slot {} are loaded", slot.value());
  const std::string prefix = storage::SlotPrefix(slot);
  Cursor cursor(&base_.db(), base_.handle(Family::kHosts), prefix, SequentialRead());
  for (; cursor.valid(); cursor.Next()) {
    storage::HostRow row;
    RETURN_IF_ERROR(storage::DecodeHost(cursor.key(), cursor.value(), &row));
    hosts.serials.emplace(std::move(row.record.host), row.serial);
    hosts.next_serial = std::max(hosts.next_serial, row.serial + 1);
  }
  RETURN_IF_ERROR(FromRocksDb(cursor.status(), "reading hosts"));
  hosts.loaded = true;
  return absl::OkStatus();
}

StatusOr<GlobalRecords> Store::Impl::LoadGlobals() const {
  GlobalRecords globals;
  Cursor sources(&base_.db(), base_.handle(Family::kSources), "", "", SequentialRead());
  for (; sources.valid(); sources.Next()) {
    SourceRecord& source = globals.sources.emplace_back();
    RETURN_IF_ERROR(storage::DecodeSource(sources.key(), sources.value(), &source));
  }
  RETURN_IF_ERROR(FromRocksDb(sources.status(), "reading sources"));

  Cursor epochs(&base_.db(), base_.handle(Family::kMeta), MetaKeyOf(MetaKey::kEpoch),
                SequentialRead());
  for (; epochs.valid(); epochs.Next()) {
    EpochRecord& epoch = globals.epochs.emplace_back();
    bool whole = false;
    const auto read = [this](const std::string& key) { return base_.ReadMeta(key); };
    RETURN_IF_ERROR(storage::DecodeEpochRows(epochs.key(), epochs.value(), read, &epoch, &whole));
    if (whole) continue;
    base_.Say('W',
              fmt::format("shard {}: what epoch {} learned is there only in part, and is learned "
                          "anew",
                          epoch.shard, epoch.number));
  }
  RETURN_IF_ERROR(FromRocksDb(epochs.status(), "reading epochs"));

  Cursor crawls(&base_.db(), base_.handle(Family::kMeta), MetaKeyOf(MetaKey::kCrawl),
                SequentialRead());
  for (; crawls.valid(); crawls.Next()) {
    CrawlRecord& crawl = globals.crawls.emplace_back();
    RETURN_IF_ERROR(storage::DecodeCrawl(crawls.key(), crawls.value(), &crawl));
  }
  RETURN_IF_ERROR(FromRocksDb(crawls.status(), "reading crawls"));

  const std::string settings_key = MetaKeyOf(MetaKey::kSettings);
  const StatusOr<std::string> settings = base_.ReadMeta(settings_key);
  if (settings.ok()) {
    RETURN_IF_ERROR(storage::DecodeSettings(settings_key, *settings, &globals.settings));
  } else if (!absl::IsNotFound(settings.status())) {
    return settings.status();
  }
  ASSIGN_OR_RETURN(const std::optional<uint64_t> shards,
                   base_.ReadNumber(MetaKeyOf(MetaKey::kLayout)));
  globals.shards = static_cast<uint32_t>(shards.value_or(0));
  return globals;
}

Status Store::Impl::DropEpochs(rocksdb::WriteBatch* batch) const {
  for (const MetaKey kind : {MetaKey::kEpoch, MetaKey::kEpochPart}) {
    Cursor rows(&base_.db(), base_.handle(Family::kMeta), MetaKeyOf(kind), SequentialRead());
    for (; rows.valid(); rows.Next()) {
      RETURN_IF_ERROR(
          FromRocksDb(batch->Delete(base_.handle(Family::kMeta), rows.key()), "dropping an epoch"));
    }
    RETURN_IF_ERROR(FromRocksDb(rows.status(), "reading epochs"));
  }
  return absl::OkStatus();
}

Status Store::Impl::SetShards(uint32_t shards) {
  CHECK(shards >= 1 && shards <= limits::kMaxShards, "{} shards", shards);
  const std::string key = MetaKeyOf(MetaKey::kLayout);
  ASSIGN_OR_RETURN(const std::optional<uint64_t> before, base_.ReadNumber(key));
  if (before == shards) return absl::OkStatus();
  if (base_.options().truth != nullptr) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "shards: is {}, and the log has {} partitions: both must be equal", shards,
                      base_.options().truth->partitions());
  }
  rocksdb::WriteBatch batch;
  ASSIGN_OR_RETURN(auto logs, leases_.Deal(shards, commits_, &batch));
  RETURN_IF_ERROR(base_.PutNumber(&batch, key, shards));
  ASSIGN_OR_RETURN(const GlobalRecords globals, LoadGlobals());
  EpochRecord last;
  for (const EpochRecord& epoch : globals.epochs) last.number = std::max(last.number, epoch.number);
  RETURN_IF_ERROR(DropEpochs(&batch));
  std::string value;
  for (uint16_t shard = 0; shard < shards && last.number > 0; ++shard) {
    const std::string epoch_key = MetaKeyOf(MetaKey::kEpoch, shard);
    last.shard = shard;
    storage::EncodeEpoch(epoch_key, last, &value);
    RETURN_IF_ERROR(
        FromRocksDb(batch.Put(base_.handle(Family::kMeta), epoch_key, value), "shards"));
  }
  RETURN_IF_ERROR(base_.Write(&batch, true));
  leases_.Install(std::move(logs));
  return absl::OkStatus();
}

}  // namespace freshet
