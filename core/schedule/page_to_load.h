// A page that is being loaded from the store into a shard.
#ifndef FRESHET_CORE_SCHEDULE_PAGE_TO_LOAD_H_
#define FRESHET_CORE_SCHEDULE_PAGE_TO_LOAD_H_

#include <array>
#include <cstdint>

#include "core/base/units.h"
#include "core/index/index_entry.h"
#include "core/model/page.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/freshness_sample.h"

namespace freshet {

// A stored page, prepared as far as possible without changing the shard. Value type,
// thread-compatible.
struct PageToLoad {
  PageNumber number;
  uint64_t fingerprint = 0;
  IndexEntry entry;
  Instant last_crawl;  // the page interval counts from here; none = no wait
  Instant edge;        // infinite = its rates do not change with age
  std::array<BurstSignal, 2> bursts;
  FreshnessSample::Page believed;
  CrawlIndex crawl;    // set by the caller of PrepareLoad; default = the first crawl id
  bool ahead = false;  // set by the caller if it capped the state (core/schedule/clock_ahead.h)
  bool gone = false;
  bool never = false;  // never worth a crawl
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PAGE_TO_LOAD_H_
