// The pages of a shard: their numbers and fingerprints, the source of picks, the pages that are out
// with workers, the age edges of rates, the believed freshness, and the waits after signals.
#ifndef FRESHET_CORE_SCHEDULE_PAGE_BOOK_H_
#define FRESHET_CORE_SCHEDULE_PAGE_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/fingerprint.h"
#include "core/base/units.h"
#include "core/model/lease.h"
#include "core/model/page_number.h"
#include "core/schedule/age_bin_wheel.h"
#include "core/schedule/event.h"
#include "core/schedule/freshness_sample.h"
#include "core/schedule/leases.h"
#include "core/schedule/page_table.h"
#include "core/schedule/pages_out.h"
#include "core/schedule/pick_source.h"
#include "core/schedule/signal_waits.h"

namespace freshet {

struct ShardOptions;

// Owner thread only.
//
// Invariants: every known page is in `picks`. The page is suspended there exactly when it is
// leased, or picked, or never worth a crawl. A page is in `out` exactly when it is leased or
// picked, and leased exactly when its lease is open in `leases`. All other leases in `out` are of
// removed pages.
struct PageBook {
  // Hosts and crawl ids must outlive the book.
  PageBook(const ShardOptions& options, const HostGate& hosts, const CrawlTable& crawls);

  // Appends the numbers of all pages with the fingerprint of this key. The page with this key is
  // among them if it is known. The records of the pages show which page it is.
  void FindNumbers(const PageKey& key, std::vector<PageNumber>* numbers) const;
  // The open lease; nullopt = not open.
  [[nodiscard]] std::optional<LeaseRecord> FindLease(LeaseId id) const;
  // The lease of the page; nullopt = not leased.
  [[nodiscard]] std::optional<LeaseRecord> LeaseOut(PageId id) const;
  // The believed freshness of all pages that are not gone.
  [[nodiscard]] BelievedFreshness Believed(Instant now) const;
  // The value of the last page that was picked by value; 0 before the first pick, and under a plan.
  [[nodiscard]] double price() const { return picks.prices().last; }

  const Fingerprinter fingerprinter;
  // The parts are public. Code with a const book reads them. Code with a mutable book must keep the
  // invariants (page_moves.h).
  PageTable table;
  PickSource picks;
  Leases leases;
  PagesOut out;
  AgeBinWheel edges;
  FreshnessSample freshness;
  SignalWaits waits;
  uint64_t gone = 0;                                // number of gone pages
  absl::flat_hash_map<Slot, uint64_t> next_serial;  // by slot: serial of its next page
  // Pages to write because their times were later than the time of the load.
  absl::btree_set<PageNumber> ahead;
  Instant loaded_at = Instant::Infinite();  // time of the last load or Follow; infinite = not known
  Instant best_at;                          // the instant of the last call of BestPage
  Instant looked_at;  // the instant of the last BestValue; later picks are not for earlier instants
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PAGE_BOOK_H_
