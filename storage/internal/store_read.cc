// Point reads, listing and scanning.
#include <algorithm>

#include "core/base/check.h"
#include "core/base/url.h"
#include "rocksdb/perf_level.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/sealing.h"
#include "storage/internal/store_impl.h"

namespace freshet {

using storage::Family;
using storage::FromRocksDb;

namespace {

// Keys that one List call looks at: bounds the time of a query that fits few pages.
constexpr size_t kMaxKeysPerList = 100'000;

Status MissingPage(PageNumber number) { return NotFound("page {:#x}", number.value()); }

// The three rows of a page as a record.
StatusOr<PageRecord> Assemble(PageNumber number, std::string_view key, std::string_view text,
                              std::string_view state, std::string_view detail,
                              const Fingerprinter& fingerprinter) {
  PageRecord page;
  storage::TextRow text_row;
  storage::StateRow state_row;
  RETURN_IF_ERROR(storage::DecodeText(key, text, &text_row));
  RETURN_IF_ERROR(storage::DecodeState(key, state, &state_row));
  RETURN_IF_ERROR(storage::DecodeDetail(key, detail, &page.detail));
  if (fingerprinter.Of(text_row.key.crawl_id, text_row.key.url) != state_row.fingerprint) {
    return storage::BadRow(Family::kStates, key, "fingerprint is of another page");
  }
  page.key = std::move(text_row.key);
  page.host = std::move(text_row.host);
  page.number = number;
  page.spec = state_row.spec;
  page.state = state_row.state;
  return page;
}

// One page's answers out of a batched read.
StatusOr<PageRecord> AssembleRead(PageNumber number, std::string_view key,
                                  const rocksdb::PinnableSlice* values,
                                  const rocksdb::Status* statuses,
                                  const Fingerprinter& fingerprinter) {
  int missing = 0;
  for (int i = 0; i < 3; ++i) {
    if (statuses[i].IsNotFound()) {
      ++missing;
    } else if (!statuses[i].ok()) {
      return FromRocksDb(statuses[i], "reading a page");
    }
  }
  if (missing == 3) return MissingPage(number);
  if (missing > 0) return storage::BadRow(Family::kTexts, key, "rows of the page are missing");
  return Assemble(number, key, values[0].ToStringView(), values[1].ToStringView(),
                  values[2].ToStringView(), fingerprinter);
}

// Whether a page of this crawl id, host and URL fits.
bool Fits(const ListQuery& query, const storage::UrlKeyParts& parts) {
  if (query.crawl_id && *query.crawl_id != parts.crawl_id) return false;
  if (!query.host.empty() && query.host != parts.host) return false;
  return parts.url.starts_with(query.url_prefix);
}

// The keys of `slot` that may fit.
struct KeyRange {
  std::string begin;
  std::string end;
};
KeyRange RangeInSlot(const ListQuery& query, Slot slot) {
  std::string prefix = storage::SlotPrefix(slot);
  if (query.crawl_id) {
    prefix = query.host.empty()
                 ? storage::CrawlIdPrefix(slot, *query.crawl_id)
                 : storage::UrlPrefix(slot, *query.crawl_id, query.host, query.url_prefix);
  }
  return {.begin = prefix, .end = storage::AfterPrefix(prefix)};
}

}  // namespace

std::vector<StatusOr<PageRecord>> Store::Impl::ReadPages(
    std::span<const PageNumber> numbers) const {
  constexpr size_t kRows = 3;
  const std::array<rocksdb::ColumnFamilyHandle*, kRows> families = {
      handle(Family::kTexts), handle(Family::kStates), handle(Family::kDetails)};
  std::vector<std::string> keys;
  keys.reserve(numbers.size());
  std::vector<rocksdb::Slice> slices;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  for (const PageNumber number : numbers) {
    keys.push_back(storage::PageKeyOf(number));
    for (rocksdb::ColumnFamilyHandle* family : families) {
      slices.emplace_back(keys.back());
      handles.push_back(family);
    }
  }
  std::vector<rocksdb::PinnableSlice> values(slices.size());
  std::vector<rocksdb::Status> statuses(slices.size());
  if (!slices.empty()) {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
    db_->MultiGet(rocksdb::ReadOptions(), slices.size(), handles.data(), slices.data(),
                  values.data(), statuses.data());
  }
  std::vector<StatusOr<PageRecord>> pages;
  pages.reserve(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    pages.push_back(AssembleRead(numbers[i], keys[i], &values[i * kRows], &statuses[i * kRows],
                                 fingerprinter_));
  }
  return pages;
}

std::vector<StatusOr<PageNumber>> Store::Impl::FindPages(
    std::span<const PageAddress> addresses) const {
  std::vector<std::string> keys;
  keys.reserve(addresses.size());
  for (const PageAddress& address : addresses) {
    keys.push_back(storage::UrlKeyOf(SlotOfHost(address.host), address.key.crawl_id, address.host,
                                     address.key.url));
  }
  const std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
  std::vector<rocksdb::PinnableSlice> values(keys.size());
  std::vector<rocksdb::Status> statuses(keys.size());
  if (!keys.empty()) {
    db_->MultiGet(rocksdb::ReadOptions(), handle(Family::kUrls), keys.size(), slices.data(),
                  values.data(), statuses.data());
  }
  std::vector<StatusOr<PageNumber>> numbers;
  for (size_t i = 0; i < keys.size(); ++i) {
    uint64_t serial = 0;
    Status status = FromRocksDb(statuses[i], "finding a page");
    if (status.ok()) status = storage::DecodeUrl(keys[i], values[i].ToStringView(), &serial);
    if (status.ok()) {
      numbers.emplace_back(MakePageNumber(SlotOfHost(addresses[i].host), serial));
    } else {
      numbers.emplace_back(std::move(status));
    }
  }
  return numbers;
}

StatusOr<ListResult> Store::Impl::List(const ListQuery& query, std::string_view token,
                                       size_t limit) const {
  CHECK(limit >= 1);
  uint16_t slot = query.host.empty() ? uint16_t{0} : SlotOfHost(query.host).value();
  const uint16_t last_slot = query.host.empty() ? static_cast<uint16_t>(limits::kSlots - 1) : slot;
  if (!token.empty()) {
    const std::optional<storage::UrlKeyParts> parts = storage::ParseUrlKey(token);
    if (!parts || parts->slot.value() < slot || parts->slot.value() > last_slot) {
      return InvalidArgument("page_token: not one that a list has given");
    }
    slot = parts->slot.value();
  }
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(read, handle(Family::kUrls)));
  ListResult result;
  size_t seen = 0;
  for (; slot <= last_slot; ++slot) {
    const KeyRange range = RangeInSlot(query, Slot(slot));
    // Just after the token, which was the last key looked at.
    const std::string after = std::string(token) + '\0';
    for (it->Seek(token.empty() ? range.begin : std::max(range.begin, after));
         it->Valid() && it->key().compare(range.end) < 0; it->Next()) {
      const std::string_view key = it->key().ToStringView();
      const std::optional<storage::UrlKeyParts> parts = storage::ParseUrlKey(key);
      if (!parts) return storage::BadRow(Family::kUrls, key, "key is malformed");
      if (Fits(query, *parts)) {
        uint64_t serial = 0;
        RETURN_IF_ERROR(storage::DecodeUrl(key, it->value().ToStringView(), &serial));
        result.pages.push_back(
            {.number = MakePageNumber(parts->slot, serial),
             .key = {.crawl_id = std::string(parts->crawl_id), .url = std::string(parts->url)},
             .host = std::string(parts->host)});
      }
      if (result.pages.size() == limit || ++seen == kMaxKeysPerList) {
        result.next_token = key;
        return result;
      }
    }
    RETURN_IF_ERROR(FromRocksDb(it->status(), "listing pages"));
  }
  return result;
}

