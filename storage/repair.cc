#include "storage/repair.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "core/base/id_limits.h"
#include "core/schedule/changes.h"
#include "core/schedule/leases.h"
#include "rocksdb/env.h"
#include "storage/directory.h"
#include "storage/internal/file_copy.h"
#include "storage/internal/format_check.h"
#include "storage/internal/keys.h"
#include "storage/internal/lease_rows.h"
#include "storage/internal/records.h"
#include "storage/internal/repair_rows.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/validate.h"
#include "storage/internal/wal_check.h"
#include "storage/restore.h"

namespace freshet::storage {
namespace {

constexpr size_t kPagesPerCommit = 256;

std::string TextOf(const Status& status) { return std::string(status.message()); }

// Moves the readable rows of one database into a new store. Owner thread only.
class Salvage {
 public:
  Salvage(DamagedDatabase& from, Store& to, Instant now, const RepairChecks& checks,
          RepairReport* report)
      : from_(from), to_(to), now_(now), checks_(checks), report_(*report) {}

  Status Run() {
    ReadHosts();
    ReadSources();
    ReadMeta();
    RETURN_IF_ERROR(to_.Commit(changes_));
    changes_ = Changes();
    ReadPages();
    RETURN_IF_ERROR(Flush());
    ReadLeases();
    AddLostSources();
    return status_.ok() ? to_.Commit(changes_) : status_;
  }

  // The highest generation in the database or in a lease id.
  [[nodiscard]] uint64_t generation() const { return generation_; }
  // Rows of `meta` that are copied unchanged.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& marks() const {
    return marks_;
  }

 private:
  void Note(std::string text) {
    if (report_.notes.size() < RepairReport::kMaxNotes) report_.notes.push_back(std::move(text));
  }
  // Returns true if a row was read. Otherwise notes the reason.
  bool Readable(const Status& status) {
    if (status.ok()) return true;
    Note(TextOf(status));
    return false;
  }
  bool ReadableOther(const Status& status) {
    report_.lost_rows += status.ok() ? 0 : 1;
    return Readable(status);
  }
  void SeeLease(LeaseId id) {
    generation_ = std::max<uint64_t>(generation_, GenerationOfLease(id));
  }

  void ReadHosts() {
    from_.ForEach(Family::kHosts, [&](std::string_view key, std::string_view value) {
      HostRow row;
      if (ReadableOther(DecodeHost(key, value, &row))) changes_.hosts.push_back(row.record);
    });
  }

  void ReadSources() {
    from_.ForEach(Family::kSources, [&](std::string_view key, std::string_view value) {
      SourceRecord source;
      if (ReadableOther(DecodeSource(key, value, &source))) changes_.sources.push_back(source);
    });
    // Sources come in order of index.
    absl::flat_hash_set<std::string> names;
    for (SourceRecord& source : changes_.sources) {
      if (!names.insert(source.name).second) source = LostSource(source.index);
      sources_ = source.index + 1U;
      has_source_[source.index] = true;
    }
  }

  SourceRecord LostSource(uint8_t index) {
    Note(fmt::format("sources: the name of source {} is lost: now lost-{}", index, index));
    return {.name = fmt::format("lost-{}", index), .index = index};
  }

  // Counts of signals name a source by its index, so no other source may get this index.
  void AddLostSources() {
    for (unsigned index = 0; index < sources_; ++index) {
      if (has_source_[index]) continue;
      changes_.sources.push_back(LostSource(static_cast<uint8_t>(index)));
    }
  }

  void SeeSource(SourceClass source_class) {
    sources_ = std::max(sources_, source_class.source() + 1U);
  }
  void SeeSources(const SignalCounts& signals) {
    for (const SignalCounts::Entry& entry : signals.entries()) {
      if (entry.count > 0) SeeSource(entry.source_class);
    }
  }

