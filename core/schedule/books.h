// The state of a shard, in parts: the pages and the structures for picks (page_book.h), the hosts
// (host_book.h), the crawl ids (crawl_book.h), and what crawls and signals have taught
// (learning.h).
//
// A step (shard_steps.h) gets the books as const, so it cannot change them: it stages all changes
// in a transaction. All code that can change the books is behind ShardState:
//
//   shard_loading.h   stored records, at the start
//   shard_install.h   a committed transaction
//   shard_timers.h    due timers, and work in slices
//   shard_state.cc    picks, and defaults of politeness
//
// page_moves.h has functions that change a page in several books at once.
#ifndef FRESHET_CORE_SCHEDULE_BOOKS_H_
#define FRESHET_CORE_SCHEDULE_BOOKS_H_

#include <string_view>

#include "core/base/id_limits.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/schedule/crawl_book.h"
#include "core/schedule/host_book.h"
#include "core/schedule/learning.h"
#include "core/schedule/page_book.h"
#include "core/schedule/shard_counters.h"
#include "core/schedule/shard_options.h"

namespace freshet {

// The state of the pass over all pages that finds the pages to delete (shard_timers.h).
struct DeletionSweep {
  uint32_t next = UINT32_MAX;  // the next page to visit; UINT32_MAX = nothing is being deleted
  Instant at;                  // the next slice does not start before this instant
};

// Owner thread only.
struct Books {
  explicit Books(const ShardOptions& shard_options)
      : options(shard_options),
        learning(options),
        hosts(options),
        pages(options, hosts.gate, crawls.table) {}
  Books(const Books&) = delete;
  Books& operator=(const Books&) = delete;

  const ShardOptions options;  // has the policy as of the start; PolicySwitch has the present one
  Learning learning;
  HostBook hosts;
  CrawlBook crawls;
  PageBook pages;  // reads hosts and crawl ids
  DeletionSweep sweep;
  EventCounts counts;
};

// The error for a page that exceeds the maximum number of pages of the shard. `field`: the field of
// the refused request, followed by ": "; empty = none.
[[nodiscard]] inline Status TooManyPages(std::string_view field, const Books& books) {
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "{}a shard has at most {} pages: the server needs more shards", field,
                    books.options.max_pages);
}

[[nodiscard]] inline Status TooManyCrawls(std::string_view field) {
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "{}this server already has {} crawl ids, the maximum", field,
                    limits::kMaxCrawls);
}

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_BOOKS_H_
