// How the file descriptors of the process are shared out. The store comes first: without one for a
// log or a table it takes no more writes. Connections get what is left.
#ifndef FRESHET_SERVER_PORTS_DESCRIPTORS_H_
#define FRESHET_SERVER_PORTS_DESCRIPTORS_H_

#include <cstdint>

#include "core/base/status.h"

namespace freshet {

struct ServerConfig;

// What an operator would like. Value type, thread-compatible.
struct DescriptorWishes {
  int connections = 0;       // of gRPC
  int http_connections = 0;  // likewise
  unsigned cores = 1;        // gRPC keeps two descriptors for each
  bool frontier = false;     // there is a database of the crawl-frontier API as well
};

// What there is for each. Value type, thread-compatible.
struct DescriptorPlan {
  int table_files = -1;           // that the store keeps open; -1: all of them
  int frontier_table_files = -1;  // likewise the frontier's database, where there is one
  int connections = 0;            // at most as wished
  int http_connections = 0;
};

// ResourceExhausted, with the number needed, when `limit` descriptors are too few to serve with.
[[nodiscard]] StatusOr<DescriptorPlan> PlanDescriptors(uint64_t limit,
                                                       const DescriptorWishes& wishes);

// Raises what the process may open to the most that it may raise it to, and returns that.
uint64_t RaiseDescriptorLimit();

// Both, for what the configuration wishes; less than that is logged.
[[nodiscard]] StatusOr<DescriptorPlan> ShareDescriptors(const ServerConfig& config);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_DESCRIPTORS_H_
