// Verification: every row is read and the column families are compared with each other.
#include "core/base/fingerprint.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "rocksdb/convenience.h"
#include "storage/internal/keys.h"
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
  using Handles = std::array<rocksdb::ColumnFamilyHandle*, storage::kFamilies>;

  Verifier(rocksdb::DB* db, const Handles& handles, const Fingerprinter& fingerprinter)
      : db_(db), handles_(handles), fingerprinter_(fingerprinter), snapshot_(db) {
    read_.snapshot = snapshot_.snapshot();
    read_.fill_cache = false;
    read_.verify_checksums = true;
  }

  VerifyReport Run() {
    CheckMeta();
    CheckSources();
    CheckHosts();
    CheckPages();
    CheckUrls();
    CheckLeases();
    return std::move(report_);
  }

 private:
  // A host within its slot, packed.
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
  // Hash of (page number, text of the page) as both texts and urls give it.
  static uint64_t LinkHash(PageNumber number, const PageKey& key, std::string_view host) {
    return HashOfTexts(storage::PageKeyOf(number),
                       storage::UrlKeyOf(SlotOf(number), key.crawl_id, host, key.url));
  }

  void CheckMeta() {
    const auto it = Rows(Family::kMeta);
    for (; it->Valid(); it->Next()) {
      const std::string_view key = it->key().ToStringView();
      const std::string_view value = it->value().ToStringView();
      uint64_t number = 0;
      Settings settings;
      EpochRecord epoch;
      if (key == storage::MetaKeyOf(MetaKey::kFormat) ||
          key == storage::MetaKeyOf(MetaKey::kGeneration) ||
          key == storage::MetaKeyOf(MetaKey::kLayout)) {
        Note(storage::DecodeNumber(key, value, &number));
      } else if (key == storage::MetaKeyOf(MetaKey::kSecret)) {
        FingerprintSecret secret;
        Note(storage::DecodeSecret(key, value, &secret));
      } else if (key == storage::MetaKeyOf(MetaKey::kSettings)) {
        Note(storage::DecodeSettings(key, value, &settings));
      } else if (storage::ParseMetaKey(MetaKey::kEpoch, key)) {
        Note(storage::DecodeEpoch(key, value, &epoch));
      } else if (const auto slot = storage::ParseMetaKey(MetaKey::kNextSerial, key)) {
        Note(storage::DecodeNumber(key, value, &number));
        if (*slot >= limits::kSlots) Problem(Family::kMeta, key, "of a slot that does not exist");
      } else {
        Problem(Family::kMeta, key, "key is unknown");
      }
    }
    NoteEnd(Family::kMeta, *it);
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

  // texts, states and details must hold the same numbers.
  void CheckPages() {
    const auto texts = Rows(Family::kTexts);
    const auto states = Rows(Family::kStates);
    const auto details = Rows(Family::kDetails);
    while (texts->Valid() || states->Valid() || details->Valid()) {
      std::string least;
      for (const auto* it : {&texts, &states, &details}) {
        if (!(*it)->Valid()) continue;
        const std::string key = (*it)->key().ToString();
        if (least.empty() || key < least) least = key;
      }
      const auto at = [&](const rocksdb::Iterator& it) { return it.Valid() && it.key() == least; };
      if (at(*texts) && at(*states) && at(*details)) {
        CheckPage(least, texts->value().ToStringView(), states->value().ToStringView(),
                  details->value().ToStringView());
      } else {
        Problem(Family::kTexts, least,
                fmt::format("page is incomplete: text {}, state {}, detail {}", at(*texts),
                            at(*states), at(*details)));
      }
      for (const auto* it : {&texts, &states, &details}) {
        if (at(**it)) (*it)->Next();
      }
    }
    NoteEnd(Family::kTexts, *texts);
    NoteEnd(Family::kStates, *states);
    NoteEnd(Family::kDetails, *details);
  }

  void CheckPage(std::string_view key, std::string_view text_value, std::string_view state_value,
                 std::string_view detail_value) {
    ++report_.pages;
    storage::TextRow text;
    storage::StateRow state;
    PageDetail detail;
    const Status text_status = storage::DecodeText(key, text_value, &text);
    const Status state_status = storage::DecodeState(key, state_value, &state);
    Note(text_status);
    Note(state_status);
    Note(storage::DecodeDetail(key, detail_value, &detail));
    const std::optional<PageNumber> number = storage::ParsePageKey(key);
    if (!number) return Problem(Family::kTexts, key, "key is malformed");
    if (!text_status.ok() || !state_status.ok()) return;
    const Slot slot = SlotOf(*number);
    if (slot != SlotOfHost(text.host)) Problem(Family::kTexts, key, "in the wrong slot");
    if (state.fingerprint != fingerprinter_.Of(text.key.crawl_id, text.key.url)) {
      Problem(Family::kStates, key, "fingerprint is of another page");
    }
    const auto host = hosts_.find(HostId(slot, state.host_serial));
    if (host == hosts_.end() || host->second != text.host) {
      Problem(Family::kStates, key, fmt::format("host {} is not {}", state.host_serial, text.host));
    }
    link_sum_ += LinkHash(*number, text.key, text.host);
    ++links_;
  }

  // urls must hold exactly the pages of texts. Sums of hashes tell whether they do; which rows
  // differ is looked up only if they do not.
  void CheckUrls() {
    uint64_t sum = 0;
    uint64_t rows = 0;
    ForEachUrl([&](std::string_view, PageNumber number, const storage::UrlKeyParts& parts) {
      const PageKey page{.crawl_id = std::string(parts.crawl_id), .url = std::string(parts.url)};
      sum += LinkHash(number, page, parts.host);
      ++rows;
    });
    if (sum == link_sum_ && rows == links_) return;
    Problem(fmt::format("urls name {} pages, texts {}; hashes differ", rows, links_));
    NameWrongUrls();
    NamePagesWithoutUrl();
  }

  void NameWrongUrls() {
    ForEachUrl([&](std::string_view key, PageNumber number, const storage::UrlKeyParts& parts) {
      std::string value;
      storage::TextRow text;
      const std::string page_key = storage::PageKeyOf(number);
      if (!db_->Get(read_, handle(Family::kTexts), page_key, &value).ok()) {
        Problem(Family::kUrls, key, fmt::format("page {:#x} has no text", number.value()));
      } else if (storage::DecodeText(page_key, value, &text).ok() &&
                 (text.key.url != parts.url || text.key.crawl_id != parts.crawl_id)) {
        Problem(Family::kUrls, key, fmt::format("page {:#x} is another", number.value()));
      }
    });
  }

  void NamePagesWithoutUrl() {
    const auto it = Rows(Family::kTexts);
    for (; it->Valid(); it->Next()) {
      const std::string_view key = it->key().ToStringView();
      const std::optional<PageNumber> number = storage::ParsePageKey(key);
      storage::TextRow text;
      // What cannot be read was named before.
      if (!number || !storage::DecodeText(key, it->value().ToStringView(), &text).ok()) continue;
      const std::string url_key =
          storage::UrlKeyOf(SlotOf(*number), text.key.crawl_id, text.host, text.key.url);
      std::string value;
      if (db_->Get(read_, handle(Family::kUrls), url_key, &value).IsNotFound()) {
        Problem(Family::kTexts, key, fmt::format("{} is not in urls", text.key.url));
      }
    }
  }

  template <typename Visit>
  void ForEachUrl(Visit visit) {
    const auto it = Rows(Family::kUrls);
    for (; it->Valid(); it->Next()) {
      const std::string_view key = it->key().ToStringView();
      const std::optional<storage::UrlKeyParts> parts = storage::ParseUrlKey(key);
      uint64_t serial = 0;
      const Status status = storage::DecodeUrl(key, it->value().ToStringView(), &serial);
      if (!parts || !status.ok()) {
        parts ? Note(status) : Problem(Family::kUrls, key, "key is malformed");
        continue;
      }
      visit(key, MakePageNumber(parts->slot, serial), *parts);
    }
    NoteEnd(Family::kUrls, *it);
  }

  void CheckLeases() {
    const auto it = Rows(Family::kLeases);
    for (; it->Valid(); it->Next()) {
      const std::string_view key = it->key().ToStringView();
      LeaseRecord lease;
      const Status status = storage::DecodeLease(key, it->value().ToStringView(), &lease);
      Note(status);
      // Of one that is over the page may be gone.
      if (!status.ok() || lease.over) continue;
      ++report_.leases;
      std::string value;
      const rocksdb::Status page =
          db_->Get(read_, handle(Family::kStates), storage::PageKeyOf(lease.page), &value);
      if (!page.ok()) {
        Problem(Family::kLeases, key,
                fmt::format("page {:#x}: {}", lease.page.value(), page.ToString()));
      }
    }
    NoteEnd(Family::kLeases, *it);
  }

  rocksdb::DB* const db_;
  const Handles handles_;
  const Fingerprinter& fingerprinter_;
  rocksdb::ManagedSnapshot snapshot_;
  rocksdb::ReadOptions read_;
  VerifyReport report_;
  absl::flat_hash_map<uint64_t, std::string> hosts_;
  uint64_t link_sum_ = 0;
  uint64_t links_ = 0;
};

}  // namespace

StatusOr<VerifyReport> Store::Impl::Verify() const {
  VerifyReport report = Verifier(db_.get(), handles_, fingerprinter_).Run();
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  for (const rocksdb::Status& status :
       {db_->VerifyChecksum(read), db_->VerifyFileChecksums(read)}) {
    if (status.ok()) continue;
    ++report.problem_count;
    report.problems.emplace_back(FromRocksDb(status, "table files").message());
  }
  return report;
}

}  // namespace freshet
