// The events of a shard and its replies, as plain structs. All fields are canonical and validated;
// times are instants of the server's clock unless said otherwise. Value types, thread-compatible.
#ifndef FRESHET_CORE_SCHEDULE_EVENT_H_
#define FRESHET_CORE_SCHEDULE_EVENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/day_hours.h"
#include "core/base/ip_address.h"
#include "core/base/shares.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/crawl_cap.h"
#include "core/model/crawl_outcome.h"
#include "core/model/page_key.h"
#include "core/model/page_number.h"
#include "core/model/settings.h"
#include "core/model/source.h"
#include "core/schedule/crawl_terms.h"

namespace freshet {

// --- Events

// The crawl ids that a worker may fetch pages of; nullptr = all. Reports about others are refused
// as if there were no such lease.
using AllowedCrawls = std::shared_ptr<const std::vector<std::string>>;

// The name of the identity that reports; nullptr = there are no identities, or the server itself. A
// lease of another identity is refused as if it did not exist.
using Reporter = std::shared_ptr<const std::string>;

// Adds a page or changes its spec: unset fields stay as they are, or at the default of PageSpec for
// a new page. State and estimates of a known page stay; a gone page becomes a candidate again.
struct UpsertPage {
  PageKey key;
  std::string host;
  std::optional<double> importance;
  std::optional<Duration> min_interval;
  std::optional<Duration> max_interval;
  std::optional<Instant> not_before;
  std::optional<Rate> known_change_rate;
  std::optional<bool> complete_signals;
  bool reset = false;  // unset fields go back to their defaults instead
  // Set if another crawler has fetched the page already: the page starts as fresh at this instant.
  std::optional<Instant> last_crawl;
  Claim claim;  // the client that a new crawl id counts for
};

// `as_sent`, here and below, is the key as the client sent it, if different from `key`. A page from
// an earlier release keeps the text that was canonical then; such a page is found by `as_sent` if
// none is found by `key`.
struct RemovePage {
  PageKey key;
  std::optional<PageKey> as_sent;
};

// Asks for a crawl as soon as politeness allows.
struct RecheckPage {
  PageKey key;
};

// The result of a worker. `lease` or a key names the page; with both, they must agree. A result
// that ends an open lease always counts: `fetched`, from the worker's clock, is moved into the time
// of the lease, and an undecidable outcome counts as the worse one.
struct ReportCrawl {
  std::optional<PageKey> key;  // with a lease, unset if the text is no key or of another slot
  std::optional<PageKey> as_sent;
  LeaseId lease;  // 0 = none
  Instant fetched;
  // Error, gone, moved and denied stand. Otherwise a digest decides, if one of the same length is
  // stored; unset needs such a digest, or HTTP status 304.
  std::optional<CrawlOutcome> outcome;
  // False = changed and unchanged are a guess: unless digests can be compared, the shard learns
  // only that the page is as new as the fetch.
  bool looked = true;
  std::string digest;
  std::string etag;
  std::string last_modified;
  uint16_t http_status = 0;
  Duration retry_after;  // how long no page of the host is fetched; 0 = no pause
  std::string moved_to;  // canonical URL that the page moved to; empty = not reported
  std::optional<Duration> crawl_delay;  // from the host's robots.txt; 0 = it has none; >= 0
  IpAddress address;                    // the host's address; none = not reported
  AllowedCrawls allowed;                // crawl ids allowed to the reporter
  Reporter reporter;
};

// The message of a source that a page may have changed. `pages_in_poll` is the number of pages of
// the site that the same poll named; `poll` identifies that part of the poll among recent ones.
struct SignalChange {
  PageKey key;
  uint8_t source = 0;  // index in the source registry
  uint32_t pages_in_poll = 1;
  uint64_t poll = 0;               // 0 = the signal came alone
  std::optional<Instant> changed;  // when the page changed, by the source; unset: on arrival
  uint64_t signal_id_hash = 0;     // 0 = no id, never a duplicate
};

// Hands `page` to a worker while the lease runs. Comes from the shard's own pick.
struct LeasePage {
  PageNumber page;
  PageKey key;
  std::string worker;
  std::string client;  // LeaseRecord::client
  Instant at;          // the tick that the pick was made for
  Duration lease;
  double value = 0;
};

// The worker returns a page without having fetched it: the page is as before, but a page that is
// returned again and again waits a little in between.
struct ReturnLease {
  LeaseId lease;
  AllowedCrawls allowed;  // crawl ids allowed to the worker
  Reporter reporter;
  // The page never left the server: neither it nor its host waits for this. The last page of the
  // host that did leave may have left later than planned, at `host_left`; none = not known.
  bool never_left = false;
  Instant host_left;
};

// The deadline of a lease has passed: the page waits, longer with each time in a row.
struct ExpireLease {
  LeaseId lease;
};

struct SetHost {
  std::string host;
  std::optional<std::optional<Duration>> min_delay;      // outer unset: unchanged
  std::optional<std::optional<uint32_t>> max_in_flight;  // inner unset: back to the default
  std::optional<std::optional<Duration>> min_page_interval;
  std::optional<std::optional<CrawlCap>> max_crawls;
  std::optional<std::optional<DayHours>> hours;
  // None: no block, and earlier throttled answers are forgiven.
  std::optional<Instant> blocked_until;
};

// Blocks the host until then, if it has a page of the crawl id; else NotFound. A past instant ends
// all blocks.
struct BlockHost {
  std::string host;
  std::string crawl_id;
  Instant until;
  // The client is no operator: the block can only become longer.
  bool asked = false;
};

// Deletes the record of a host without pages or anything else to keep, unless that has changed by
// now. Comes from the shard itself.
struct ForgetHost {
  std::string host;
};

// Adds a source, retires it, or revives a retired one.
struct SetSource {
  SourceRecord source;
};

// Sets the terms of a crawl id. Every shard gets this event, first the one that stores it
// (`store`).
struct SetCrawl {
  CrawlTerms terms;
  bool store = false;
};

// Clears all terms of the crawl id.
struct ForgetCrawl {
  std::string crawl_id;
  bool store = false;
};

// Removes all pages and settings of a host, a slice at a time. Until the end, the host takes no new
// pages.
struct DeleteHost {
  std::string host;
};

// Removes a page whose crawl id or host is being deleted. Comes from the shard itself, like
// EndHostDeletion.
struct RemoveDeleted {
  PageNumber page;
};
struct EndHostDeletion {
  std::string host;
};

// The page crosses an age edge of its operational time: staleness is carried, rates change. Derived
// from stored state alone, so it writes nothing.
struct EnterAgeBin {
  PageNumber page;
};

// The odds of the burst that the page waits in have changed: its staleness follows.
struct ReweighSignals {
  PageNumber page;
};

// Takes the page's rates from the current site model (after an epoch).
struct Reestimate {
  PageNumber page;
};

struct ChangeSettings {
  Settings settings;
};

using Event = std::variant<UpsertPage, RemovePage, RecheckPage, ReportCrawl, SignalChange,
                           LeasePage, ReturnLease, ExpireLease, SetHost, BlockHost, ForgetHost,
                           SetSource, ChangeSettings, SetCrawl, ForgetCrawl, DeleteHost,
                           RemoveDeleted, EndHostDeletion, EnterAgeBin, ReweighSignals, Reestimate>;

// --- Replies

enum class Disposition : uint8_t {
  kApplied,       // state has changed accordingly
  kCreated,       // an upsert made a new page
  kDuplicate,     // the same result or signal was taken before; counted once
  kObservedOnly,  // a result of an old lease: an observation, no state change
  kStale,         // a signal that is not newer than the last crawl: counted, not applied
  kRefused,       // see status
};

// The assignment that a worker gets.
struct Assignment {
  PageKey key;
  std::string host;
  LeaseId lease;
  Instant at;  // the tick; not sent before
  Instant deadline;
  Instant last_crawl;  // none = never crawled
  std::string etag;
  std::string last_modified;
  std::string digest;
  double value = 0;
  double importance = 0;
};

struct Reply {
  Disposition disposition = Disposition::kApplied;
  Status status;                         // not OK exactly when refused
  std::optional<Assignment> assignment;  // set for an applied LeasePage
  // Set for an accepted ReportCrawl: the outcome that counts.
  std::optional<CrawlOutcome> outcome;
  // Corrections of what the event said, each as "field: what and how".
  std::vector<std::string> notes;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_EVENT_H_
