#include "storage/store.h"

#include <utility>

#include "core/base/check.h"
#include "core/model/page.h"
#include "storage/directory.h"
#include "storage/internal/batch_builder.h"
#include "storage/internal/cursor.h"
#include "storage/internal/format_check.h"
#include "storage/internal/keys.h"
#include "storage/internal/migrate.h"
#include "storage/internal/records.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/secret.h"
#include "storage/internal/store_impl.h"
#include "storage/internal/validate.h"
#include "storage/internal/wal_check.h"
#include "storage/pages_read.h"

namespace freshet {

using storage::Family;
using storage::FromRocksDb;
using storage::MetaKey;
using storage::MetaKeyOf;

Store::Impl::Impl(std::string dir, StoreOptions options)
    : base_(std::move(dir), std::move(options)),
      log_(base_),
      leases_(base_),
      reads_(base_),
      slot_hosts_(std::make_unique<std::array<SlotHosts, limits::kSlots>>()),
      next_serials_(std::make_unique<std::array<std::atomic<uint64_t>, limits::kSlots>>()) {}

Status Store::Impl::Open(Store& store) {
  const StoreOptions& options = base_.options();
  if (!options.create_if_missing) RETURN_IF_ERROR(CheckExists());
  RETURN_IF_ERROR(base_.Lock());
  RETURN_IF_ERROR(base_.Open());
  if (options.truth == nullptr) RETURN_IF_ERROR(log_.OpenAlone());
  RETURN_IF_ERROR(CheckFormat());
  RETURN_IF_ERROR(log_.CatchUp(store, [this] { return ReadMarks(); }));
  RETURN_IF_ERROR(ReadMarks());
  RETURN_IF_ERROR(StartGeneration());
  base_.Enter(OpenStage::kOpen);
  return absl::OkStatus();
}

Status Store::Impl::CheckExists() const {
  RETURN_IF_ERROR(storage::CheckDirectory(base_.dir()));
  ASSIGN_OR_RETURN(const bool exists, storage::DatabaseExists(base_.options().env, base_.dir()));
  return exists ? absl::OkStatus() : NotFound("{}: holds no store", base_.dir());
}

Status Store::Impl::CheckFormat() {
  const std::string key = MetaKeyOf(MetaKey::kFormat);
  ASSIGN_OR_RETURN(const std::optional<uint64_t> found, base_.ReadNumber(key));
  if (!found) {
    // The format is written first: without it there can be no other row.
    ASSIGN_OR_RETURN(const bool has_rows, HasRows());
    if (has_rows) {
      return MakeStatus(absl::StatusCode::kDataLoss, "{}: the format record is missing",
                        base_.dir());
    }
    RETURN_IF_ERROR(WriteFirstRows());
    return ReadSecret();
  }
  RETURN_IF_ERROR(storage::CheckFormatNumber(base_.dir(), *found));
  RETURN_IF_ERROR(MigrateFrom(static_cast<uint32_t>(*found)));
  // A cache never had a separate database for the frontier.
  if (!log_.is_cache()) RETURN_IF_ERROR(MoveFrontier());
  return ReadSecret();
}

Status Store::Impl::WriteFirstRows() {
  ASSIGN_OR_RETURN(const FingerprintSecret drawn, storage::DrawSecret());
  const FingerprintSecret secret = base_.options().fingerprint_secret.value_or(drawn);
  rocksdb::WriteBatch batch;
  RETURN_IF_ERROR(base_.PutNumber(&batch, MetaKeyOf(MetaKey::kFormat), storage::kFormatVersion));
  std::string value;
  const std::string secret_key = MetaKeyOf(MetaKey::kSecret);
  storage::EncodeSecret(secret_key, secret, &value);
  RETURN_IF_ERROR(
      FromRocksDb(batch.Put(base_.handle(Family::kMeta), secret_key, value), base_.dir()));
  return base_.Write(&batch, true);
}

Status Store::Impl::MigrateFrom(uint32_t format) {
  if (format == storage::kFormatVersion) return absl::OkStatus();
  CHECK(format < storage::kFormatVersion, "format {}", format);
  if (base_.read_only()) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: has an older format, which only its cluster's log can update: start a "
                      "server of the cluster with it",
                      base_.dir());
  }
  const storage::MigrationContext context{.db = &base_.db(),
                                          .families = base_.handles(),
                                          .log = base_.options().log,
                                          .progress = base_.options().progress};
  const Status migrated =
      storage::Migrate(context, format, storage::kFormatVersion, storage::Migrations());
  // After a failed write, closing must not write.
  if (!migrated.ok()) base_.NoteFailure(migrated).IgnoreError();
  return migrated;
}

Status Store::Impl::ReadSecret() {
  const std::string key = MetaKeyOf(MetaKey::kSecret);
  const StatusOr<std::string> value = base_.ReadMeta(key);
  if (absl::IsNotFound(value.status())) {
    return MakeStatus(absl::StatusCode::kDataLoss, "{}: the secret of the fingerprints is missing",
                      base_.dir());
  }
  RETURN_IF_ERROR(value.status());
  FingerprintSecret secret;
  RETURN_IF_ERROR(storage::DecodeSecret(key, *value, &secret));
  fingerprinter_ = Fingerprinter(secret, base_.options().fingerprint_bits);
  return absl::OkStatus();
}

