#include <algorithm>

#include "core/base/check.h"
#include "core/base/url.h"
#include "rocksdb/perf_level.h"
#include "storage/internal/cursor.h"
#include "storage/internal/keys.h"
#include "storage/internal/page_reads.h"
#include "storage/internal/records.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/sealing.h"
#include "storage/pages_read.h"

namespace freshet::storage {
namespace {

// Maximum number of pages that one List call reads. This limits the time of a query that matches
// few pages.
constexpr size_t kMaxSeenPerList = 8192;
// Maximum number of rows of removed pages that one scan skips. Each costs about as much as reading
// a page.
constexpr uint64_t kMostPassed = 4096;

Status MissingPage(PageNumber number) { return NotFound("page {:#x}", number.value()); }

StatusOr<PageRecord> PageOfRow(PageNumber number, std::string_view row) {
  PageRecord page;
  RETURN_IF_ERROR(DecodePage(PageKeyOf(number), row, &page));
  return page;
}

// Read options of lists and scans, whose rows are rarely read again.
rocksdb::ReadOptions PassingRead() {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  return read;
}

// Where a read stopped early: the next page, or a number before it; 0 = it did not stop early.
StatusOr<PageNumber> PlaceOf(const Cursor& cursor) {
  RETURN_IF_ERROR(FromRocksDb(cursor.status(), "reading pages"));
  if (!cursor.left_off()) return PageNumber();
  const std::string place = cursor.place();
  const std::optional<PageNumber> page = ParsePageKey(place);
  if (!page) return BadRow(Family::kPages, place, "key is malformed");
  return *page;
}

bool Fits(const ListQuery& query, const PageRecord& page) {
  if (query.crawl_id && *query.crawl_id != page.key.crawl_id) return false;
  if (!query.host.empty() && query.host != page.host) return false;
  return page.key.url.starts_with(query.url_prefix);
}

}  // namespace

std::vector<StatusOr<PageRecord>> PageReads::Read(std::span<const PageNumber> numbers,
                                                  ReadFor what) const {
  std::vector<StatusOr<PageRecord>> pages;
  pages.reserve(numbers.size());
  std::vector<size_t> missed;
  std::string row;
  for (const PageNumber number : numbers) {
    if (cache_.Get(number, &row)) {
      pages.push_back(PageOfRow(number, row));
    } else {
      missed.push_back(pages.size());
      pages.emplace_back(MissingPage(number));
    }
  }
  hits_.fetch_add(pages.size() - missed.size(), std::memory_order_relaxed);
  misses_.fetch_add(missed.size(), std::memory_order_relaxed);
  if (missed.empty()) return pages;
  std::vector<std::string> keys;
  keys.reserve(missed.size());
  for (const size_t i : missed) keys.push_back(PageKeyOf(numbers[i]));
  const std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
  std::vector<rocksdb::PinnableSlice> values(keys.size());
  std::vector<rocksdb::Status> statuses(keys.size());
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  base_.db().MultiGet(rocksdb::ReadOptions(), base_.handle(Family::kPages), keys.size(),
                      slices.data(), values.data(), statuses.data(),
                      std::is_sorted(keys.begin(), keys.end()));
  for (size_t i = 0; i < missed.size(); ++i) {
    const PageNumber number = numbers[missed[i]];
    if (statuses[i].IsNotFound()) continue;
    const Status status = FromRocksDb(statuses[i], "reading a page");
    pages[missed[i]] = status.ok() ? PageOfRow(number, values[i].ToStringView()) : status;
    if (what == ReadFor::kChanging && pages[missed[i]].ok()) {
      cache_.Keep(number, values[i].ToStringView(), PageCache::Room::kMake);
    }
  }
  return pages;
}

StatusOr<ListResult> PageReads::List(const ListQuery& query, std::string_view token,
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
    // A token is the key of the last page read, or a position between two pages.
    const std::optional<PageNumber> last = ParsePagePosition(token);
    if (!last || *last < from || *last >= end) {
      return InvalidArgument("page_token: no list has issued it");
    }
    from = PageNumber(last->value() + 1);
  }
  Cursor cursor(&base_.db(), base_.handle(Family::kPages), PageKeyOf(from), PageKeyOf(end),
                PassingRead(), kMostPassed);
  ListResult result;
  PageRecord page;
  for (size_t seen = 0; cursor.valid(); cursor.Next()) {
    RETURN_IF_ERROR(DecodePage(cursor.key(), cursor.value(), &page));
    if (Fits(query, page)) result.pages.push_back(std::move(page));
    if (result.pages.size() == limit || ++seen == kMaxSeenPerList) {
      result.next_token = cursor.key();
      return result;
    }
  }
  ASSIGN_OR_RETURN(const PageNumber place, PlaceOf(cursor));
  // The token names the position before `place`, as if that had been the last page read.
  if (cursor.left_off()) result.next_token = PageKeyOf(PageNumber(place.value() - 1));
  return result;
}

StatusOr<ScanResult> PageReads::Scan(PageNumber from, PageNumber end, size_t count) const {
  CHECK(count >= 1);
  ScanResult result;
  Cursor cursor(&base_.db(), base_.handle(Family::kPages), PageKeyOf(from), PageKeyOf(end),
                PassingRead(), kMostPassed);
  for (; cursor.valid(); cursor.Next()) {
    if (result.pages.size() == count) {
      const std::optional<PageNumber> next = ParsePageKey(cursor.key());
      if (!next) return BadRow(Family::kPages, cursor.key(), "key is malformed");
      result.next = *next;
      return result;
    }
    RETURN_IF_ERROR(DecodePage(cursor.key(), cursor.value(), &result.pages.emplace_back()));
  }
  ASSIGN_OR_RETURN(result.next, PlaceOf(cursor));
  result.done = !cursor.left_off();
  return result;
}

void PageReads::AddTo(StoreStats* stats) const {
  stats->page_cache_bytes = cache_.bytes();
  stats->page_cache_hits = hits_.load(std::memory_order_relaxed);
  stats->page_cache_misses = misses_.load(std::memory_order_relaxed);
}

}  // namespace freshet::storage
