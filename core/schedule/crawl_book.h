// The crawl ids of a shard, and the crawl ids that it still has to report (CrawlNews in
// core/schedule/shard_state.h).
#ifndef FRESHET_CORE_SCHEDULE_CRAWL_BOOK_H_
#define FRESHET_CORE_SCHEDULE_CRAWL_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/schedule/crawl_table.h"
#include "core/schedule/crawl_terms.h"

namespace freshet {

// Owner thread only.
struct CrawlBook {
  // The first `most` crawl ids after `after`, by name, that have pages or settings.
  [[nodiscard]] std::vector<CrawlStatus> Statuses(std::string_view after = {},
                                                  size_t most = SIZE_MAX) const;
  // The status of one crawl id; nullopt = it has neither pages nor settings.
  [[nodiscard]] std::optional<CrawlStatus> StatusOf(std::string_view crawl_id) const;
  // The crawl ids that have terms (core/schedule/crawl_terms.h).
  [[nodiscard]] std::vector<CrawlStatus> WithTerms() const;

  // Returns true if the crawl id has pages or settings. Terms that set only a class do not count as
  // settings.
  [[nodiscard]] bool Has(CrawlIndex index) const;

  CrawlTable table;
  absl::flat_hash_set<std::string> told_empty;  // being deleted, and already reported as empty
  std::vector<std::string> emptied;             // still to be reported as empty
  std::vector<std::string> declassed;           // lost their class, but can still have pages in it
  uint32_t reclassing = UINT32_MAX;  // pages from this id on have not yet moved to their class
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CRAWL_BOOK_H_
