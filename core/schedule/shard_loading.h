// The start of a shard: loads stored records into its books.
#ifndef FRESHET_CORE_SCHEDULE_SHARD_LOADING_H_
#define FRESHET_CORE_SCHEDULE_SHARD_LOADING_H_

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/page_number.h"
#include "core/schedule/crawl_terms.h"

namespace freshet {

struct Books;
struct FollowedChanges;
struct HostRecord;
struct LeaseRecord;
struct PageSpec;
struct PageState;
struct PageToLoad;

// Order of calls: Learning::LoadEpoch and LoadCrawl, then every record of the shard's slots once,
// hosts before their pages and pages before their leases, then FinishLoad. A standby loads no
// leases, and then calls Follow any number of times, loads all leases, and calls FinishLeases.
//
// A handle, to be copied; the shard outlives it. Owner thread only, except where a comment says
// otherwise.
class ShardLoading {
 public:
  explicit ShardLoading(Books& books) : books_(&books) {}

  // Loads the terms of a crawl id. ResourceExhausted beyond limits::kMaxCrawls, as in InternCrawl.
  [[nodiscard]] Status LoadCrawl(const CrawlTerms& terms);
  // The index of a crawl id, for PageToLoad. Load a page of this crawl id before those of any
  // other, or the index may become invalid.
  [[nodiscard]] StatusOr<CrawlIndex> InternCrawl(std::string_view crawl_id);
  HostId LoadHost(const HostRecord& host);
  // Does most of the work of loading a page. Several threads may call it at a time, and while
  // others load hosts, pages and leases.
  [[nodiscard]] PageToLoad PrepareLoad(PageNumber number, uint64_t fingerprint, HostId host,
                                       const PageSpec& spec, const PageState& state) const;
  // Loads pages into the shard. `now`: the shard picks for no earlier instant; none = not known.
  // Internal: two pages have the same number. ResourceExhausted: there are more than max_pages.
  // ShardState::TakeDueTimers writes the pages whose times ran ahead of the clock.
  [[nodiscard]] Status LoadPages(std::span<const PageToLoad> batch, Instant now = {});
  // Records that the page was assigned at `at`. No-op for an unknown page.
  void LoadAssignment(PageNumber page, Instant at);
  void LoadLease(const LeaseRecord& lease);
  // Says that no page of `slot` ever had a serial from `next_serial` on.
  void LoadNextSerial(Slot slot, uint64_t next_serial);
  // Sets the next serial of `slot`: no page there ever had this serial or a larger one.
  static constexpr size_t kMostShared = 1000;
  std::vector<PageNumber> FinishLoad();
  // Takes over later commits of another shard, which owns these records; a page, host or removal
  // that is known already changes nothing. `now` is as in LoadPages. ResourceExhausted and
  // Internal: the changes do not fit the loaded records, and the shard is unusable.
  [[nodiscard]] Status Follow(const FollowedChanges& changes, Instant now);
  void FinishLeases();

 private:
  Books* books_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_LOADING_H_