  void ReadMeta() {
    from_.ForEach(Family::kMeta, [&](std::string_view key, std::string_view value) {
      if (key.empty()) return;
      Settings settings;
      EpochRecord epoch;
      FingerprintSecret secret;
      uint64_t number = 0;
      switch (static_cast<MetaKey>(key.front())) {
        case MetaKey::kSettings:
          if (ReadableOther(DecodeSettings(key, value, &settings))) TakeSettings(settings);
          break;
        case MetaKey::kEpoch:  // learned again
          ReadableOther(DecodeEpoch(key, value, &epoch));
          break;
        case MetaKey::kEpochPart: {
          EpochPart part;
          ReadableOther(DecodeEpochPart(key, value, &part));
          break;
        }
        case MetaKey::kGeneration:
          if (ReadableOther(DecodeNumber(key, value, &number))) {
            generation_ = std::max(generation_, number);
          }
          break;
        case MetaKey::kNextSerial:
          if (ReadableOther(DecodeNumber(key, value, &number))) marks_.emplace_back(key, value);
          break;
        case MetaKey::kSecret:  // the new store has a secret already
          ReadableOther(DecodeSecret(key, value, &secret));
          break;
        case MetaKey::kCrawl: {
          CrawlRecord crawl;
          if (ReadableOther(DecodeCrawl(key, value, &crawl))) changes_.crawls.push_back(crawl);
          break;
        }
        case MetaKey::kFormat:
        case MetaKey::kLayout:
        case MetaKey::kLogOffset:  // the new store belongs to a single server
        case MetaKey::kLogTime:
        case MetaKey::kLogName:
        case MetaKey::kLogFormat:
        case MetaKey::kLogOwners:
        case MetaKey::kLogBirth:
          ReadableOther(DecodeNumber(key, value, &number));
          break;
        default:
          ReadableOther(MakeStatus(absl::StatusCode::kDataLoss, "meta: a row of unknown kind"));
      }
    });
  }

  void TakeSettings(Settings& settings) {
    if (settings.policy && !checks_.knows_policy(*settings.policy)) {
      Note(fmt::format("meta: the policy {} is not known and is dropped", *settings.policy));
      settings.policy.reset();
    }
    changes_.settings = std::move(settings);
  }

  void ReadPages() {
    from_.ForEach(Family::kPages, [&](std::string_view key, std::string_view value) {
      PageRecord page;
      if (Readable(DecodePage(key, value, &page))) return Save(std::move(page));
      ++report_.lost_pages;
    });
    std::sort(saved_.begin(), saved_.end());
  }

  void Save(PageRecord page) {
    if (!status_.ok()) return;
    if (IsSaved(page)) {
      Note(fmt::format("page {:#x} is dropped: {} is there already", page.number.value(),
                       page.key.url));
      ++report_.lost_pages;
      return;
    }
    SeeLease(page.detail.last_lease);
    SeeSources(page.state.signals);
    for (const CrawlObservation& seen : page.detail.statistics.recent) SeeSources(seen.signals);
    saved_.push_back(page.number);
    pages_.push_back(std::move(page));
    if (pages_.size() == kPagesPerCommit) status_.Update(Flush());
  }

  // Returns true if a page with the same URL is already saved.
  bool IsSaved(const PageRecord& page) {
    const uint64_t fingerprint = to_.fingerprinter().Of(page.key.crawl_id, page.key.url);
    absl::InlinedVector<PageNumber, 1>& alike = by_fingerprint_[fingerprint];
    if (!alike.empty()) status_.Update(Flush());
    for (const StatusOr<PageRecord>& other : to_.ReadPages(alike)) {
      if (other.ok() && other->key == page.key) return true;
    }
    alike.push_back(page.number);
    return false;
  }

  Status Flush() {
    for (const PageRecord& page : pages_) {
      changes_.pages.push_back({.record = &page, .created = true});
    }
    report_.pages += pages_.size();
    status_.Update(to_.Commit(changes_));
    changes_ = Changes();
    pages_.clear();
    return status_;
  }

  // Rows come in the order in which a shard wrote them, so the last entry of a lease counts.
  void ReadLeases() {
    absl::flat_hash_map<LeaseId, LeaseRecord> leases;
    from_.ForEach(Family::kLeases, [&](std::string_view key, std::string_view value) {
      std::vector<LeaseEntry> entries;
      if (!ReadableOther(DecodeLeases(key, value, &entries))) return;
      for (LeaseEntry& entry : entries) {
        SeeLease(entry.record.id);
        if (entry.kind == LeaseEntry::Kind::kDropped) leases.erase(entry.record.id);
        if (entry.kind != LeaseEntry::Kind::kLease) continue;
        const LeaseId id = entry.record.id;
        leases[id] = std::move(entry.record);
      }
    });
    absl::flat_hash_set<PageNumber> leased;
    for (auto& [id, lease] : leases) SaveLease(std::move(lease), leased);
  }

