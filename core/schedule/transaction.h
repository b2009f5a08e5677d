// The working set of one batch of events: the records that the events need, changed copies of those
// that they touch, and in the end the list of changes for the store. Nothing in it is visible to a
// pick or a reader before ShardState::Install. All that the events change is in it: dropped, it
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

// Owner thread only. Life: Load what the events need; ShardState::Step each event; Finish and
// commit the changes; ShardState::Install; Reset for the next batch.
class Transaction {
 public:
  // A page in the working set and what became of it.
  struct Page {
    PageRecord record;
    bool created = false;
    bool removed = false;
    bool changed = false;
    bool reindex = false;  // its place in the index must be computed anew
    bool fetched = false;  // a crawl of it succeeded
    bool seen = false;     // or found that it is gone
    Instant signalled;     // when a signal of it was applied first; none: none was
    CrawlCounters counts;  // to be added to those of its crawl id
  };
  struct Lease {
    LeaseRecord record;
    bool closed = false;
    bool reported = false;    // by a result under it
    bool answered = false;    // closed by a result, under it or by URL
    bool forgotten = false;   // closed, and not to be remembered
    bool expired = false;     // closed by its deadline
    bool given_up = false;    // expired, and its page waits for its normal turn
    bool never_left = false;  // closed, as in ReturnLease
    Instant host_left;
    // Its page is removed, but the fetch goes on.
    [[nodiscard]] bool orphan() const { return !record.host.empty(); }
  };

  // Takes a record as the store holds it, or `mended`, and then to be written. Loading the same
  // page twice keeps the first copy. Of two pages with one key, which only a damaged store has, the
  // key finds the one loaded first.
  void Load(PageRecord record, bool mended = false);

  // The page as the events before left it; nullptr: neither loaded nor created, or removed.
  [[nodiscard]] Page* Find(const PageKey& key);
  [[nodiscard]] Page* Find(PageNumber number);
  // Whether it was loaded or created, be it removed since.
  [[nodiscard]] bool Has(PageNumber number) const { return by_number_.contains(number); }
  // Adds a page that the store does not have. Precondition: Find(record.key) == nullptr.
  Page* Create(PageRecord record);
  // How many were added.
  [[nodiscard]] size_t created() const { return created_; }
  // Crawl ids that pages were created under and that the shard did not know, each with the client
  // that it counts for; and how many each of these has.
  absl::flat_hash_map<std::string, uint64_t> new_crawls;
  absl::flat_hash_map<uint64_t, uint64_t> new_crawls_of_client;

  [[nodiscard]] Lease* FindLease(LeaseId id);
  // The staged lease of a page that was put last, open or closed; zero: none.
  [[nodiscard]] LeaseId LeaseOf(PageNumber page) const;
  // Adds or replaces the staged copy.
  Lease* PutLease(LeaseRecord record);
  [[nodiscard]] HostRecord* FindHost(const std::string& host);
  HostRecord* PutHost(HostRecord record);
  // Removes a host; a later page or record of it has it stay. Precondition: neither FindHost nor
  // CreatedPagesOf has it.
  void ForgetHost(const std::string& host) { forgotten_hosts_.insert(host); }
  // How many pages of the host the batch has added, be they removed again.
  [[nodiscard]] uint64_t CreatedPagesOf(const std::string& host);
  [[nodiscard]] const absl::flat_hash_set<std::string>& forgotten_hosts() const {
    return forgotten_hosts_;
  }

  // Ends a staged lease.
  void Close(Lease& lease, bool reported);
  // How many of the staged leases are closed and to be remembered.
  [[nodiscard]] size_t newly_remembered() const { return newly_remembered_; }

  // What to write. Pointers in it stay valid until Reset. Call once, after the last Step.
  [[nodiscard]] Changes Finish();
  void Reset();

  [[nodiscard]] std::deque<Page>& pages() { return pages_; }
  [[nodiscard]] const std::deque<Page>& pages() const { return pages_; }
  [[nodiscard]] std::deque<Lease>& leases() { return leases_; }
  [[nodiscard]] std::deque<HostRecord>& hosts() { return hosts_; }

  std::vector<SourceRecord> sources;
  // What was set for crawl ids, or is set no more, in order.
  std::vector<std::variant<SetCrawl, ForgetCrawl>> crawls;
  TakenPlaces places;  // of pages and hosts that this batch creates
  std::optional<Settings> settings;
  std::optional<EpochRecord> epoch;
  // Remembered leases that were over when this batch took a result of theirs.
  std::vector<LeaseRecord> late_leases;
  // Remembered leases, the oldest first, that make room for those that this batch closes.
  std::vector<LeaseId> forgotten_leases;
  Lessons lessons;
  EventCounts counts;
  uint32_t new_leases = 0;                           // ids that were given to leases
  absl::flat_hash_map<Slot, uint64_t> next_serials;  // of the next page, where it has moved on
  std::vector<std::string> rested_hosts;  // to be looked at again for whether they can be forgotten

 private:
  // Of pages by their keys, which are not copied.
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
  size_t newly_remembered_ = 0;
  size_t created_ = 0;
  size_t keyed_ = 0;    // pages that are in by_key_
  size_t scanned_ = 0;  // pages that created_of_ counts if they were created
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
