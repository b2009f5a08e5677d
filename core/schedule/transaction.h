// The working set of one batch of events: the records that the events need, their changed copies
// and, at the end, the list of changes for the store. Picks and readers see none of it before
// ShardState::Install. The transaction holds all changes, so a dropped transaction changes nothing.
#ifndef FRESHET_CORE_SCHEDULE_TRANSACTION_H_
#define FRESHET_CORE_SCHEDULE_TRANSACTION_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "core/base/units.h"
#include "core/estimate/lessons.h"
#include "core/estimate/page_estimator.h"
#include "core/model/host.h"
#include "core/model/lease.h"
#include "core/model/page.h"
#include "core/model/page_key.h"
#include "core/model/source.h"
#include "core/schedule/changes.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/event.h"
#include "core/schedule/quota.h"
#include "core/schedule/shard_counters.h"

namespace freshet {

class Estimator;

// Owner thread only. Life cycle: Load the records that the events need; call ShardState::Step for
// each event; call Finish and commit the changes; call ShardState::Install; call Reset for the next
// batch.
class Transaction {
 public:
  // A page in the working set, with its changes.
  struct Page {
    PageRecord record;
    bool created = false;
    bool removed = false;
    bool changed = false;
    bool reindex = false;  // the page must be filed again in the index
    bool fetched = false;  // a crawl of the page succeeded
    bool seen = false;     // a crawl succeeded or found the page gone
    Instant signalled;     // when a signal of the page was first applied; none = never
    // The instant of the signals that wait for an estimate; none = no signals wait.
    Instant unestimated;
    CrawlCounters counts;  // to be added to the counters of the page's crawl id
    // The posterior before the signals that wait for an estimate; nullptr = not known.
    std::unique_ptr<PagePosterior> judge;

    // Makes the page's pending estimate, if there is one.
    void TakeDueEstimate(const Estimator& estimator, const Lessons& lessons);
  };
  // A lease in the working set, with its changes.
  struct Lease {
    LeaseRecord record;
    bool closed = false;
    bool reported = false;    // a result was taken under this lease
    bool answered = false;    // closed by a result, under the lease or by URL
    bool forgotten = false;   // closed, but not to be remembered
    bool expired = false;     // closed because of its deadline
    bool given_up = false;    // expired, and its page waits as long as after a successful crawl
    bool never_left = false;  // closed; see ReturnLease::never_left
    // See ReturnLease::host_left.
    Instant host_left;
    // The page was removed while it was leased.
    [[nodiscard]] bool orphan() const { return !record.host.empty(); }
  };

  // Adds a record as the store has it, or (if `mended` is true) a corrected record, which will be
  // written. If a page is loaded twice, the first copy is kept. If two pages have the same key,
  // which only happens in a damaged store, the key finds the page that was loaded first.
  void Load(PageRecord record, bool mended = false);

  // The page as earlier events left it; nullptr = removed, or neither loaded nor created.
  [[nodiscard]] Page* Find(const PageKey& key);
  [[nodiscard]] Page* Find(PageNumber number);
  // Returns true if the page was loaded or created, even if it was removed since.
  [[nodiscard]] bool Has(PageNumber number) const { return by_number_.contains(number); }
  // Adds a page that the store does not have. Precondition: Find(record.key) == nullptr.
  Page* Create(PageRecord record);
  // The number of created pages.
  [[nodiscard]] size_t created() const { return created_; }
  // `new_crawls`: the new crawl ids of created pages, each with the client whose share it counts
  // against. `new_crawls_of_client`: the number of these crawl ids by client.
  absl::flat_hash_map<std::string, uint64_t> new_crawls;
  absl::flat_hash_map<uint64_t, uint64_t> new_crawls_of_client;

