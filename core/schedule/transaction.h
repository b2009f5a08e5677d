// The working set of one batch of events: the records that the events need, changed copies of
// touched ones, and in the end the list of changes for the store. Nothing in it is visible to a
// pick or a reader before ShardState::Install. The transaction holds all changes: a dropped one
// leaves no trace.
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

// Owner thread only. Life: Load what the events need; ShardState::Step each event; Finish and
// commit the changes; ShardState::Install; Reset for the next batch.
class Transaction {
 public:
  // A page in the working set, and its changes.
  struct Page {
    PageRecord record;
    bool created = false;
    bool removed = false;
    bool changed = false;
    bool reindex = false;  // its place in the index must be computed again
    bool fetched = false;  // a crawl of the page succeeded
    bool seen = false;     // a crawl succeeded or found the page gone
    Instant signalled;     // when a signal of the page was first applied; none = not
    Instant unestimated;   // signals at this instant wait for an estimate; none = no signals do
    CrawlCounters counts;  // to be added to the counters of its crawl id
    // The posterior before the signals that wait for an estimate; nullptr = not known.
    std::unique_ptr<PagePosterior> judge;

    // Takes the estimate that signals wait for, if any do.
    void TakeDueEstimate(const Estimator& estimator, const Lessons& lessons);
  };
  struct Lease {
    LeaseRecord record;
    bool closed = false;
    bool reported = false;    // whether a result came under this lease
    bool answered = false;    // closed by a result, under the lease or by URL
    bool forgotten = false;   // closed, and not to be remembered
    bool expired = false;     // closed by its deadline
    bool given_up = false;    // expired, and its page waits for its normal turn
    bool never_left = false;  // closed, as in ReturnLease
    Instant host_left;
    // The page was removed during the fetch.
    [[nodiscard]] bool orphan() const { return !record.host.empty(); }
  };

  // Takes a record as the store holds it, or a `mended` one, which will be written. Loading the
  // same page twice keeps the first copy. If two pages have one key, as only in a damaged store,
  // the key finds the one loaded first.
  void Load(PageRecord record, bool mended = false);

  // The page as the events before left it; nullptr = neither loaded nor created, or removed.
  [[nodiscard]] Page* Find(const PageKey& key);
  [[nodiscard]] Page* Find(PageNumber number);
  // Whether the page was loaded or created, even if removed since.
  [[nodiscard]] bool Has(PageNumber number) const { return by_number_.contains(number); }
  // Adds a page that the store does not have. Precondition: Find(record.key) == nullptr.
  Page* Create(PageRecord record);
  // The number of created pages.
  [[nodiscard]] size_t created() const { return created_; }
  // New crawl ids of created pages, each with the client that it counts for; and the number of such
  // crawl ids by client.
  absl::flat_hash_map<std::string, uint64_t> new_crawls;
  absl::flat_hash_map<uint64_t, uint64_t> new_crawls_of_client;

  [[nodiscard]] Lease* FindLease(LeaseId id);
  // The last staged lease of a page, open or closed; 0 = none.
  [[nodiscard]] LeaseId LeaseOf(PageNumber page) const;
  // Adds or replaces the staged copy.
  Lease* PutLease(LeaseRecord record);
  [[nodiscard]] HostRecord* FindHost(const std::string& host);
  HostRecord* PutHost(HostRecord record);
  // Removes a host, unless a later page or record names it. Precondition: neither FindHost nor
  // CreatedPagesOf has the host.
  void ForgetHost(const std::string& host) { forgotten_hosts_.insert(host); }
  // The number of pages of the host that the batch has added, removed ones included.
  [[nodiscard]] uint64_t CreatedPagesOf(const std::string& host);
  [[nodiscard]] const absl::flat_hash_set<std::string>& forgotten_hosts() const {
    return forgotten_hosts_;
  }

  // Ends a staged lease.
  void Close(Lease& lease, bool reported);
  // The number of staged leases that are closed and will be remembered.
  [[nodiscard]] size_t newly_remembered() const { return newly_remembered_; }

  // Has the page, whose signals came at `at`, estimated once for all signals until the next step
  // of another kind.
  void EstimateLater(Page& page, Instant at);
  // Takes the estimates that signals wait for.
  void TakeDueEstimates(const Estimator& estimator);

  // Takes the estimates that signals wait for, and returns the changes to write. Their pointers
  // stay valid until Reset. Call it once, after the last Step.
  [[nodiscard]] Changes Finish(const Estimator& estimator);
  void Reset();

  [[nodiscard]] std::deque<Page>& pages() { return pages_; }
  [[nodiscard]] const std::deque<Page>& pages() const { return pages_; }
  [[nodiscard]] std::deque<Lease>& leases() { return leases_; }
  [[nodiscard]] std::deque<HostRecord>& hosts() { return hosts_; }

  Instant now;  // the instant of the latest step; none = no step yet
  std::vector<SourceRecord> sources;
  // Settings of crawl ids, set or cleared, in order.
  std::vector<std::variant<SetCrawl, ForgetCrawl>> crawls;
  TakenPlaces places;  // places for pages and hosts that this batch creates
  std::optional<Settings> settings;
  std::optional<EpochRecord> epoch;
  // Remembered ended leases of which this batch took a result.
  std::vector<LeaseRecord> late_leases;
  // Remembered leases, the oldest first, that make room for the leases that this batch closes.
  std::vector<LeaseId> forgotten_leases;
  Lessons lessons;
  EventCounts counts;
  uint32_t new_leases = 0;                           // lease ids given out
  absl::flat_hash_map<Slot, uint64_t> next_serials;  // serial of the next page, if it has moved on
  std::vector<std::string> rested_hosts;             // checked again for being forgotten

 private:
  // Hashes pages by their keys, which are not copied.
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

  // Deques: addresses stay put while the batch grows.
  std::deque<Page> pages_;
  std::deque<Lease> leases_;
  std::deque<HostRecord> hosts_;
  std::vector<Page*> unestimated_;  // pages that wait for an estimate, and maybe others
  size_t newly_remembered_ = 0;
  size_t created_ = 0;
  size_t keyed_ = 0;    // pages in by_key_
  size_t scanned_ = 0;  // pages that created_of_ has gone through
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
