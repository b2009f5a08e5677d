// What a client may expect of one page: the twin that the crash test keeps of every page it has
// touched, written from the API's documentation and not from the server's code.
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

// The machine's clock, in microseconds since 1970: that of the server too.
[[nodiscard]] int64_t NowMicros();
// Never the same twice, and at most some milliseconds ahead of the clock.
[[nodiscard]] int64_t UniqueMicros();

[[nodiscard]] int64_t MicrosOf(const google::protobuf::Timestamp& time);
void SetMicros(int64_t micros, google::protobuf::Timestamp* time);
void SetMicros(int64_t micros, google::protobuf::Duration* span);

// A lease as a worker knows it. Value type, thread-compatible.
struct KnownLease {
  uint64_t id = 0;  // zero: none
  int64_t deadline = 0;
  std::string worker;
};

// One thing that a client asks for, about one page. Value type, thread-compatible.
struct Op {
  enum class Kind { kUpsert, kRemove, kRecheck, kSignal, kResult, kReturn };
  Kind kind = Kind::kUpsert;
  int64_t sent = 0;
  uint64_t batch = 0;  // counts up within its sender
  bool done = false;   // its fate is known
  v1::PageSpec spec;   // of an upsert
  bool reset = false;
  v1::ChangeSignal signal;
  uint32_t poll_size = 1;
  v1::CrawlResult result;
  uint64_t lease = 0;  // of a return
};

// A page as it must be. Times are microseconds, zero: none. Value type, thread-compatible.
struct Facts {
  bool exists = false;
  // Settings.
  double importance = 1;
  int64_t min_interval = 0;
  int64_t max_interval = 0;
  int64_t not_before = 0;
  std::optional<double> known_rate;
  bool complete = false;
  // Crawls.
  int64_t first_seen = 0;  // zero: not seen yet
  int64_t last_crawl = 0;
  // Under a lease a fetch is dated when its result came at the latest: `last_crawl` is from here to
  // there.
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
  // Those of them that came during the open lease and claim a change after any fetch under it.
  std::vector<Signal> ahead;
  // The newest change that each source has claimed by a signal that waits.
  struct Newest {
    int64_t low = 0;  // it lies between these
    int64_t high = 0;
  };
  std::map<std::string, Newest> newest;
  KnownLease lease;
};

// What the server may answer; the first is the usual one. `now` is an instant after the answer.
[[nodiscard]] std::vector<v1::ItemOutcome> Allowed(const Facts& page, const Op& op, int64_t now);

// What becomes of the page by that answer.
void Apply(const Op& op, v1::ItemOutcome outcome, int64_t now, Facts* page);

// How what the server shows differs from what must be, leases apart; empty: not at all. `seen` is
// nullptr for a page that is not listed.
[[nodiscard]] std::string Difference(const Facts& page, const v1::Page* seen);

}  // namespace freshet::crash

#endif  // FRESHET_TESTS_CRASH_FACTS_H_
