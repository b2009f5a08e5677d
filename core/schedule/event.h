// What happens to a shard and what it answers, as plain structs. Everything in them is canonical
// and validated; times are instants of the server's clock unless said otherwise. Value types,
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

// The crawl ids that a worker may fetch pages of; null: all. What is about others is refused as if
// there were no such lease.
using AllowedCrawls = std::shared_ptr<const std::vector<std::string>>;

// The name of the identity that reports; null: there are no identities, or the server itself. A
// lease that another identity holds is to it as one that there is not.
using Reporter = std::shared_ptr<const std::string>;

// Adds a page or changes what its owner asked for: what is unset stays as it is, or at the default
// of PageSpec for a new page. State and estimates of a known page stay; a page that was found gone
// becomes a candidate again.
struct UpsertPage {
  PageKey key;
  std::string host;
  std::optional<double> importance;
  std::optional<Duration> min_interval;
  std::optional<Duration> max_interval;
  std::optional<Instant> not_before;
  std::optional<Rate> known_change_rate;
  std::optional<bool> complete_signals;
  bool reset = false;  // what is unset goes back to its default instead
  // Set for a page that another crawler has fetched already: it starts as fresh at this instant.
  std::optional<Instant> last_crawl;
  Claim claim;  // of the client: a crawl id that is new counts for it
};

// `as_sent`, here and below, is what the client sent, where that is not `key`: a page of an earlier
// release keeps the text that was canonical then, and goes by it if none goes by `key`.
struct RemovePage {
  PageKey key;
  std::optional<PageKey> as_sent;
};

// Asks for a crawl out of turn.
struct RecheckPage {
  PageKey key;
};

// What a worker found. `lease` or a key names the page; with both, they must agree. A result that
// ends an open lease always counts: `fetched`, which the worker's clock gave, is taken as the
// instant of the lease that is nearest to it, and what cannot be decided is decided for the worse.
struct ReportCrawl {
  std::optional<PageKey> key;  // with a lease, unset where its text is none or of another slot
  std::optional<PageKey> as_sent;
  LeaseId lease;  // zero: none
  Instant fetched;
  // Error, gone, moved and denied stand. Otherwise a digest decides, when one of the same length is
  // stored; unset needs such a digest, or HTTP status 304.
  std::optional<CrawlOutcome> outcome;
  // False: changed and unchanged are a guess, and unless digests can be compared nothing is learned
  // from it but that the page is as new as the fetch.
  bool looked = true;
  std::string digest;
  std::string etag;
  std::string last_modified;
  uint16_t http_status = 0;
  Duration retry_after;  // zero: none; otherwise no page of the host is fetched for so long
  std::string moved_to;  // of a page that has moved: a canonical URL; empty: not told
  std::optional<Duration> crawl_delay;  // of the host's robots.txt, zero: it has none; >= 0
  IpAddress address;                    // of the host; none: not told
  AllowedCrawls allowed;                // of who reports
  Reporter reporter;
};

// "This page may have changed", said by a source. `pages_in_poll` is the number of pages of the
// site that the same poll named; `poll` names that part of the poll among those of late.
struct SignalChange {
  PageKey key;
  uint8_t source = 0;  // index in the source registry
  uint32_t pages_in_poll = 1;
  uint64_t poll = 0;               // zero: the signal came alone
  std::optional<Instant> changed;  // when the source says that it changed; unset: on arrival
  uint64_t signal_id_hash = 0;     // zero: no id, never a duplicate
};

// Hands `page` to a worker for as long as the lease runs. Comes from the shard's own pick.
struct LeasePage {
  PageNumber page;
  PageKey key;
  std::string worker;
  std::string client;  // LeaseRecord::client
  Instant at;          // the tick that the pick was made for
  Duration lease;
  double value = 0;
};

// The worker gives a page back without having fetched it: the page is as it was, but that one which
// is given back again and again waits a little in between.
struct ReturnLease {
  LeaseId lease;
  AllowedCrawls allowed;  // of who returns it
  Reporter reporter;
  // The page never left the server: neither it nor its host waits for that. The last page of the
  // host that did leave may have left later than planned, at `host_left`; none: not as is known.
  bool never_left = false;
  Instant host_left;
};

// The deadline of a lease has passed: the page waits, the longer the more often that happens.
struct ExpireLease {
  LeaseId lease;
};

struct SetHost {
  std::string host;
  std::optional<std::optional<Duration>> min_delay;      // outer unset: leave as it is
  std::optional<std::optional<uint32_t>> max_in_flight;  // inner unset: back to the default
  std::optional<std::optional<Duration>> min_page_interval;
  std::optional<std::optional<CrawlCap>> max_crawls;
  std::optional<std::optional<DayHours>> hours;
  // None: the host is as if it had never asked to be left alone.
  std::optional<Instant> blocked_until;
};

// A crawler leaves the host alone until then, if the host has a page of the crawl id; NotFound: it
// has none. An instant that has passed ends all blocks.
struct BlockHost {
  std::string host;
  std::string crawl_id;
  Instant until;
  // By a client that is no operator: the block of the host only ever becomes longer.
  bool asked = false;
};

// No page of the host is left, and nothing else that need be kept of it: its record goes, unless
// that has changed by now. Comes from the shard itself.
struct ForgetHost {
  std::string host;
};

// Adds a source, retires it, or takes up again one that was retired.
struct SetSource {
  SourceRecord source;
};

// What is set for a crawl id from now on. Every shard is told; the one that is to have it stored
// first of all.
struct SetCrawl {
  CrawlTerms terms;
  bool store = false;
};

// Nothing is set for the crawl id any more.
struct ForgetCrawl {
  std::string crawl_id;
  bool store = false;
};

// Takes all pages of a host away, a slice at a time, and what is set for it. Until that is done, it
// takes no new ones.
struct DeleteHost {
  std::string host;
};

// Removes a page whose crawl id or host is being deleted. Comes from the shard itself, as does what
// follows when that is done for a host.
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

// The burst that the page waits in has become worth more or less: its staleness follows.
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

// What a worker gets.
struct Assignment {
  PageKey key;
  std::string host;
  LeaseId lease;
  Instant at;  // the tick; not sent before it
  Instant deadline;
  Instant last_crawl;  // none: never crawled
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
  // Set for a ReportCrawl that was taken: whether the page counts as changed.
  std::optional<CrawlOutcome> outcome;
  // What was taken otherwise than it was said, each as "field: what and how".
  std::vector<std::string> notes;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_EVENT_H_
