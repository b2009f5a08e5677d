// What Freshet knows of a page: the plain records that the shard state machine changes and the
// store keeps. What it knows of a host, a lease, a crawl id and a signal source is in the headers
// beside this one. Nothing here knows how it is encoded.
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

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_PAGE_H_
