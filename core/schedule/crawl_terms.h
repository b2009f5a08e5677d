// What is set for a crawl id as shards are told of it, its class, and what they count of it.
// Value types, thread-compatible.
#ifndef FRESHET_CORE_SCHEDULE_CRAWL_TERMS_H_
#define FRESHET_CORE_SCHEDULE_CRAWL_TERMS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/id_limits.h"
#include "core/base/units.h"
#include "core/model/crawl.h"

namespace freshet {

class Quota;

// Dense number of a crawl id in its shard's memory. Never stored.
using CrawlIndex = StrongId<struct CrawlIndexTag, uint16_t>;
// Crawl ids with a share or a maximum of the crawl rate have a class each, all others the class 0.
// The same on all shards; never stored.
using CrawlClass = uint8_t;
// A bit for each class.
using ClassSet = uint64_t;
inline constexpr ClassSet kAllClasses = ~ClassSet{0};
constexpr ClassSet SetOf(CrawlClass crawl_class) { return ClassSet{1} << crawl_class; }
static_assert(limits::kMaxCrawlClasses == 64);

// What an operator has set, as the shard is told of it.
struct CrawlTerms {
  CrawlRecord record;
  CrawlClass crawl_class = 0;
  std::shared_ptr<Quota> quota;  // null: any number of pages
  bool shadow = false;           // none of its pages is handed out
};

// Since the crawl id was first seen by this run, but for what there is now.
struct CrawlCounters {
  uint64_t pages = 0;  // now
  uint64_t hosts = 0;  // now, that have pages of it
  uint64_t out = 0;    // now, of these pages
  uint64_t assignments = 0;
  uint64_t forced = 0;   // of these, pages that were forced
  uint64_t crawls = 0;   // that succeeded
  uint64_t changes = 0;  // of them, that found a change
  uint64_t errors = 0;
  uint64_t gone = 0;           // results that found the page gone or moved
  uint64_t robots_denied = 0;  // that said that robots.txt forbids it
  CrawlCounters& operator+=(const CrawlCounters& other);
  bool operator==(const CrawlCounters&) const = default;
};

// What a shard knows of a crawl id.
struct CrawlStatus {
  std::string crawl_id;
  CrawlCounters counters;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CRAWL_TERMS_H_
