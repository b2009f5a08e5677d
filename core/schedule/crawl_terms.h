// The settings of a crawl id in the form that shards use, its class, and its counters. Value types,
// thread-compatible.
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
// The class of a crawl id. A crawl id with a share or a maximum of the crawl rate, or with
// dedicated workers, has a class to itself. All others have class 0. Equal on all shards, never
// stored.
using CrawlClass = uint8_t;
// A set of classes, with one bit for each class.
using ClassSet = uint64_t;
inline constexpr ClassSet kAllClasses = ~ClassSet{0};
constexpr ClassSet SetOf(CrawlClass crawl_class) { return ClassSet{1} << crawl_class; }
static_assert(limits::kMaxCrawlClasses == 64);

// The settings that an operator made for a crawl id, in the form that shards use.
struct CrawlTerms {
  CrawlRecord record;
  CrawlClass crawl_class = 0;
  std::shared_ptr<Quota> quota;  // nullptr = any number of pages
  bool shadow = false;           // the server hands out none of its pages
};

// Counters since this process first saw the crawl id. Fields marked "now" are present numbers
// instead.
struct CrawlCounters {
  uint64_t pages = 0;  // now
  uint64_t hosts = 0;  // now: hosts that have pages of it
  uint64_t out = 0;    // now: pages that are leased or picked
  uint64_t assignments = 0;
  uint64_t forced = 0;   // assignments of forced pages
  uint64_t crawls = 0;   // successful crawls
  uint64_t changes = 0;  // crawls that found a change
  uint64_t errors = 0;
  uint64_t gone = 0;           // results that say that the page is gone or has moved
  uint64_t robots_denied = 0;  // results that say that robots.txt forbids the page
  CrawlCounters& operator+=(const CrawlCounters& other);
  bool operator==(const CrawlCounters&) const = default;
};

// A crawl id as a shard reports it.
struct CrawlStatus {
  std::string crawl_id;
  CrawlCounters counters;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CRAWL_TERMS_H_
