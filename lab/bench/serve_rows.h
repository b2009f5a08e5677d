// The rows that freshet-bench serve measures and prints.
#ifndef FRESHET_LAB_BENCH_SERVE_ROWS_H_
#define FRESHET_LAB_BENCH_SERVE_ROWS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/bench/daemon.h"
#include "lab/bench/load.h"
#include "lab/bench/served.h"
#include "lab/bench/synthetic_store.h"
#include "nlohmann/json.hpp"

namespace freshet {

// The flags of the command line. Value type, thread-compatible.
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
  int batch = 0;        // items in a message; for Next, pages in a call
  uint32_t credit = 0;  // of a worker, in mode crawl
  double rate = 0;      // crawls per second
};

// A mode, its default rows, and the counter of the tally that counts its items.
struct ServeMode {
  const char* name;
  std::vector<ServeRow> rows;
  uint64_t share = 0;  // a row has at most (pages / share) items; 0 = no limit
  std::atomic<uint64_t> LoadTally::*items;
  Latencies LoadTally::*latencies;
};

[[nodiscard]] const std::vector<ServeMode>& ServeModes();

// Whether the row puts each page once, and does not run for a fixed time.
[[nodiscard]] bool IsLoading(const ServeRow& row);

// Returns the rows of a mode: its default rows, modified by the command line.
[[nodiscard]] std::vector<ServeRow> RowsOf(const ServeMode& mode, const ServeFlags& flags);
// Returns the maximum number of unacknowledged messages of a stream. It is the limit of the server,
// or less if messages are large.
[[nodiscard]] int InFlight(const ServeFlags& flags, int batch);

// Returns the number of items after which a row ends early.
[[nodiscard]] uint64_t MostItems(const ServeFlags& flags, const ServeMode& mode);

// All counters at one moment.
struct ServeSample {
  std::chrono::steady_clock::time_point at;
  uint64_t assignments = 0;
  uint64_t results = 0;
  uint64_t signals = 0;
  uint64_t upserts = 0;
  uint64_t items = 0;  // in the mode's unit
  double client_cpu_seconds = 0;
  std::optional<ProcessUse> server;
  std::map<std::string, double> metrics;
};

// Makes the output line of a row from the differences between the two samples.
[[nodiscard]] nlohmann::ordered_json LineOf(const ServeFlags& flags, const ServeMode& mode,
                                            const ServeRow& row, const ServeSample& before,
                                            const ServeSample& after, const LoadTally& tally);

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_SERVE_ROWS_H_