Status Store::Impl::ReadMarks() {
  const uint64_t step = base_.options().generation_step;
  CHECK(step >= 1, "the leases of this run would have ids of the last");
  ASSIGN_OR_RETURN(const std::optional<uint64_t> before,
                   base_.ReadNumber(MetaKeyOf(MetaKey::kGeneration)));
  generation_ = before.value_or(0) + step;
  RETURN_IF_ERROR(ReadSerialMarks());
  return leases_.Open();
}

Status Store::Impl::StartGeneration() {
  if (base_.read_only()) return absl::OkStatus();
  rocksdb::WriteBatch batch;
  RETURN_IF_ERROR(base_.PutNumber(&batch, MetaKeyOf(MetaKey::kGeneration), generation_));
  return base_.options().truth == nullptr ? base_.Write(&batch, true) : log_.Write(&batch, 0);
}

Status Store::Impl::ReadSerialMarks() {
  storage::Cursor marks(&base_.db(), base_.handle(Family::kMeta), MetaKeyOf(MetaKey::kNextSerial),
                        {});
  for (; marks.valid(); marks.Next()) {
    const std::optional<uint16_t> slot = storage::ParseMetaKey(MetaKey::kNextSerial, marks.key());
    uint64_t serial = 0;
    RETURN_IF_ERROR(storage::DecodeNumber(marks.key(), marks.value(), &serial));
    if (!slot || *slot >= limits::kSlots) {
      return MakeStatus(absl::StatusCode::kDataLoss, "{}: a serial mark without slot", base_.dir());
    }
    (*next_serials_)[*slot].store(serial, std::memory_order_relaxed);
  }
  return FromRocksDb(marks.status(), "reading serial marks");
}

StatusOr<bool> Store::Impl::HasRows() const {
  for (rocksdb::ColumnFamilyHandle* family : base_.families()) {
    const std::unique_ptr<rocksdb::Iterator> it(
        base_.db().NewIterator(rocksdb::ReadOptions(), family));
    it->SeekToFirst();
    RETURN_IF_ERROR(FromRocksDb(it->status(), "looking for rows"));
    if (it->Valid()) return true;
  }
  return false;
}

Status Store::Impl::Commit(const Changes& changes) {
  if (changes.empty()) return absl::OkStatus();
  if (const Status valid = storage::ValidateChanges(changes); !valid.ok()) {
    return MakeStatus(absl::StatusCode::kInternal, "invalid record: {}",
                      std::string(valid.message()));
  }
  if (Status space = base_.EnsureSpace(); !space.ok()) {
    if (absl::IsResourceExhausted(space)) ++base_.refused_commits();
    return space;
  }
  BatchBuilder builder(*this);
  RETURN_IF_ERROR(builder.Add(changes));
  RETURN_IF_ERROR(log_.Write(builder.batch(), changes.shard));
  builder.Install();
  commits_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& dir, const StoreOptions& options) {
  ASSIGN_OR_RETURN(std::string absolute, storage::AbsolutePath(dir));
  std::unique_ptr<Store> store(new Store(std::make_unique<Impl>(std::move(absolute), options)));
  RETURN_IF_ERROR(store->impl_->Open(*store));
  return store;
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

Status Store::Close() { return impl_->base().Close(); }
Status Store::CheckAge() const { return impl_->log().CheckAge(); }

uint64_t Store::generation() const { return impl_->generation(); }
const Fingerprinter& Store::fingerprinter() const { return impl_->fingerprinter(); }
StatusOr<GlobalRecords> Store::LoadGlobals() const { return impl_->LoadGlobals(); }
Status Store::Load(Slot first, Slot last, LoadVisitor& visitor) const {
  return impl_->Load(first, last, visitor);
}
Status Store::LoadLeases(LoadVisitor& visitor) const { return impl_->LoadLeases(visitor); }
Status Store::StartCompactions() { return impl_->base().StartCompactions(); }
Status Store::SetShards(uint32_t shards) { return impl_->SetShards(shards); }
std::vector<StatusOr<PageRecord>> Store::ReadPages(std::span<const PageNumber> numbers,
                                                   ReadFor what) const {
  return impl_->reads().Read(numbers, what);
}
StatusOr<ListResult> Store::List(const ListQuery& query, std::string_view token,
                                 size_t limit) const {
  return impl_->reads().List(query, token, limit);
}
StatusOr<ScanResult> Store::ScanPages(PageNumber from, PageNumber end, size_t count) const {
  return impl_->reads().Scan(from, end, count);
}
Status Store::Commit(const Changes& changes) { return impl_->Commit(changes); }
Status Store::health() const { return impl_->base().health(); }
StoreWrites Store::writes() const { return impl_->base().writes(); }
Status Store::TryResume() { return impl_->base().EnsureSpace(); }

}  // namespace freshet
