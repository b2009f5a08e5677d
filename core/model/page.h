// The records of a page. The shard changes them, and the store keeps them. Nearby headers have the
// records of hosts, leases, crawl ids and signal sources. Nothing here depends on the encoding.
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

// The settings that a client gave a page. Upsert sets them; the service never changes them.
struct PageSpec {
  double importance = 1;                  // request rate or any weight; finite, >= 0
  Duration min_interval;                  // 0 = none. Min time between crawls.
  Duration max_interval;                  // 0 = none. Max time between crawls.
  Instant not_before;                     // none = at once. Time of the earliest crawl.
  std::optional<Rate> known_change_rate;  // set: used instead of an estimate
  bool complete_signals = false;          // every change of this page is signalled
  bool operator==(const PageSpec&) const = default;
};

inline constexpr double kNeverCrawledStaleness = std::numeric_limits<double>::infinity();

// A burst with signals of this source class for the page (core/estimate/bursts.h); 0 = none. The
// burst multiplies the odds that its signals stand for a change by e^shift. `shift` changes when
// other pages of the burst are crawled.
struct BurstSignal {
  uint32_t burst = 0;
  float shift = 0;
  SourceClass source_class;
  bool operator==(const BurstSignal&) const = default;
};

// The fields that change with every crawl and signal. They have a fixed width, and the server reads
// them for every page at start-up.
struct PageState {
  Instant first_seen;
  Instant last_crawl;  // none = never crawled
  // Staleness exponent at `carried_at`. From then on it grows by rates.staleness_rate per second.
  double staleness = kNeverCrawledStaleness;
  Instant carried_at;
  PageRates rates;
  // The last event of the page's operational time: a signal that was more likely true than not, a
  // change that a crawl found without such a signal, or the time when the page was first seen.
  Instant last_event;
  SignalCounts signals;                 // received since the last crawl
  std::array<BurstSignal, 2> bursts{};  // bursts of the newest signals, the newest first
  // The estimator's sums, as of `carried_at`.
  //
  // `exposure`: operational seconds since the last crawl.
  //
  // `evidence`: number of signalled changes in observations that PageStatistics no longer keeps. It
  // fades with time.
  //
  // `evidence_exposure`: operational seconds since the page became known. It fades, too.
  double exposure = 0;
  float evidence = 0;
  float evidence_exposure = 0;
  Instant newest_claim;  // newest change time that a source claimed; none = no claim
  // The page is not crawled before this instant; none = at once. Set after an error, or if a lease
  // ended without a result. For a gone page: the time of the next try; infinite = never.
  Instant retry_at;
  bool recheck = false;  // a client asked for a crawl as soon as politeness allows
  uint8_t errors = 0;    // consecutive failed crawls, saturating
  bool gone = false;     // the last crawl with an answer found the page gone or moved
  // `unanswered` and `returned`: consecutive leases that ended without an answer, or that the
  // worker returned. Any result resets both counts. `times_gone`: consecutive crawls that found the
  // page gone. A crawl that finds the page resets it. All three counts saturate.
  uint8_t unanswered = 0;
  uint8_t returned = 0;
  uint8_t times_gone = 0;
  bool operator==(const PageState&) const = default;
  [[nodiscard]] bool crawled() const { return !last_crawl.is_none(); }
};

// A hash of the id that a source gave a signal. It is long enough to tell the signals of a page
// apart.
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

// The fields that are needed only for results, signals and explanations.
struct PageDetail {
  std::string etag;
  std::string last_modified;
  std::string digest;
  uint32_t crawls = 0;                                   // successful crawls
  uint32_t changes = 0;                                  // crawls that found a change
  CrawlOutcome last_outcome = CrawlOutcome::kUnchanged;  // unspecified before the first result
  uint16_t last_http_status = 0;                         // 0 = not reported
  // The canonical URL that the page moved to. Empty = not moved, or not reported.
  std::string moved_to;
  uint8_t denials = 0;  // consecutive results saying that robots.txt forbids the page, saturating
  PageStatistics statistics;
  // The lease and the fetch time of the last accepted result. They identify a repeated result.
  LeaseId last_lease;
  Instant last_result;
  // `signal_ids`: ids of the latest accepted signals, the oldest first; at most
  // limits::kMaxRememberedSignalIds. `claims`: the newest claim of each source with pending
  // signals, sorted. If a source is missing, as in rows of old releases, its claim is
  // state.newest_claim.
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
