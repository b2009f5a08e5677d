// What the replay shows while it runs, and what it says at the end: text from numbers.
#ifndef FRESHET_TOOLS_DEMO_REPORT_H_
#define FRESHET_TOOLS_DEMO_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/demo/ledger.h"
#include "tools/demo/timeline.h"
#include "tools/demo/truth.h"

namespace freshet::demo {

// What a simple rule reaches with the same crawls, so far. Value type, thread-compatible.
struct RuleSample {
  Freshness current;
  FreshnessSum sum;
};

// Ticks of the crawl rate at which the server handed out nothing, by reason. Value type,
// thread-compatible.
struct UnusedTicks {
  uint64_t late = 0;    // nothing was ready in time
  uint64_t credit = 0;  // no worker waited
  uint64_t page = 0;    // none could be crawled
};

// What is known at one moment of the replay. Value type, thread-compatible.
struct Sample {
  TruthSnapshot truth;
  std::optional<Freshness> believed;  // by the server; nothing: it has not computed it yet
  RuleSample uniform;
  RuleSample pings_first;
  uint64_t signals = 0;  // applied by the server
  double price = 0;
  UnusedTicks unused;
};

// What stays the same during a replay. Value type, thread-compatible.
struct Setting {
  std::string title;  // of the history
  Timeline timeline;
  double crawl_rate_per_second = 0;
  bool colour = false;  // for a terminal
};

// Crawls per second, and share of crawls that found a change, between two samples. Zero where there
// is no time or no crawl. Value type, thread-compatible.
struct CrawlPace {
  double crawls_per_second = 0;
  double changed_share = 0;
};
[[nodiscard]] CrawlPace PaceBetween(const TruthSnapshot& earlier, const TruthSnapshot& later);

// A table of a fixed number of lines, to be drawn over the one before.
[[nodiscard]] std::vector<std::string> TableLines(const Setting& setting, const Sample& earlier,
                                                  const Sample& now);

// The same as one line, for a log.
[[nodiscard]] std::string StatusLine(const Setting& setting, const Sample& earlier,
                                     const Sample& now);

// The JSON object that the console takes: series of finite numbers, by name.
[[nodiscard]] std::string AnnotationJson(const Setting& setting, const Sample& earlier,
                                         const Sample& now);

// Counts and averages over all samples, by time, and by four periods of equal length. At least two
// samples.
[[nodiscard]] std::string Summary(const Setting& setting, const std::vector<Sample>& samples);

// 1234567 as "1,234,567".
[[nodiscard]] std::string Grouped(uint64_t number);

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_REPORT_H_
