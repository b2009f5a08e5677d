// Distributes the file descriptors of the process. The store comes first, because it accepts no
// more writes if it cannot open a log or a table. Connections get the rest.
#ifndef FRESHET_SERVER_PORTS_DESCRIPTORS_H_
#define FRESHET_SERVER_PORTS_DESCRIPTORS_H_

#include <cstdint>

#include "core/base/status.h"

namespace freshet {

struct PortConfig;

// The numbers that an operator wants. Value type, thread-compatible.
struct DescriptorWishes {
  int connections = 0;       // of gRPC
  int http_connections = 0;  // of the HTTP port
  unsigned cores = 1;        // gRPC keeps two descriptors for each core
};

// The number of descriptors for each part. Value type, thread-compatible.
struct DescriptorPlan {
  int table_files = -1;  // tables that the store keeps open; -1 = all
  int connections = 0;   // at most DescriptorWishes::connections
  int http_connections = 0;
};

// Distributes `limit` descriptors. Not OK: ResourceExhausted, with the number needed, if the limit
// is too low to serve at all.
[[nodiscard]] StatusOr<DescriptorPlan> PlanDescriptors(uint64_t limit,
                                                       const DescriptorWishes& wishes);

// Raises the soft limit of the process to its hard limit, and returns the new soft limit.
uint64_t RaiseDescriptorLimit();

// Raises the limit and plans the descriptors for `config`. Logs numbers that are lower than
// configured.
[[nodiscard]] StatusOr<DescriptorPlan> ShareDescriptors(const PortConfig& config);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_DESCRIPTORS_H_
