// A client's expectations of one page. The crash test keeps them for every page that it has used.
// They follow the documentation of the API, not the server's code.
#ifndef FRESHET_TESTS_CRASH_FACTS_H_
#define FRESHET_TESTS_CRASH_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "freshet/v1/pages.pb.h"
#include "freshet/v1/types.pb.h"

namespace freshet::crash {

// Returns microseconds since 1970 by the machine's clock, which the server uses, too.
[[nodiscard]] int64_t NowMicros();
// Returns a time that was never returned before, at most some milliseconds ahead of the clock.
[[nodiscard]] int64_t UniqueMicros();

[[nodiscard]] int64_t MicrosOf(const google::protobuf::Timestamp& time);
void SetMicros(int64_t micros, google::protobuf::Timestamp* time);
void SetMicros(int64_t micros, google::protobuf::Duration* span);

// A lease as its worker knows it. Value type, thread-compatible.
struct KnownLease {
  uint64_t id = 0;  // 0 = none
  int64_t deadline = 0;
  std::string worker;
};

// One operation of a client on one page. Value type, thread-compatible.
struct Op {
  enum class Kind { kUpsert, kRemove, kRecheck, kSignal, kResult, kReturn };
  Kind kind = Kind::kUpsert;
  int64_t sent = 0;
  uint64_t batch = 0;  // number of the message that has it
  bool done = false;   // whether its outcome is known
  v1::PageSpec spec;   // for upserts
  bool reset = false;
  v1::ChangeSignal signal;
  uint32_t poll_size = 1;
  v1::CrawlResult result;
  uint64_t lease = 0;  // for returns
};

// The expected state of a page. Times are in microseconds, 0 = none. Value type, thread-compatible.
struct Facts {
  bool exists = false;
  // Settings of the page.
  double importance = 1;
  int64_t min_interval = 0;
  int64_t max_interval = 0;
  int64_t not_before = 0;
  std::optional<double> known_rate;
  bool complete = false;
  // Crawls of the page.
  int64_t first_seen = 0;  // 0 = not seen yet
  int64_t last_crawl = 0;
  // The lower bound of the time of the last crawl; last_crawl is the upper bound. They can differ,
  // because a fetch under a lease is dated no later than the arrival of its result.
  int64_t last_crawl_low = 0;
  v1::CrawlOutcome last_outcome = v1::CRAWL_OUTCOME_UNSPECIFIED;
  int32_t http_status = 0;
  std::string etag;
  int64_t last_modified = 0;
  std::string digest;
  std::string moved_to;
  uint64_t crawls = 0;
  uint64_t changes = 0;
  uint32_t errors = 0;
  bool recheck = false;
  int64_t last_result = 0;
  uint64_t last_lease = 0;
  // Signals since the last crawl, by source and burst class.
  using Signal = std::pair<std::string, v1::BurstClass>;
  std::map<Signal, uint32_t> signals;
  // Signals that came during the open lease and whose change times are later than any fetch under
  // this lease.
  std::vector<Signal> ahead;
  // The bounds of the latest change time that the waiting signals of a source have claimed.
  struct Newest {
    int64_t low = 0;  // bounds of the time
    int64_t high = 0;
  };
  std::map<std::string, Newest> newest;
  KnownLease lease;
};

// Returns the possible outcomes of an operation. The first is the usual one. `now` is an instant
// after the answer.
[[nodiscard]] std::vector<v1::ItemOutcome> Allowed(const Facts& page, const Op& op, int64_t now);

// Updates the expected page after an operation with this outcome.
void Apply(const Op& op, v1::ItemOutcome outcome, int64_t now, Facts* page);

// Describes the difference between the expected page and `seen`, without leases; "" = none. `seen`:
// nullptr = the page is not listed.
[[nodiscard]] std::string Difference(const Facts& page, const v1::Page* seen);

}  // namespace freshet::crash

#endif  // FRESHET_TESTS_CRASH_FACTS_H_