  void SaveLease(LeaseRecord lease, absl::flat_hash_set<PageNumber>& leased) {
    // A finished lease needs no page, because it is kept only so that late results are recognized.
    // A lease that names the host of a removed page needs no page either.
    const bool needs_page = !lease.over && lease.host.empty();
    const bool of_saved_page = std::binary_search(saved_.begin(), saved_.end(), lease.page);
    if (!needs_page || (of_saved_page && leased.insert(lease.page).second)) {
      for (const LeaseSignal& signal : lease.signals) SeeSource(signal.source_class);
      changes_.leases.push_back(std::move(lease));
      return;
    }
    ++report_.lost_leases;
    Note(fmt::format("lease {:#x} is dropped: its page is lost, or leased already",
                     lease.id.value()));
  }

  DamagedDatabase& from_;
  Store& to_;
  const Instant now_;
  const RepairChecks& checks_;
  RepairReport& report_;
  Changes changes_;
  std::vector<PageRecord> pages_;  // not committed yet
  std::vector<PageNumber> saved_;  // sorted after each phase
  absl::flat_hash_map<uint64_t, absl::InlinedVector<PageNumber, 1>> by_fingerprint_;
  std::vector<std::pair<std::string, std::string>> marks_;
  std::array<bool, limits::kMaxSources> has_source_{};
  unsigned sources_ = 0;  // greater than every index in the rows
  uint64_t generation_ = 0;
  Status status_;  // result of the writes
};

// One repair, step by step. Owner thread only.
class Repairer {
 public:
  Repairer(std::string dir, const StoreOptions& options, const RepairChecks& checks)
      : dir_(std::move(dir)),
        work_(dir_ + "/repair.tmp"),
        options_(options),
        checks_(checks),
        env_(options.env != nullptr ? options.env : rocksdb::Env::Default()) {
    options_.reserve_bytes = 0;
    options_.durability = Durability::kSync;
  }

  StatusOr<RepairReport> Run() {
    ASSIGN_OR_RETURN(const std::vector<std::string> files, ListOriginal());
    rocksdb::FileLock* lock = nullptr;
    RETURN_IF_ERROR(LockDirectory(env_, dir_, &lock));
    Status status = RunLocked();
    status.Update(FromRocksDb(env_->UnlockFile(lock), "unlocking " + dir_));
    RETURN_IF_ERROR(status);
    return std::move(report_);
  }

 private:
  StatusOr<std::vector<std::string>> ListOriginal() {
    RETURN_IF_ERROR(CheckDirectory(dir_));
    ASSIGN_OR_RETURN(std::vector<std::string> files, DatabaseFiles(env_, dir_));
    if (files.empty()) return NotFound("{}: holds no database", dir_);
    return files;
  }

  Status RunLocked() {
    // A store of another release is not damaged.
    RETURN_IF_ERROR(storage::CheckFormat(dir_, options_));
    RETURN_IF_ERROR(FreshCopy("look"));
    const StatusOr<bool> intact = LookForDamage();
    if (!intact.ok()) {
      RemoveWork().IgnoreError();
      return intact.status();
    }
    report_.intact = *intact;
    if (report_.intact) return RemoveWork();
    RETURN_IF_ERROR(FreshCopy("source"));
    RETURN_IF_ERROR(Rebuild());
    RETURN_IF_ERROR(Swap());
    return RemoveWork();
  }

  [[nodiscard]] std::string Work(std::string_view name) const {
    return fmt::format("{}/{}", work_, name);
  }

  // Deletes a directory that repair made, and its content.
  Status RemoveTree(const std::string& dir) {
    std::vector<std::string> names;
    if (!env_->GetChildren(dir, &names).ok()) return absl::OkStatus();
    for (const std::string& name : names) {
      if (name == "." || name == "..") continue;
      const std::string path = dir + "/" + name;
      bool is_dir = false;
      if (env_->IsDirectory(path, &is_dir).ok() && is_dir) {
        RETURN_IF_ERROR(RemoveTree(path));
      } else {
        RETURN_IF_ERROR(FromRocksDb(env_->DeleteFile(path), "deleting " + path));
      }
    }
    return FromRocksDb(env_->DeleteDir(dir), "deleting " + dir);
  }
  Status RemoveWork() { return RemoveTree(work_); }

  // Makes a copy of the original in the work directory `name`. Repair may change the copy.
  Status FreshCopy(std::string_view name) {
    RETURN_IF_ERROR(RemoveWork());
    RETURN_IF_ERROR(FromRocksDb(env_->CreateDirIfMissing(work_), "creating " + work_));
    return CopyDatabase(env_, dir_, Work(name));
  }