  [[nodiscard]] Lease* FindLease(LeaseId id);
  // The last staged lease of the page, open or closed; 0 = none.
  [[nodiscard]] LeaseId LeaseOf(PageNumber page) const;
  // Adds or replaces the staged copy of a lease.
  Lease* PutLease(LeaseRecord record);
  // The staged host; nullptr = not staged.
  [[nodiscard]] HostRecord* FindHost(const std::string& host);
  // Adds or replaces the staged copy of a host.
  HostRecord* PutHost(HostRecord record);
  // Removes a host, unless a later page or record of the batch names it. Precondition: the host has
  // no staged record and no created page.
  void ForgetHost(const std::string& host) { forgotten_hosts_.insert(host); }
  // The number of pages that the batch has created on the host, including removed ones.
  [[nodiscard]] uint64_t CreatedPagesOf(const std::string& host);
  [[nodiscard]] const absl::flat_hash_set<std::string>& forgotten_hosts() const {
    return forgotten_hosts_;
  }

  // Ends a staged lease.
  void Close(Lease& lease, bool reported);
  // The number of staged leases that are closed and will be remembered.
  [[nodiscard]] size_t newly_remembered() const { return newly_remembered_; }

  // Postpones the estimate of a page that got a signal at `at`, so that consecutive signals of the
  // same instant share one estimate. The estimate is made at the latest before the next event that
  // is not a signal.
  void EstimateLater(Page& page, Instant at);
  // Makes all pending estimates.
  void TakeDueEstimates(const Estimator& estimator);

  // Makes all pending estimates, and returns the changes to write. Pointers in the changes stay
  // valid until Reset. Call it once, after the last Step.
  [[nodiscard]] Changes Finish(const Estimator& estimator);
  void Reset();

  [[nodiscard]] std::deque<Page>& pages() { return pages_; }
  [[nodiscard]] const std::deque<Page>& pages() const { return pages_; }
  [[nodiscard]] std::deque<Lease>& leases() { return leases_; }
  [[nodiscard]] std::deque<HostRecord>& hosts() { return hosts_; }

  Instant now;  // the instant of the latest step; none = no step yet
  std::vector<SourceRecord> sources;
  // Settings of crawl ids that were set or cleared, in order.
  std::vector<std::variant<SetCrawl, ForgetCrawl>> crawls;
  TakenPlaces places;  // places that were taken for the pages and hosts that this batch creates
  std::optional<Settings> settings;
  std::optional<EpochRecord> epoch;
  // Remembered ended leases for which this batch took a result.
  std::vector<LeaseRecord> late_leases;
  // Remembered leases to forget, oldest first, to make room for the leases that this batch closes.
  std::vector<LeaseId> forgotten_leases;
  Lessons lessons;
  EventCounts counts;
  uint32_t new_leases = 0;                           // number of lease ids that the batch issued
  absl::flat_hash_map<Slot, uint64_t> next_serials;  // serial of the next page, if it has changed
  std::vector<std::string> rested_hosts;  // hosts to check again after the batch is installed

 private:
  // Hashes pages by their keys without copying the keys.
  struct KeyHash {
    using is_transparent = void;
    size_t operator()(const PageKey& key) const { return absl::HashOf(key); }
    size_t operator()(const Page* page) const { return absl::HashOf(page->record.key); }
  };
  struct KeyEqual {
    using is_transparent = void;
    bool operator()(const Page* a, const Page* b) const { return a->record.key == b->record.key; }
    bool operator()(const Page* a, const PageKey& b) const { return a->record.key == b; }
    bool operator()(const PageKey& a, const Page* b) const { return a == b->record.key; }
  };

  // Deques, because their elements never move while the batch grows.
  std::deque<Page> pages_;
  std::deque<Lease> leases_;
  std::deque<HostRecord> hosts_;
  // Pages that wait for an estimate, and perhaps some whose estimate has been made since.
  std::vector<Page*> unestimated_;
  size_t newly_remembered_ = 0;
  size_t created_ = 0;
  size_t keyed_ = 0;    // number of pages that are in by_key_
  size_t scanned_ = 0;  // number of pages that created_of_ covers
  absl::flat_hash_map<std::string, uint64_t> created_of_;  // by host
  absl::flat_hash_set<std::string> forgotten_hosts_;
  absl::flat_hash_set<Page*, KeyHash, KeyEqual> by_key_;
  absl::flat_hash_map<PageNumber, Page*> by_number_;
  absl::flat_hash_map<LeaseId, Lease*> by_lease_;
  absl::flat_hash_map<PageNumber, LeaseId> lease_of_;
  absl::flat_hash_map<std::string, HostRecord*> by_host_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_TRANSACTION_H_
