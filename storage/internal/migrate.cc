#include "storage/internal/migrate.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "rocksdb/write_batch.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "storage/internal/rocksdb_status.h"

namespace freshet::storage {
namespace {

// Pages that one write batch holds: about a megabyte.
constexpr uint32_t kPagesPerBatch = 4096;
// Rows that cannot be read, of which each is told.
constexpr uint64_t kMostSaid = 20;

Status WriteFormat(rocksdb::DB* db, const FamilyHandles& families, uint32_t version) {
  const std::string key = MetaKeyOf(MetaKey::kFormat);
  std::string value;
  EncodeNumber(key, version, &value);
  // A flush makes the step durable whether or not its writes went through the log.
  const std::vector<rocksdb::ColumnFamilyHandle*> all(families.begin(), families.end());
  RETURN_IF_ERROR(FromRocksDb(db->Flush(rocksdb::FlushOptions(), all), "flushing a migration"));
  rocksdb::WriteOptions write;
  write.sync = true;
  return FromRocksDb(db->Put(write, families[IndexOf(Family::kMeta)], key, value),
                     "writing the format version");
}

// The secret in `meta`; a database that has none gets that of the context.
StatusOr<FingerprintSecret> GiveSecret(const MigrationContext& context) {
  rocksdb::ColumnFamilyHandle* meta = context.families[IndexOf(Family::kMeta)];
  const std::string key = MetaKeyOf(MetaKey::kSecret);
  std::string value;
  const rocksdb::Status found = context.db->Get(rocksdb::ReadOptions(), meta, key, &value);
  FingerprintSecret secret = context.new_secret;
  if (found.ok()) {
    RETURN_IF_ERROR(DecodeSecret(key, value, &secret));
    return secret;
  }
  if (!found.IsNotFound()) return FromRocksDb(found, "reading meta");
  EncodeSecret(key, secret, &value);
  rocksdb::WriteOptions write;
  write.sync = true;
  RETURN_IF_ERROR(FromRocksDb(context.db->Put(write, meta, key, value), "writing the secret"));
  return secret;
}

// Format 1 had fingerprints by a hash without secret. Owner thread only.
class FingerprintRewriter {
 public:
  FingerprintRewriter(const MigrationContext& context, const FingerprintSecret& secret)
      : context_(context),
        fingerprinter_(secret, context.fingerprint_bits),
        states_(context.families[IndexOf(Family::kStates)]) {
    // The flush at the end of the step makes all of it durable: a log would double what is written.
    write_.disableWAL = true;
  }

  Status Run() {
    uint64_t expected = 0;
    context_.db->GetIntProperty(states_, rocksdb::DB::Properties::kEstimateNumKeys, &expected);
    if (context_.progress != nullptr) {
      context_.progress->pages_to_migrate = expected;
      context_.progress->stage = OpenStage::kMigrating;
    }
    std::vector<rocksdb::Iterator*> raw;
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    RETURN_IF_ERROR(
        FromRocksDb(context_.db->NewIterators(
                        read, {states_, context_.families[IndexOf(Family::kTexts)]}, &raw),
                    "reading pages"));
    const std::unique_ptr<rocksdb::Iterator> states(raw[0]);
    const std::unique_ptr<rocksdb::Iterator> texts(raw[1]);
    texts->SeekToFirst();
    for (states->SeekToFirst(); states->Valid(); states->Next()) {
      while (texts->Valid() && texts->key().compare(states->key()) < 0) texts->Next();
      const bool there = texts->Valid() && texts->key() == states->key();
      Rewrite(states->key().ToString(), states->value().ToStringView(),
              there ? texts->value().ToStringView() : std::string_view());
      if (++pages_ % kPagesPerBatch == 0) RETURN_IF_ERROR(WriteBatch());
    }
    for (const auto& it : raw) RETURN_IF_ERROR(FromRocksDb(it->status(), "reading pages"));
    RETURN_IF_ERROR(WriteBatch());
    Say('I', fmt::format("made the fingerprints of {} pages anew, {} could not be read",
                         pages_ - unreadable_, unreadable_));
    return absl::OkStatus();
  }

 private:
  // A row that cannot be read stays as it is, to be found as damage by whoever needs it.
  void Rewrite(const std::string& key, std::string_view state, std::string_view text) {
    StateRow row;
    TextRow text_row;
    Status readable = DecodeState(key, state, &row);
    if (readable.ok()) readable = DecodeText(key, text, &text_row);
    if (!readable.ok()) {
      if (++unreadable_ > kMostSaid) return;
      Say('W', fmt::format("a fingerprint stays as it is: {}", std::string(readable.message())));
      return;
    }
    const uint64_t fingerprint = fingerprinter_.Of(text_row.key.crawl_id, text_row.key.url);
    if (fingerprint == row.fingerprint) return;
    EncodeState(key, row.host_serial, fingerprint, row.spec, row.state, &value_);
    const rocksdb::Status added = batch_.Put(states_, key, value_);
    CHECK(added.ok(), "{}", added.ToString());
  }

  Status WriteBatch() {
    if (batch_.Count() > 0) {
      RETURN_IF_ERROR(FromRocksDb(context_.db->Write(write_, &batch_), "writing fingerprints"));
      batch_.Clear();
    }
    if (context_.progress != nullptr) context_.progress->migrated_pages = pages_;
    return GoOn(context_.progress);
  }

  void Say(char level, std::string_view line) const {
    if (context_.log) context_.log(level, line);
  }

  const MigrationContext& context_;
  const Fingerprinter fingerprinter_;
  rocksdb::ColumnFamilyHandle* const states_;
  rocksdb::WriteOptions write_;
  rocksdb::WriteBatch batch_;
  std::string value_;
  uint64_t pages_ = 0;  // looked at
  uint64_t unreadable_ = 0;
};

Status MakeFingerprintsAnew(const MigrationContext& context) {
  ASSIGN_OR_RETURN(const FingerprintSecret secret, GiveSecret(context));
  return FingerprintRewriter(context, secret).Run();
}

}  // namespace

std::span<const Migration> Migrations() {
  static const std::vector<Migration> kSteps = {{.from = 1, .run = MakeFingerprintsAnew}};
  return kSteps;
}

Status Migrate(const MigrationContext& context, uint32_t from, uint32_t to,
               std::span<const Migration> steps) {
  CHECK(from <= to, "format {} to {}", from, to);
  for (uint32_t version = from; version < to; ++version) {
    const auto step = std::find_if(steps.begin(), steps.end(),
                                   [&](const Migration& s) { return s.from == version; });
    if (step == steps.end()) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "format {} cannot be migrated by this release", version);
    }
    if (context.log) {
      context.log('I', fmt::format("migrating from format {} to {}", version, version + 1));
    }
    RETURN_IF_ERROR(step->run(context));
    RETURN_IF_ERROR(WriteFormat(context.db, context.families, version + 1));
  }
  return absl::OkStatus();
}

}  // namespace freshet::storage
