// The rows that freshet-bench serve measures, and what it says of each.
#ifndef FRESHET_BENCH_SERVE_ROWS_H_
#define FRESHET_BENCH_SERVE_ROWS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/daemon.h"
#include "bench/load.h"
#include "bench/served.h"
#include "bench/synthetic_store.h"
#include "nlohmann/json.hpp"

namespace freshet {

// What the command line says. Value type, thread-compatible.
struct ServeFlags {
  SyntheticOptions synthetic = {.pages = 1'000'000, .pages_per_host = 10};
  ServedOptions served;
  std::vector<std::string> modes;
  std::vector<int> workers;
  std::vector<int> batches;
  std::vector<uint32_t> credits;
  double seconds = 10;
  double warmup = 0.5;
  std::optional<uint64_t> items;
  double rate = kGreatestRate;
  int connections = 100;
  int in_flight = 0;
  int idle_streams = 0;
  bool half = false;
  bool loaded = false;
  bool in_process = false;
};

// One row of the table.
struct ServeRow {
  std::string mode;
  int workers = 1;
  int batch = 0;        // items of a message; of Next, pages of a call
  uint32_t credit = 0;  // of crawl
  double rate = 0;      // crawls per second that may leave
};

// A mode, what it is measured with unless the command line says otherwise, and which of the tally
// is its unit.
struct ServeMode {
  const char* name;
  std::vector<ServeRow> rows;
  uint64_t share = 0;  // a row takes one in so many of the pages; 0: as many as it likes
  std::atomic<uint64_t> LoadTally::*items;
  Latencies LoadTally::*latencies;
};

[[nodiscard]] const std::vector<ServeMode>& ServeModes();

// Whether it puts each page once, rather than going on for a while.
[[nodiscard]] bool IsLoading(const ServeRow& row);

// The rows of a mode: its own, but for what the command line says.
[[nodiscard]] std::vector<ServeRow> RowsOf(const ServeMode& mode, const ServeFlags& flags);
// Messages of a stream that are not acknowledged: what the server takes of each, but for large
// ones.
[[nodiscard]] int InFlight(const ServeFlags& flags, int batch);

// Items after which a row of the mode ends before its time is over.
[[nodiscard]] uint64_t MostItems(const ServeFlags& flags, const ServeMode& mode);

// All that is counted, at one moment.
struct ServeSample {
  std::chrono::steady_clock::time_point at;
  uint64_t assignments = 0;
  uint64_t results = 0;
  uint64_t signals = 0;
  uint64_t upserts = 0;
  uint64_t items = 0;  // in the unit of the mode
  double client_cpu_seconds = 0;
  std::optional<ProcessUse> server;
  std::map<std::string, double> metrics;
};

// What a row prints: what happened between the two samples.
[[nodiscard]] nlohmann::ordered_json LineOf(const ServeFlags& flags, const ServeMode& mode,
                                            const ServeRow& row, const ServeSample& before,
                                            const ServeSample& after, const LoadTally& tally);

}  // namespace freshet

#endif  // FRESHET_BENCH_SERVE_ROWS_H_
