// The crawl ids of a shard, and the news about them.
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
  // The crawl ids that have pages or something set: the first `most` after `after`, by name.
  [[nodiscard]] std::vector<CrawlStatus> Statuses(std::string_view after = {},
                                                  size_t most = SIZE_MAX) const;
  // Returns the status of one crawl id. nullopt = it has neither pages nor settings.
  [[nodiscard]] std::optional<CrawlStatus> StatusOf(std::string_view crawl_id) const;
  // The crawl ids that have a setting.
  [[nodiscard]] std::vector<CrawlStatus> WithTerms() const;

  // Whether the crawl id has pages or something set. One that has a class of its own and nothing
  // else is known to workers alone.
  [[nodiscard]] bool Has(CrawlIndex index) const;

  CrawlTable table;
  absl::flat_hash_set<std::string> told_empty;  // being deleted, and already reported as empty
  std::vector<std::string> emptied;             // still to be reported as empty
  std::vector<std::string> declassed;           // lost their class, but may still have pages in it
  uint32_t reclassing = UINT32_MAX;  // pages from here on still have to follow their class
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CRAWL_BOOK_H_
