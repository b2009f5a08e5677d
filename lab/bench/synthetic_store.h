// A store filled with synthetic pages, for benchmarks with many pages.
#ifndef FRESHET_LAB_BENCH_SYNTHETIC_STORE_H_
#define FRESHET_LAB_BENCH_SYNTHETIC_STORE_H_

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
  Instant now;  // no page was crawled later
  // The number of rows in the write-ahead log that the next opening must replay. These rows repeat
  // states of pages that are also in the tables.
  uint64_t log_rows = 0;
  // If set, pages have crawls at growing intervals, of which 0 to 24 are kept, and one page in
  // three has signals of two sources. Otherwise pages have 8 crawls at equal intervals, and no
  // signals.
  bool varied = false;
};

// Returns the host of page `i`. The URLs of pages are all different.
[[nodiscard]] std::string SyntheticHost(const SyntheticOptions& options, uint64_t i);
// Replaces the contents of `url`, and reuses its memory.
void WriteSyntheticUrl(const SyntheticOptions& options, uint64_t i, std::string* url);
[[nodiscard]] PageKey SyntheticKey(const SyntheticOptions& options, uint64_t i);

// Lets the command line set pages, pages_per_host and seed.
void AddSyntheticFlags(CLI::App& command, SyntheticOptions& options);

// Fills the new directory `dir` and leaves it in the state in which a killed process would: tables,
// and a log of `log_rows` rows. Page rates span three decades. Nine pages in ten were crawled, with
// a history of eight observations. Nothing is synced: the store is only for measurements.
//
// The work is done in a child process, so that its memory does not count for this one. Must be
// called before any thread is started.
[[nodiscard]] Status MakeSyntheticStore(const std::string& dir, const SyntheticOptions& options);

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_SYNTHETIC_STORE_H_
