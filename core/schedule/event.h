// The events of a shard, and its replies to them, as plain structs. All fields are canonical and
// validated. Times are by the server's clock unless a comment says otherwise. Value types,
// thread-compatible.
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

// The crawl ids whose pages a worker is allowed to fetch; nullptr = all. A report about a page of
// another crawl id is refused as if the lease did not exist.
using AllowedCrawls = std::shared_ptr<const std::vector<std::string>>;

// The identity name of the reporter; nullptr = no identities are configured, or the server itself
// reports. A report about a lease of another identity is refused as if the lease did not exist.
using Reporter = std::shared_ptr<const std::string>;

// Adds a page or changes its spec. Unset fields are unchanged; for a new page they have the
// defaults of PageSpec. The state and estimates of a known page are kept. A gone page can be
// crawled again.
struct UpsertPage {
  PageKey key;
  std::string host;
  std::optional<double> importance;
  std::optional<Duration> min_interval;
  std::optional<Duration> max_interval;
  std::optional<Instant> not_before;
  std::optional<Rate> known_change_rate;
  std::optional<bool> complete_signals;
  bool reset = false;  // unset fields are set to their defaults instead
  // Set if another crawler has already fetched the page: the new page counts as fresh at this
  // instant.
  std::optional<Instant> last_crawl;
  Claim claim;  // the client whose share a new crawl id counts against
};

// Here and below, `as_sent` is the key as the client sent it, if it differs from `key`. An earlier
// release canonicalised URLs differently, and its pages keep their text. The shard looks for a page
// by `as_sent` if `key` finds none.
struct RemovePage {
  PageKey key;
  std::optional<PageKey> as_sent;
};

// Asks for a crawl as soon as politeness allows.
struct RecheckPage {
  PageKey key;
};

// A worker's result. `lease` or a key identifies the page; if both are set, they must agree.
//
// A result that ends an open lease always counts. Its `fetched`, which is by the worker's clock, is
// moved into the time of the lease. If its outcome cannot be decided, changed is assumed if there
// is a digest, otherwise error.
struct ReportCrawl {
  std::optional<PageKey> key;  // with a lease: unset if the text is no key of the lease's slot
  std::optional<PageKey> as_sent;
  LeaseId lease;  // 0 = none
  Instant fetched;
  // The outcomes error, gone, moved and denied count as reported. For other outcomes, the digests
  // decide if a digest of the same length is stored. If the outcome is unset, the result needs a
  // stored digest to compare with, or HTTP status 304.
  std::optional<CrawlOutcome> outcome;
  // False = the worker only guesses between changed and unchanged. Unless digests can be compared,
  // the shard then learns only that its copy is as new as the fetch.
  bool looked = true;
  std::string digest;
  std::string etag;
  std::string last_modified;
  uint16_t http_status = 0;
  Duration retry_after;  // no page of the host is fetched for this long; 0 = no pause
  std::string moved_to;  // canonical URL of the page's new location; empty = not reported
  std::optional<Duration> crawl_delay;  // by the host's robots.txt; 0 = none; unset = not reported
  IpAddress address;                    // IP address of the host; none = not reported
  AllowedCrawls allowed;                // crawl ids that the reporter is allowed to use
  Reporter reporter;
};

// A source's message that a page might have changed. `pages_in_poll` is the number of pages of the
// site that the same poll named. `poll` is the same number in all signals of one poll about one
// site, and differs from the numbers of other recent polls.
struct SignalChange {
  PageKey key;
  uint8_t source = 0;  // index in the source registry
  uint32_t pages_in_poll = 1;
  uint64_t poll = 0;               // 0 = the signal came alone
  std::optional<Instant> changed;  // time of the change according to the source; unset = on arrival
  uint64_t signal_id_hash = 0;     // 0 = no id: the signal is never a duplicate
};

// Leases `page`, which the shard has picked, to a worker.
struct LeasePage {
  PageNumber page;
  PageKey key;
  std::string worker;
  std::string client;  // LeaseRecord::client
  Instant at;          // the tick for which the page was picked
  Duration lease;
  double value = 0;
};

