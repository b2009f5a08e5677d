// Verification: reads every row, and compares the column families with each other.
#include <xxhash.h>

#include "core/base/id_limits.h"
#include "core/base/url.h"
#include "rocksdb/convenience.h"
#include "storage/internal/epoch_rows.h"
#include "storage/internal/keys.h"
#include "storage/internal/lease_rows.h"
#include "storage/internal/records.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/sealing.h"
#include "storage/internal/store_impl.h"

namespace freshet {

using storage::Family;
using storage::FromRocksDb;
using storage::MetaKey;

namespace {

// Reads one snapshot of the database. Owner thread only.
class Verifier {
 public:
  Verifier(rocksdb::DB* db, const storage::FamilyHandles& handles)
      : db_(db), handles_(handles), snapshot_(db) {
    read_.snapshot = snapshot_.snapshot();
    read_.fill_cache = false;
    read_.verify_checksums = true;
  }

  VerifyReport Run() {
    CheckMeta();
    CheckSources();
    CheckHosts();
    CheckPages();
    CheckLeases();
    return std::move(report_);
  }

 private:
  // Packs the slot and the serial of a host into one number.
  static uint64_t HostId(Slot slot, uint32_t serial) {
    return uint64_t{slot.value()} << 32 | serial;
  }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* handle(Family family) const {
    return handles_[storage::IndexOf(family)];
  }
  [[nodiscard]] std::unique_ptr<rocksdb::Iterator> Rows(Family family) const {
    std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(read_, handle(family)));
    it->SeekToFirst();
    return it;
  }
  void Problem(std::string text) {
    ++report_.problem_count;
    if (report_.problems.size() < VerifyReport::kMaxProblems) {
      report_.problems.push_back(std::move(text));
    }
  }
  void Problem(Family family, std::string_view key, std::string_view what) {
    Problem(std::string(storage::BadRow(family, key, what).message()));
  }
  void Note(const Status& status) {
    if (!status.ok()) Problem(std::string(status.message()));
  }
  void NoteEnd(Family family, const rocksdb::Iterator& it) {
    Note(FromRocksDb(it.status(), fmt::format("reading {}", storage::NameOf(family))));
  }
  void CheckMeta() {
    const auto it = Rows(Family::kMeta);
    for (; it->Valid(); it->Next()) {
      const std::string_view key = it->key().ToStringView();
      const std::string_view value = it->value().ToStringView();
      uint64_t number = 0;
      Settings settings;
      if (key == storage::MetaKeyOf(MetaKey::kFormat) ||
          key == storage::MetaKeyOf(MetaKey::kGeneration) ||
          key == storage::MetaKeyOf(MetaKey::kLayout) ||
          key == storage::MetaKeyOf(MetaKey::kLogTime) ||
          key == storage::MetaKeyOf(MetaKey::kLogName) ||
          storage::ParseMetaKey(MetaKey::kLogOffset, key) ||
          storage::ParseMetaKey(MetaKey::kLogFormat, key) ||
          storage::ParseMetaKey(MetaKey::kLogOwners, key) ||
          storage::ParseMetaKey(MetaKey::kLogBirth, key)) {
        Note(storage::DecodeNumber(key, value, &number));
      } else if (key == storage::MetaKeyOf(MetaKey::kSecret)) {
        FingerprintSecret secret;
        Note(storage::DecodeSecret(key, value, &secret));
      } else if (key == storage::MetaKeyOf(MetaKey::kSettings)) {
        Note(storage::DecodeSettings(key, value, &settings));
      } else if (storage::ParseCrawlKey(key)) {
        CrawlRecord crawl;
        Note(storage::DecodeCrawl(key, value, &crawl));
      } else if (storage::ParseMetaKey(MetaKey::kEpoch, key)) {
        CheckEpoch(key, value);
      } else if (storage::ParseEpochPartKey(key)) {
        storage::EpochPart part;
        Note(storage::DecodeEpochPart(key, value, &part));
      } else if (const auto slot = storage::ParseMetaKey(MetaKey::kNextSerial, key)) {
        Note(storage::DecodeNumber(key, value, &number));
        if (*slot >= limits::kSlots) Problem(Family::kMeta, key, "of a slot that does not exist");
      } else {
        Problem(Family::kMeta, key, "key is unknown");
      }
    }
    NoteEnd(Family::kMeta, *it);
  }

  void CheckEpoch(std::string_view key, std::string_view value) {
    EpochRecord epoch;
    bool whole = true;
    const auto read = [this](const std::string& part) -> StatusOr<std::string> {
      std::string found;
      const rocksdb::Status status = db_->Get(read_, handle(Family::kMeta), part, &found);
      if (status.IsNotFound()) return NotFound("no such row");
      RETURN_IF_ERROR(FromRocksDb(status, "reading meta"));
      return found;
    };
    Note(storage::DecodeEpochRows(key, value, read, &epoch, &whole));
    if (!whole) Problem(Family::kMeta, key, "what the epoch learned is there only in part");
  }

  void CheckSources() {
    const auto it = Rows(Family::kSources);
    for (; it->Valid(); it->Next()) {
      SourceRecord source;
      Note(storage::DecodeSource(it->key().ToStringView(), it->value().ToStringView(), &source));
    }
    NoteEnd(Family::kSources, *it);
  }

