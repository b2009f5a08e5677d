// A shard in virtual time, and the events of its tests.
#ifndef FRESHET_TESTS_CORE_SCHEDULE_SHARD_CYCLE_H_
#define FRESHET_TESTS_CORE_SCHEDULE_SHARD_CYCLE_H_

#include <optional>
#include <string>

#include "core/schedule/explanation.h"
#include "core/schedule/shard_counters.h"
#include "core/schedule/shard_options.h"
#include "core/schedule/shard_state.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/common/memory_shard.h"
#include "tests/core/schedule/instants.h"

namespace freshet {

inline constexpr Duration kLease = Duration::Seconds(60);

inline PageKey Key(const std::string& path) { return {"DEFAULT", "https://example.com/" + path}; }

inline UpsertPage Upsert(const std::string& path, double importance = 1) {
  UpsertPage event{.key = Key(path), .host = "example.com"};
  event.importance = importance;
  return event;
}

inline ReportCrawl Result(const Assignment& assignment, CrawlOutcome outcome, Instant fetched) {
  ReportCrawl report{.key = assignment.key, .lease = assignment.lease, .fetched = fetched};
  report.outcome = outcome;
  return report;
}

inline SignalChange Signal(const std::string& path, uint8_t source = 0) {
  return {.key = Key(path), .source = source};
}

// A shard with short helpers for events, pages and time. Thread-compatible.
class ShardCycleTest : public testing::Test {
 protected:
  explicit ShardCycleTest(const ShardOptions& options = {}) : shard_(options) {}

  Reply Apply(const Event& event, double at) { return shard_.Apply(event, At(at)); }
  std::optional<Assignment> Next(double at) { return shard_.Next(At(at), kLease, "w"); }
  const PageRecord& Page(const std::string& path) { return *shard_.Find(Key(path)); }
  // Adds a page that was crawled at `at` and has no open lease.
  void AddCrawled(const std::string& path, double at) {
    UpsertPage event = Upsert(path);
    event.last_crawl = At(at);
    ASSERT_EQ(Apply(event, at).disposition, Disposition::kCreated);
  }
  Explanation Explain(const std::string& path, double at) {
    return shard_.state().Explain(Page(path), At(at));
  }
  ShardCounters counters() { return shard_.state().counters(); }

  MemoryShard shard_;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_CORE_SCHEDULE_SHARD_CYCLE_H_
