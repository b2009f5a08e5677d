#include "core/model/crawl_cap.h"

#include <algorithm>

#include "core/base/check.h"

namespace freshet {
namespace {

// The span of a cap is divided into this many parts. Assignments in the same part are counted
// together.
constexpr int64_t kParts = 16;
static_assert(kMostCounts > kParts + 1);

int64_t PartOf(const CrawlCap& cap, Instant at) {
  return at.micros() / std::max<int64_t>(1, cap.per.micros() / kParts);
}

uint32_t Sum(uint32_t a, uint32_t b) { return a > UINT32_MAX - b ? UINT32_MAX : a + b; }

}  // namespace

void CountCrawl(const CrawlCap& cap, Instant at, RecentCrawls* recent) {
  CHECK(cap.count > 0 && cap.per > Duration(), "no cap to count for");
  if (!recent->empty()) at = std::max(at, recent->back().last);
  std::erase_if(*recent,
                [&](const CountedCrawls& counted) { return counted.last + cap.per <= at; });
  if (!recent->empty() && PartOf(cap, recent->back().last) == PartOf(cap, at)) {
    recent->back() = {.last = at, .count = Sum(recent->back().count, 1)};
    return;
  }
  recent->push_back({.last = at, .count = 1});
  // If the cap had a shorter span until now, there can be too many entries.
  while (recent->size() > kMostCounts) {
    (*recent)[1].count = Sum((*recent)[0].count, (*recent)[1].count);
    recent->erase(recent->begin());
  }
}

void UncountCrawl(Instant at, RecentCrawls* recent) {
  const auto its = std::find_if(recent->begin(), recent->end(),
                                [at](const CountedCrawls& counted) { return counted.last >= at; });
  if (its != recent->end() && --its->count == 0) recent->erase(its);
}

Instant CapAllows(const CrawlCap& cap, const RecentCrawls& recent, uint32_t pending,
                  Instant pending_at) {
  if (cap.count == 0) return {};
  uint64_t counted = pending;
  for (const CountedCrawls& some : recent) counted += some.count;
  Instant allowed;
  for (const CountedCrawls& some : recent) {
    if (counted < cap.count) return allowed;
    counted -= some.count;
    allowed = some.last + cap.per;
  }
  return counted < cap.count ? allowed : std::max(allowed, pending_at + cap.per);
}

uint64_t CountsAt(const CrawlCap& cap, const RecentCrawls& recent, Instant now) {
  uint64_t sum = 0;
  for (const CountedCrawls& some : recent) sum += some.last + cap.per > now ? some.count : 0;
  return sum;
}

}  // namespace freshet