// A worker returns a page without having fetched it. The state of the page is unchanged. A page
// that is returned again and again waits a little before it is handed out again.
struct ReturnLease {
  LeaseId lease;
  AllowedCrawls allowed;  // crawl ids that the worker is allowed to use
  Reporter reporter;
  // The page never left the server, so this assignment delays neither the page nor its host.
  // `host_left`: when the last page of the host left the server, which might be later than planned;
  // none = not known.
  bool never_left = false;
  Instant host_left;
};

// The deadline of a lease has passed. The page waits, and the wait grows with each expiry in a row.
struct ExpireLease {
  LeaseId lease;
};

struct SetHost {
  std::string host;
  std::optional<std::optional<Duration>> min_delay;      // outer unset = unchanged
  std::optional<std::optional<uint32_t>> max_in_flight;  // inner unset = back to the default
  std::optional<std::optional<Duration>> min_page_interval;
  std::optional<std::optional<CrawlCap>> max_crawls;
  std::optional<std::optional<DayHours>> hours;
  // Unset: unchanged. None: ends the block, and resets the count of throttled answers.
  std::optional<Instant> blocked_until;
};

// Blocks the host until `until`, if it has a page of the crawl id. Not OK: NotFound if it has none.
// An instant that has passed ends all blocks.
struct BlockHost {
  std::string host;
  std::string crawl_id;
  Instant until;
  // The client is not an operator, so it can only extend the block.
  bool asked = false;
};

// Deletes the record of a host that has no pages, and no settings or pauses to keep. Does nothing
// if the host has got some since. The shard itself creates this event.
struct ForgetHost {
  std::string host;
};

// Adds a source, retires it, or reactivates a retired one.
struct SetSource {
  SourceRecord source;
};

// Sets the terms of a crawl id. All shards get this event. The shard that stores the terms
// (`store`) gets it first.
struct SetCrawl {
  CrawlTerms terms;
  bool store = false;
};

// Clears all terms of the crawl id.
struct ForgetCrawl {
  std::string crawl_id;
  bool store = false;
};

// Removes all pages and settings of a host, in slices. Until this is finished, the host accepts no
// new pages.
struct DeleteHost {
  std::string host;
};

// Removes a page whose crawl id or host is being deleted. The shard itself creates this event and
// EndHostDeletion.
struct RemoveDeleted {
  PageNumber page;
};
struct EndHostDeletion {
  std::string host;
};

// The page crosses an age edge of its operational time: its staleness is carried to now and its
// rates change. The change follows from the stored state alone, so nothing is written.
struct EnterAgeBin {
  PageNumber page;
};

// The shift of a burst (core/estimate/bursts.h) in which the page waits has changed, so the page's
// staleness changes.
struct ReweighSignals {
  PageNumber page;
};

// Sets the page's rates by the current site model (after an epoch).
struct Reestimate {
  PageNumber page;
};

// Replaces the settings of the server that the store keeps.
struct ChangeSettings {
  Settings settings;
};

using Event = std::variant<UpsertPage, RemovePage, RecheckPage, ReportCrawl, SignalChange,
                           LeasePage, ReturnLease, ExpireLease, SetHost, BlockHost, ForgetHost,
                           SetSource, ChangeSettings, SetCrawl, ForgetCrawl, DeleteHost,
                           RemoveDeleted, EndHostDeletion, EnterAgeBin, ReweighSignals, Reestimate>;

// --- Replies

enum class Disposition : uint8_t {
  kApplied,       // the state has changed as the event says
  kCreated,       // an upsert made a new page
  kDuplicate,     // the same result or signal was taken before, and counts once
  kObservedOnly,  // a result of an old lease: recorded as an observation, without a change of state
  kStale,         // a signal that is not newer than the last crawl: counted but not applied
  kRefused,       // refused for the reason in Reply::status
};

// The assignment that a worker receives.
struct Assignment {
  PageKey key;
  std::string host;
  LeaseId lease;
  Instant at;  // the tick: the assignment is not sent before
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
  Status status;                         // not OK exactly when the event was refused
  std::optional<Assignment> assignment;  // set for an applied LeasePage
  // Set for an accepted ReportCrawl: the outcome that was decided.
  std::optional<CrawlOutcome> outcome;
  // Corrections of the event's fields. Each is a text "field: what was wrong and how it was taken".
  std::vector<std::string> notes;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_EVENT_H_
