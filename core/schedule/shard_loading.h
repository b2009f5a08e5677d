// Loads stored records into the books of a shard at the start.
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

// Order of calls: Learning::LoadEpoch and LoadCrawl; then every record of the shard's slots once,
// hosts before their pages and pages before their leases; then FinishLoad. A standby loads no
// leases at first. It then calls Follow any number of times, loads all leases and calls
// FinishLeases.
//
// This is a handle that can be copied. The shard must outlive it. Owner thread only, except where a
// comment says otherwise.
class ShardLoading {
 public:
  explicit ShardLoading(Books& books) : books_(&books) {}

  // Loads the terms of a crawl id. Not OK: ResourceExhausted beyond limits::kMaxCrawls, also in
  // InternCrawl.
  [[nodiscard]] Status LoadCrawl(const CrawlTerms& terms);
  // Returns the index of a crawl id, for PageToLoad. Load a page of this crawl id before pages of
  // other crawl ids. Otherwise the index can become invalid.
  [[nodiscard]] StatusOr<CrawlIndex> InternCrawl(std::string_view crawl_id);
  HostId LoadHost(const HostRecord& host);
  // Does most of the work of loading a page. Several threads can call it at the same time, also
  // while another thread loads hosts, pages and leases.
  [[nodiscard]] PageToLoad PrepareLoad(PageNumber number, uint64_t fingerprint, HostId host,
                                       const PageSpec& spec, const PageState& state) const;
  // Loads pages into the shard. The shard will pick for no instant before `now`; none = not known.
  // ShardState::TakeDueTimers later hands out the pages whose times were ahead of the clock, to be
  // written. Not OK: Internal if two pages have the same number; ResourceExhausted if there are
  // more than max_pages.
  [[nodiscard]] Status LoadPages(std::span<const PageToLoad> batch, Instant now = {});
  // Records that the page was assigned at `at`. No-op if the page is unknown.
  void LoadAssignment(PageNumber page, Instant at);
  // Loads an open or ended lease.
  void LoadLease(const LeaseRecord& lease);
  // Sets the next serial of `slot`: no page there ever had this serial or a larger one.
  void LoadNextSerial(Slot slot, uint64_t next_serial);
  // FinishLoad returns at most this many pages.
  static constexpr size_t kMostShared = 1000;
  // Call it when all records are loaded. Returns pages whose fingerprint another page has too.
  std::vector<PageNumber> FinishLoad();
  // Applies later commits of the shard that owns these records. Changes that are already known have
  // no effect. `now` is as in LoadPages. Not OK: ResourceExhausted or Internal if the changes do
  // not fit the loaded records; the shard is then unusable.
  [[nodiscard]] Status Follow(const FollowedChanges& changes, Instant now);
  // A standby calls FinishLeases when it has loaded its leases.
  void FinishLeases();

 private:
  Books* books_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_LOADING_H_