StatusOr<ScanResult> Store::Impl::ScanPages(PageNumber from, PageNumber end, size_t count) const {
  CHECK(count >= 1);
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  std::vector<rocksdb::Iterator*> raw;
  RETURN_IF_ERROR(FromRocksDb(
      db_->NewIterators(
          read, {handle(Family::kTexts), handle(Family::kStates), handle(Family::kDetails)}, &raw),
      "scanning pages"));
  CHECK(raw.size() == 3, "{} iterators", raw.size());
  const std::unique_ptr<rocksdb::Iterator> texts(raw[0]);
  const std::unique_ptr<rocksdb::Iterator> states(raw[1]);
  const std::unique_ptr<rocksdb::Iterator> details(raw[2]);
  const std::string first = storage::PageKeyOf(from);
  for (const auto& it : raw) it->Seek(first);
  ScanResult result;
  for (; states->Valid(); texts->Next(), states->Next(), details->Next()) {
    const std::string_view key = states->key().ToStringView();
    const std::optional<PageNumber> number = storage::ParsePageKey(key);
    if (!number) return storage::BadRow(Family::kStates, key, "key is malformed");
    if (*number >= end) break;
    result.next = *number;
    if (result.pages.size() == count) return result;
    if (!texts->Valid() || !details->Valid() || texts->key() != states->key() ||
        details->key() != states->key()) {
      for (const auto& it : raw) RETURN_IF_ERROR(FromRocksDb(it->status(), "scanning pages"));
      return storage::BadRow(Family::kTexts, key, "rows of the page are missing");
    }
    ASSIGN_OR_RETURN(PageRecord page, Assemble(*number, key, texts->value().ToStringView(),
                                               states->value().ToStringView(),
                                               details->value().ToStringView(), fingerprinter_));
    result.pages.push_back(std::move(page));
  }
  for (const auto& it : raw) RETURN_IF_ERROR(FromRocksDb(it->status(), "scanning pages"));
  result.done = true;
  return result;
}

}  // namespace freshet
