// A store full of made-up pages, for benchmarks of what the service does with many of them.
#ifndef FRESHET_BENCH_SYNTHETIC_STORE_H_
#define FRESHET_BENCH_SYNTHETIC_STORE_H_

#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/page_key.h"

namespace freshet {

// Value type, thread-compatible.
struct SyntheticOptions {
  uint64_t pages = 1'000'000;
  uint64_t pages_per_host = 100;
  uint64_t seed = 1;
  Instant now;  // no page was crawled after it
  // Rows of the write-ahead log that the next opening has to replay: states written once more.
  uint64_t log_rows = 0;
  // Crawls at growing intervals, 0 to 24 of which are kept, with signals of two sources that one
  // page in three has; else 8 at one interval, without any.
  bool varied = false;
};

// The text of page `i` and of its host. Two pages never share one.
[[nodiscard]] std::string SyntheticHost(const SyntheticOptions& options, uint64_t i);
// Replaces the contents of `url`, which keeps its memory.
void WriteSyntheticUrl(const SyntheticOptions& options, uint64_t i, std::string* url);
[[nodiscard]] PageKey SyntheticKey(const SyntheticOptions& options, uint64_t i);

// Lets the command line set pages, pages_per_host and seed.
void AddSyntheticFlags(CLI::App& command, SyntheticOptions& options);

// Fills the new directory `dir` and leaves it as a process that was killed would: tables, and a
// log of `log_rows`. Pages have rates over three decades, nine in ten a crawl behind them, and a
// history of eight observations. Nothing is synced: the store is for measuring, not for keeping.
//
// Runs in a child process, so that nothing of it is left in this one's memory; call it before any
// thread is started.
[[nodiscard]] Status MakeSyntheticStore(const std::string& dir, const SyntheticOptions& options);

}  // namespace freshet

#endif  // FRESHET_BENCH_SYNTHETIC_STORE_H_
