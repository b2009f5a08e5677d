// Point reads, listing and scanning.
#include <algorithm>

#include "core/base/check.h"
#include "core/base/url.h"
#include "rocksdb/perf_level.h"
#include "storage/internal/cursor.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/sealing.h"
#include "storage/internal/store_impl.h"
#include "storage/pages_read.h"

namespace freshet {

using storage::Cursor;
using storage::Family;
using storage::FromRocksDb;

namespace {

// Pages that one List call looks at: bounds the time of a query that fits few pages.
constexpr size_t kMaxSeenPerList = 8192;

Status MissingPage(PageNumber number) { return NotFound("page {:#x}", number.value()); }

StatusOr<PageRecord> PageOfRow(PageNumber number, std::string_view row) {
  PageRecord page;
  RETURN_IF_ERROR(storage::DecodePage(storage::PageKeyOf(number), row, &page));
  return page;
}

// What the reads of a list or a scan have in common: rows that few others want.
rocksdb::ReadOptions PassingRead() {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  return read;
}

bool Fits(const ListQuery& query, const PageRecord& page) {
  if (query.crawl_id && *query.crawl_id != page.key.crawl_id) return false;
  if (!query.host.empty() && query.host != page.host) return false;
  return page.key.url.starts_with(query.url_prefix);
}

}  // namespace

std::vector<StatusOr<PageRecord>> Store::Impl::ReadPages(std::span<const PageNumber> numbers,
                                                         ReadFor what) const {
  std::vector<StatusOr<PageRecord>> pages;
  pages.reserve(numbers.size());
  std::vector<size_t> missed;
  std::string row;
  for (const PageNumber number : numbers) {
    if (page_cache_->Get(number, &row)) {
      pages.push_back(PageOfRow(number, row));
    } else {
      missed.push_back(pages.size());
      pages.emplace_back(MissingPage(number));
    }
  }
  page_cache_hits_.fetch_add(pages.size() - missed.size(), std::memory_order_relaxed);
  page_cache_misses_.fetch_add(missed.size(), std::memory_order_relaxed);
  if (missed.empty()) return pages;
  std::vector<std::string> keys;
  keys.reserve(missed.size());
  for (const size_t i : missed) keys.push_back(storage::PageKeyOf(numbers[i]));
  const std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
  std::vector<rocksdb::PinnableSlice> values(keys.size());
  std::vector<rocksdb::Status> statuses(keys.size());
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  db_->MultiGet(rocksdb::ReadOptions(), handle(Family::kPages), keys.size(), slices.data(),
                values.data(), statuses.data(), std::is_sorted(keys.begin(), keys.end()));
  for (size_t i = 0; i < missed.size(); ++i) {
    const PageNumber number = numbers[missed[i]];
    if (statuses[i].IsNotFound()) continue;
    const Status status = FromRocksDb(statuses[i], "reading a page");
    pages[missed[i]] = status.ok() ? PageOfRow(number, values[i].ToStringView()) : status;
    if (what == ReadFor::kChanging && pages[missed[i]].ok()) {
      page_cache_->Keep(number, values[i].ToStringView(), storage::PageCache::Room::kMake);
    }
  }
  return pages;
}

StatusOr<ListResult> Store::Impl::List(const ListQuery& query, std::string_view token,
                                       size_t limit) const {
  CHECK(limit >= 1);
  PageNumber from;
  PageNumber end(UINT64_MAX);
  if (!query.host.empty()) {
    const uint32_t slot = SlotOfHost(query.host).value();
    from = FirstNumber(slot);
    end = FirstNumber(slot + 1);
  }
  if (!token.empty()) {
    // The page that was looked at last.
    const std::optional<PageNumber> last = storage::ParsePageKey(token);
    if (!last || *last < from || *last >= end) {
      return InvalidArgument("page_token: no list has issued it");
    }
    from = PageNumber(last->value() + 1);
  }
  Cursor cursor(db_.get(), handle(Family::kPages), storage::PageKeyOf(from),
                storage::PageKeyOf(end), PassingRead());
  ListResult result;
  PageRecord page;
  for (size_t seen = 0; cursor.valid(); cursor.Next()) {
    RETURN_IF_ERROR(storage::DecodePage(cursor.key(), cursor.value(), &page));
    if (Fits(query, page)) result.pages.push_back(std::move(page));
    if (result.pages.size() == limit || ++seen == kMaxSeenPerList) {
      result.next_token = cursor.key();
      return result;
    }
  }
  RETURN_IF_ERROR(FromRocksDb(cursor.status(), "reading pages"));
  return result;
}

StatusOr<ScanResult> Store::Impl::ScanPages(PageNumber from, PageNumber end, size_t count) const {
  CHECK(count >= 1);
  ScanResult result;
  Cursor cursor(db_.get(), handle(Family::kPages), storage::PageKeyOf(from),
                storage::PageKeyOf(end), PassingRead());
  for (; cursor.valid(); cursor.Next()) {
    if (result.pages.size() == count) {
      const std::optional<PageNumber> next = storage::ParsePageKey(cursor.key());
      if (!next) return storage::BadRow(Family::kPages, cursor.key(), "key is malformed");
      result.next = *next;
      return result;
    }
    RETURN_IF_ERROR(
        storage::DecodePage(cursor.key(), cursor.value(), &result.pages.emplace_back()));
  }
  RETURN_IF_ERROR(FromRocksDb(cursor.status(), "reading pages"));
  result.done = true;
  return result;
}

}  // namespace freshet
