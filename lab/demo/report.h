// Turns the figures of a replay into text, during the replay and at its end.
#ifndef FRESHET_LAB_DEMO_REPORT_H_
#define FRESHET_LAB_DEMO_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/demo/ledger.h"
#include "lab/demo/timeline.h"
#include "lab/demo/truth.h"

namespace freshet::demo {

// The freshness so far under a simple rule that makes the same crawls. Value type,
// thread-compatible.
struct RuleSample {
  Freshness current;
  FreshnessSum sum;
};

// Ticks without an assignment, by reason. Value type, thread-compatible.
struct UnusedTicks {
  uint64_t late = 0;    // no page was ready in time
  uint64_t credit = 0;  // no worker waited
  uint64_t page = 0;    // no page was eligible
};

// The figures at one moment of the replay. Value type, thread-compatible.
struct Sample {
  TruthSnapshot truth;
  std::optional<Freshness> believed;  // computed by the server; nullopt = not yet
  RuleSample uniform;
  RuleSample pings_first;
  uint64_t signals = 0;  // applied by the server
  double price = 0;
  UnusedTicks unused;
};

// The constants of a replay. Value type, thread-compatible.
struct Setting {
  std::string title;  // name of the history
  Timeline timeline;
  double crawl_rate_per_second = 0;
  bool colour = false;  // for a terminal
};

// Crawls per second between two samples, and the share of them that found a change. 0 without time
// or crawls. Value type, thread-compatible.
struct CrawlPace {
  double crawls_per_second = 0;
  double changed_share = 0;
};
[[nodiscard]] CrawlPace PaceBetween(const TruthSnapshot& earlier, const TruthSnapshot& later);

// Returns a table with a fixed number of lines, to be drawn over the previous one.
[[nodiscard]] std::vector<std::string> TableLines(const Setting& setting, const Sample& earlier,
                                                  const Sample& now);

// Returns the table as one line, for a log.
[[nodiscard]] std::string StatusLine(const Setting& setting, const Sample& earlier,
                                     const Sample& now);

// Returns the JSON object for the console: series of finite numbers, by name.
[[nodiscard]] std::string AnnotationJson(const Setting& setting, const Sample& earlier,
                                         const Sample& now);

// Returns the summary at the end of a replay: counts over all samples, and time-weighted averages
// over all samples and over each of four equal periods. There must be at least two samples.
[[nodiscard]] std::string Summary(const Setting& setting, const std::vector<Sample>& samples);

// Formats 1234567 as "1,234,567".
[[nodiscard]] std::string Grouped(uint64_t number);

}  // namespace freshet::demo

#endif  // FRESHET_LAB_DEMO_REPORT_H_