  void CheckHosts() {
    const auto it = Rows(Family::kHosts);
    for (; it->Valid(); it->Next()) {
      storage::HostRow row;
      const std::string_view key = it->key().ToStringView();
      const Status status = storage::DecodeHost(key, it->value().ToStringView(), &row);
      Note(status);
      if (!status.ok()) continue;
      ++report_.hosts;
      const Slot slot = storage::ParseHostKey(key)->slot;
      if (slot != SlotOfHost(row.record.host)) Problem(Family::kHosts, key, "in the wrong slot");
      if (!hosts_.emplace(HostId(slot, row.serial), row.record.host).second) {
        Problem(Family::kHosts, key, fmt::format("serial {} is taken", row.serial));
      }
    }
    NoteEnd(Family::kHosts, *it);
  }

  void CheckPages() {
    const auto it = Rows(Family::kPages);
    for (; it->Valid(); it->Next()) {
      CheckPage(it->key().ToStringView(), it->value().ToStringView());
    }
    NoteEnd(Family::kPages, *it);
  }

  void CheckPage(std::string_view key, std::string_view value) {
    ++report_.pages;
    PageRecord page;
    storage::PageHead head;
    Status status = storage::DecodePage(key, value, &page);
    if (status.ok()) status = storage::DecodePageHead(key, value, &head);
    Note(status);
    if (!status.ok()) return;
    const auto host = hosts_.find(HostId(SlotOf(page.number), head.host_serial));
    if (host == hosts_.end() || host->second != page.host) {
      Problem(Family::kPages, key, fmt::format("host {} is not {}", head.host_serial, page.host));
    }
  }

  void CheckLeases() {
    absl::flat_hash_map<LeaseId, std::optional<PageNumber>> open;  // nullopt = the page was removed
    const auto it = Rows(Family::kLeases);
    for (; it->Valid(); it->Next()) {
      const std::string_view key = it->key().ToStringView();
      std::vector<storage::LeaseEntry> entries;
      if (!storage::ParseLeaseKey(key)) Problem(Family::kLeases, key, "key is malformed");
      Note(storage::DecodeLeases(key, it->value().ToStringView(), &entries));
      for (const storage::LeaseEntry& entry : entries) {
        if (entry.kind == storage::LeaseEntry::Kind::kAssigned) continue;
        open.erase(entry.record.id);
        const bool dropped = entry.kind == storage::LeaseEntry::Kind::kDropped;
        // A finished lease is not checked, because its page can have been removed since.
        if (dropped || entry.record.over) continue;
        std::optional<PageNumber>& page = open[entry.record.id];
        if (entry.record.host.empty()) page = entry.record.page;
      }
    }
    NoteEnd(Family::kLeases, *it);
    report_.leases = open.size();
    for (const auto& [id, page] : open) {
      if (page) CheckLeasedPage(id, *page);
    }
  }

  void CheckLeasedPage(LeaseId id, PageNumber page) {
    std::string value;
    const rocksdb::Status status =
        db_->Get(read_, handle(Family::kPages), storage::PageKeyOf(page), &value);
    if (status.ok()) return;
    Problem(fmt::format("leases: lease {:#x} of page {:#x}: {}", id.value(), page.value(),
                        status.ToString()));
  }

  rocksdb::DB* const db_;
  const storage::FamilyHandles handles_;
  rocksdb::ManagedSnapshot snapshot_;
  rocksdb::ReadOptions read_;
  VerifyReport report_;
  absl::flat_hash_map<uint64_t, std::string> hosts_;
};

// Returns true if this row of `meta` can differ between servers, so that it is not part of the
// digest.
bool IsOwnRow(std::string_view key) {
  static const std::array<std::string, 6> kOwn = {
      storage::MetaKeyOf(MetaKey::kFormat),  storage::MetaKeyOf(MetaKey::kLayout),
      storage::MetaKeyOf(MetaKey::kSecret),  storage::MetaKeyOf(MetaKey::kLogOffset),
      storage::MetaKeyOf(MetaKey::kLogTime), storage::MetaKeyOf(MetaKey::kLogName)};
  return std::any_of(kOwn.begin(), kOwn.end(),
                     [key](std::string_view own) { return key.substr(0, 1) == own; });
}

StatusOr<FamilyDigest> DigestOf(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family) {
  FamilyDigest found{.family = family->GetName()};
  const bool meta = found.family == storage::NameOf(Family::kMeta);
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator(read, family));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    if (meta && IsOwnRow(it->key().ToStringView())) continue;
    ++found.rows;
    found.digest = XXH3_64bits_withSeed(it->key().data(), it->key().size(), found.digest);
    found.digest = XXH3_64bits_withSeed(it->value().data(), it->value().size(), found.digest);
  }
  RETURN_IF_ERROR(FromRocksDb(it->status(), "reading " + found.family));
  return found;
}

}  // namespace

StatusOr<VerifyReport> Store::Verify() const {
  const storage::Database& base = impl_->base();
  rocksdb::DB& db = base.db();
  VerifyReport report = Verifier(&db, base.handles()).Run();
  if (impl_->log().is_cache()) {
    for (rocksdb::ColumnFamilyHandle* family : base.handles()) {
      ASSIGN_OR_RETURN(FamilyDigest digest, DigestOf(db, family));
      report.digests.push_back(std::move(digest));
    }
  }
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  for (const rocksdb::Status& status : {db.VerifyChecksum(read), db.VerifyFileChecksums(read)}) {
    if (status.ok()) continue;
    ++report.problem_count;
    report.problems.emplace_back(FromRocksDb(status, "table files").message());
  }
  return report;
}

}  // namespace freshet