  // Returns whether the database is intact.
  StatusOr<bool> LookForDamage() {
    const StatusOr<std::unique_ptr<Store>> store = Store::Open(Work("look"), options_);
    if (!store.ok()) {
      if (absl::IsFailedPrecondition(store.status()) || absl::IsResourceExhausted(store.status())) {
        return store.status();
      }
      Note(TextOf(store.status()));
      return false;
    }
    ASSIGN_OR_RETURN(const VerifyReport report, checks_.verify(**store));
    for (const std::string& problem : report.problems) Note(problem);
    report_.pages = report.ok() ? report.pages : 0;
    report_.hosts = report.hosts;
    report_.leases = report.leases;
    return report.ok();
  }

  void Note(std::string text) {
    if (report_.notes.size() < RepairReport::kMaxNotes) report_.notes.push_back(std::move(text));
  }

  Status Rebuild() {
    ASSIGN_OR_RETURN(const std::unique_ptr<DamagedDatabase> source,
                     DamagedDatabase::Open(Work("source"), options_,
                                           [this](std::string text) { Note(std::move(text)); }));
    report_.tables = source->tables();
    for (const std::string& mark :
         {MetaKeyOf(MetaKey::kLogName), MetaKeyOf(MetaKey::kLogTime),
          MetaKeyOf(MetaKey::kLogOffset, 0), MetaKeyOf(MetaKey::kLogFormat, 0)}) {
      if (!source->Get(Family::kMeta, mark)) continue;
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "{}: is the store of a server of a cluster: empty this directory, and the "
                        "server fills it from the cluster's log",
                        dir_);
    }
    // Keeps the fingerprints if their secret can be read.
    const std::string secret_key = MetaKeyOf(MetaKey::kSecret);
    FingerprintSecret secret;
    const std::optional<std::string> secret_row = source->Get(Family::kMeta, secret_key);
    if (secret_row && DecodeSecret(secret_key, *secret_row, &secret).ok()) {
      options_.fingerprint_secret = secret;
    }
    const uint64_t micros = env_->NowMicros();
    uint64_t generation = 0;
    std::vector<std::pair<std::string, std::string>> marks;
    {
      ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, Store::Open(Work("new"), options_));
      Salvage salvage(*source, *store, Instant::FromMicros(static_cast<int64_t>(micros)), checks_,
                      &report_);
      RETURN_IF_ERROR(salvage.Run());
      RETURN_IF_ERROR(store->Close());
      generation = salvage.generation();
      marks = salvage.marks();
    }
    {
      ASSIGN_OR_RETURN(const std::unique_ptr<DamagedDatabase> raw,
                       DamagedDatabase::Open(Work("new"), options_,
                                             [this](std::string text) { Note(std::move(text)); }));
      for (const auto& [key, value] : marks) RETURN_IF_ERROR(raw->Put(Family::kMeta, key, value));
      // RepairFrontier repairs derived rows later.
      for (size_t i = IndexOf(Family::kFrontierMeta); i < kFamilies; ++i) {
        RETURN_IF_ERROR(raw->CopyRows(static_cast<Family>(i), *source));
      }
      RETURN_IF_ERROR(raw->Close());
    }
    StoreOptions options = options_;
    options.generation_step = static_cast<uint32_t>(generation) + kSkippedGenerations;
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, Store::Open(Work("new"), options));
    RETURN_IF_ERROR(store->Compact());
    ASSIGN_OR_RETURN(const VerifyReport verified, checks_.verify(*store));
    if (!verified.ok()) {
      return MakeStatus(absl::StatusCode::kInternal, "what was saved does not verify: {}",
                        verified.problems.front());
    }
    report_.pages = verified.pages;
    report_.hosts = verified.hosts;
    report_.leases = verified.leases;
    return store->Close();
  }

  // Moves the original to damaged-N and the new store into its place. At any time, all files of the
  // original are either in its directory or in damaged-N.
  Status Swap() {
    int n = 1;
    while (env_->FileExists(fmt::format("{}/damaged-{}", dir_, n)).ok()) ++n;
    report_.original = fmt::format("{}/damaged-{}", dir_, n);
    RETURN_IF_ERROR(MoveDatabase(env_, dir_, report_.original, /*current_last=*/false));
    return MoveDatabase(env_, Work("new"), dir_, /*current_last=*/true);
  }

  const std::string dir_;
  const std::string work_;
  StoreOptions options_;
  const RepairChecks& checks_;
  rocksdb::Env* const env_;
  RepairReport report_;
};

}  // namespace

StatusOr<RepairReport> Repair(const std::string& dir, const StoreOptions& options,
                              const RepairChecks& checks) {
  ASSIGN_OR_RETURN(std::string absolute, AbsolutePath(dir));
  return Repairer(std::move(absolute), options, checks).Run();
}

}  // namespace freshet::storage
