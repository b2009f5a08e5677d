// What Freshet knows of a page, a host, a lease and a signal source: the plain records that the
// shard state machine changes and the store keeps. Nothing here knows how it is encoded.
//
// All structs of this file are value types, thread-compatible.
#ifndef FRESHET_CORE_MODEL_PAGE_H_
#define FRESHET_CORE_MODEL_PAGE_H_

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/day_hours.h"
#include "core/base/ip_address.h"
#include "core/base/limits.h"
#include "core/base/units.h"
#include "core/model/crawl_cap.h"
#include "core/model/page_number.h"
#include "core/model/page_statistics.h"
#include "core/model/signal.h"

namespace freshet {

// Names a page: one URL may be crawled for several purposes, each a namespace of its own. Both
// parts are canonical (core/base/url.h).
struct PageKey {
  std::string crawl_id;
  std::string url;
  bool operator==(const PageKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const PageKey& key) {
    return H::combine(std::move(h), key.crawl_id, key.url);
  }
};

// What the owner of a page asked for. Set by Upsert, never by the service.
struct PageSpec {
  double importance = 1;  // request rate or any weight; finite, >= 0
  Duration min_interval;  // zero: none. Never crawled again sooner than this.
  Duration max_interval;  // zero: none. Crawled at the latest this long after the last crawl.
  Instant not_before;     // none: at once. Not crawled before this instant.
  std::optional<Rate> known_change_rate;  // set: used instead of an estimate
  bool complete_signals = false;          // every change of this page is signalled
  bool operator==(const PageSpec&) const = default;
};

// PageRates::age_bin of a page whose rates do not depend on the age of its last event.
inline constexpr uint8_t kAgeless = 255;

// The rates that the scheduler uses now. Per second of wall-clock time, as of
// `PageState::carried_at`.
struct PageRates {
  double change_rate = 0;       // Delta
  double unsignalled_rate = 0;  // alpha
  double signal_rate = 0;       // gamma, summed over sources
  double signal_weight = 0;     // kappa of the one source that stands for all; may be infinite
  double staleness_rate = 0;    // ds/dt
  // The bin of the age curve that the rates hold for (core/estimate/operational_time.h), and the
  // site model they come from. Written by the Estimator alone.
  uint8_t age_bin = kAgeless;
  uint16_t site = 0;
  bool operator==(const PageRates&) const = default;
};

inline constexpr double kNeverCrawledStaleness = std::numeric_limits<double>::infinity();

// The burst that a signal of that class came with (core/estimate/bursts.h), zero: none; and the
// logarithm of the factor by which the burst moves the odds that its signals stand for a change,
// which changes as other pages of the burst are crawled.
struct BurstSignal {
  uint32_t burst = 0;
  float shift = 0;
  SourceClass source_class;
  bool operator==(const BurstSignal&) const = default;
};

// What changes with every crawl and signal: fixed width, read at start-up for every page.
struct PageState {
  Instant first_seen;
  Instant last_crawl;  // none: never crawled
  // Staleness exponent at `carried_at`; it grows by rates.staleness_rate per second from there.
  double staleness = kNeverCrawledStaleness;
  Instant carried_at;
  PageRates rates;
  // The last event of the page's operational time: a signal that was more likely true than not, a
  // change that a crawl found without one, or being first seen.
  Instant last_event;
  SignalCounts signals;                 // applied since the last crawl
  std::array<BurstSignal, 2> bursts{};  // of the newest of them, the newest first
  // The estimator's sums, as of `carried_at`. `exposure`: operational seconds since the last crawl,
  // zero after it. `evidence`: signalled changes of the observations that PageStatistics keeps no
  // more, fading; `evidence_exposure`: the operational seconds since the page is known, fading
  // alike.
  double exposure = 0;
  float evidence = 0;
  float evidence_exposure = 0;
  Instant newest_claim;  // newest change time that a source has claimed; none: no source has
  // None: at once. After an error or a lease that came to nothing, not crawled before this instant;
  // of a page that is gone, when it is looked for again, and infinite: never.
  Instant retry_at;
  bool recheck = false;  // asked for out of turn: crawled as soon as politeness allows
  uint8_t errors = 0;    // consecutive failed crawls, saturating
  bool gone = false;     // the last crawl that said so found the page gone or moved
  // In a row, saturating: leases that ran out unanswered, leases that were given back (either ends
  // with any result), and crawls that found the page gone (ends when one finds it there).
  uint8_t unanswered = 0;
  uint8_t returned = 0;
  uint8_t times_gone = 0;
  bool operator==(const PageState&) const = default;
  [[nodiscard]] bool crawled() const { return !last_crawl.is_none(); }
};

enum class CrawlOutcome : uint8_t {
  kUnchanged = 1,
  kChanged = 2,
  kError = 3,
  kGone = 4,
  kMoved = 5,
  kRobotsDenied = 6,  // robots.txt forbids it: nobody has looked
};

// The id that a source gave a signal, as far as it need be told from the others of its page.
struct SignalId {
  uint8_t source = 0;
  uint32_t hash = 0;
  bool operator==(const SignalId&) const = default;
};

// The newest change time that a source has claimed.
struct SourceClaim {
  uint8_t source = 0;
  Instant newest;
  bool operator==(const SourceClaim&) const = default;
};

// What only results, signals and explanations need.
struct PageDetail {
  std::string etag;
  std::string last_modified;
  std::string digest;
  uint32_t crawls = 0;                                   // successful ones
  uint32_t changes = 0;                                  // crawls that found a change
  CrawlOutcome last_outcome = CrawlOutcome::kUnchanged;  // meaningless before the first result
  uint16_t last_http_status = 0;                         // 0: not told
  std::string moved_to;  // where the page has moved to, a canonical URL; empty: not, or not told
  uint8_t denials = 0;   // results in a row that said that robots.txt forbids it, saturating
  PageStatistics statistics;
  // The lease and the fetch time of the last result taken: the same result twice counts once.
  LeaseId last_lease;
  Instant last_result;
  // Of the latest signals that were taken, the oldest first, at most
  // limits::kMaxRememberedSignalIds; and of the sources whose signals wait, in order: one that is
  // missing, as in rows of before, has claimed state.newest_claim.
  std::vector<SignalId> signal_ids;
  std::vector<SourceClaim> claims;
  bool operator==(const PageDetail&) const = default;
};

struct PageRecord {
  PageKey key;
  std::string host;
  PageNumber number;
  PageSpec spec;
  PageState state;
  PageDetail detail;
  bool operator==(const PageRecord&) const = default;
};

// Politeness of one host, and what became of it.
struct HostRecord {
  std::string host;
  std::optional<Duration> min_delay;      // between two assignments; unset: configured default
  std::optional<uint32_t> max_in_flight;  // unset: configured default; 0: no limit
  // Between two crawls of a page; unset: configured default.
  std::optional<Duration> min_page_interval;
  Instant blocked_until;    // none: not blocked
  Instant last_assignment;  // none: never
  // Answers in a row that said that the host is fetched too often or cannot answer now, as of the
  // last of them (core/schedule/host_backoff.h).
  uint8_t throttles = 0;
  Instant last_throttled;  // none: never
  // All its pages are being removed, and no new ones are taken until they are.
  bool deleting = false;
  std::optional<CrawlCap> max_crawls;  // unset: configured default; count 0: no cap
  std::optional<DayHours> hours;       // unset: configured default
  // What workers have reported last: the Crawl-delay of its robots.txt, zero: none; and the address
  // that it was fetched from.
  Duration crawl_delay;
  IpAddress address;
  RecentCrawls recent_crawls;  // where it has a cap
  bool operator==(const HostRecord&) const = default;
};

// How URLs go out that clients of the crawl-frontier API have put under a crawl id.
enum class FrontierMode : uint8_t {
  kDates = 0,      // when their clients have said
  kShadow = 1,     // likewise; each is a page as well, of which Freshet learns and hands out none
  kScheduled = 2,  // by crawl value, as pages
};

// What an operator has set for a crawl id. What is unset is as for crawl ids without a record.
struct CrawlRecord {
  std::string crawl_id;
  // Of the crawl rate, in (0, 1]: what its pages get while one of them is eligible.
  std::optional<double> share;
  std::optional<Rate> max_rate;       // of its assignments, > 0
  std::optional<uint64_t> max_pages;  // that it may have
  // Politeness of its pages and their hosts where the host has none of its own.
  std::optional<Duration> min_delay;
  std::optional<uint32_t> max_in_flight;  // 0: no limit
  std::optional<Duration> min_page_interval;
  // All its pages are being removed, and no new ones are taken until they are.
  bool deleting = false;
  std::optional<FrontierMode> frontier_mode;  // unset: as configured
  bool operator==(const CrawlRecord&) const = default;
};

// A signal that arrived while its page was out on a lease: it may be newer than the fetch.
struct LeaseSignal {
  Instant time;
  SourceClass source_class;
  bool operator==(const LeaseSignal&) const = default;
};

struct LeaseRecord {
  LeaseId id;
  PageNumber page;
  std::string worker;  // the name that it gives itself
  // Whose worker it is: kIdentityClient and the name of an identity, or the network that it comes
  // from; empty: a release that did not say has written it.
  std::string client;
  Instant assigned;
  Instant deadline;
  std::vector<LeaseSignal> signals;  // at most limits::kMaxSignalsDuringLease, the newest
  // The host that is fetched from although the page was removed meanwhile; empty: the page is
  // there, or the lease is over.
  std::string host;
  // One that is over is kept for a while, with id and page alone, so that a result that is sent
  // again, or late, is known for what it is.
  bool over = false;
  bool reported = false;  // a result under it was taken; only of one that is over
  bool operator==(const LeaseRecord&) const = default;
};

// How LeaseRecord::client begins where it names an identity.
inline constexpr std::string_view kIdentityClient = "identity ";

// A named source of change signals. What it has sent is counted in metrics; what it is worth is
// part of the site model.
struct SourceRecord {
  std::string name;
  uint8_t index = 0;     // below limits::kMaxSources; frozen once given
  bool retired = false;  // its signals are refused; name and index stay, for what was counted
  bool operator==(const SourceRecord&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_PAGE_H_
