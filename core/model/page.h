// The plain records of a page, which the shard state machine changes and the store keeps. The
// headers beside this one have the records of hosts, leases, crawl ids and signal sources. Nothing
// here knows the encoding.
//
// All structs of this file are value types, thread-compatible.
#ifndef FRESHET_CORE_MODEL_PAGE_H_
#define FRESHET_CORE_MODEL_PAGE_H_

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/model/crawl_outcome.h"
#include "core/model/page_key.h"
#include "core/model/page_number.h"
#include "core/model/page_rates.h"
#include "core/model/page_statistics.h"
#include "core/model/signal.h"

namespace freshet {

// The settings that a client gave a page. Upsert sets them, the service never does.
struct PageSpec {
  double importance = 1;                  // request rate or any weight; finite, >= 0
  Duration min_interval;                  // 0 = none. Min time between crawls.
  Duration max_interval;                  // 0 = none. Max time between crawls.
  Instant not_before;                     // none = at once. Not crawled before this instant.
  std::optional<Rate> known_change_rate;  // set: used instead of an estimate
  bool complete_signals = false;          // every change of this page is signalled
  bool operator==(const PageSpec&) const = default;
};

inline constexpr double kNeverCrawledStaleness = std::numeric_limits<double>::infinity();

// The burst that a signal of that class came with (core/estimate/bursts.h), 0 = none. `shift` is
// the logarithm of the factor by which the burst moves the odds that its signals stand for a
// change; it moves as other pages of the burst are crawled.
struct BurstSignal {
  uint32_t burst = 0;
  float shift = 0;
  SourceClass source_class;
  bool operator==(const BurstSignal&) const = default;
};

// The fields that change with every crawl and signal: fixed width, read at start-up for every page.
struct PageState {
  Instant first_seen;
  Instant last_crawl;  // none = never crawled
  // Staleness exponent at `carried_at`; it grows by rates.staleness_rate per second from there.
  double staleness = kNeverCrawledStaleness;
  Instant carried_at;
  PageRates rates;
  // The last event of the page's operational time: a signal that was more likely true than not, a
  // change that a crawl found without one, or being first seen.
  Instant last_event;
  SignalCounts signals;                 // applied since the last crawl
  std::array<BurstSignal, 2> bursts{};  // bursts of the newest signals, the newest first
  // The estimator's sums, as of `carried_at`. `exposure`: operational seconds since the last crawl,
  // zero after it. `evidence`: signalled changes of observations that PageStatistics no longer
  // keeps, fading; `evidence_exposure`: operational seconds since the page is known, fading too.
  double exposure = 0;
  float evidence = 0;
  float evidence_exposure = 0;
  Instant newest_claim;  // newest change time that a source has claimed; none = no claim
  // After an error or a lease without result: not crawled before this instant, none = at once. For
  // a gone page: the time of the next try, infinite = never.
  Instant retry_at;
  bool recheck = false;  // a client asked for a crawl as soon as politeness allows
  uint8_t errors = 0;    // consecutive failed crawls, saturating
  bool gone = false;     // the last crawl that looked found the page gone or moved
  // Counts in a row, saturating: unanswered leases, returned leases (any result ends both counts),
  // and crawls that found the page gone (a crawl that finds it ends that).
  uint8_t unanswered = 0;
  uint8_t returned = 0;
  uint8_t times_gone = 0;
  bool operator==(const PageState&) const = default;
  [[nodiscard]] bool crawled() const { return !last_crawl.is_none(); }
};

// A hash of the id that a source gave a signal, enough to tell the signals of a page apart.
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

// The fields that only results, signals and explanations need.
struct PageDetail {
  std::string etag;
  std::string last_modified;
  std::string digest;
  uint32_t crawls = 0;                                   // successful crawls
  uint32_t changes = 0;                                  // crawls that found a change
  CrawlOutcome last_outcome = CrawlOutcome::kUnchanged;  // meaningless before the first result
  uint16_t last_http_status = 0;                         // 0 = not reported
  // the canonical URL that the page moved to; empty = not moved, or not reported
  std::string moved_to;
  uint8_t denials = 0;  // results in a row by which robots.txt forbids the page, saturating
  PageStatistics statistics;
  // The lease and the fetch time of the last result taken, so that a repeated result counts once.
  LeaseId last_lease;
  Instant last_result;
  // Ids of the latest signals taken, the oldest first, at most limits::kMaxRememberedSignalIds.
  // Claims of the sources whose signals wait, in order: a missing source, as in rows of old
  // releases, has claimed state.newest_claim.
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

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_PAGE_H_
