// Shares out the file descriptors of the process. The store comes first: without one for a log or a
// table it takes no more writes. Connections get the rest.
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
  unsigned cores = 1;        // gRPC keeps two descriptors for each
};

// The numbers that each part gets. Value type, thread-compatible.
struct DescriptorPlan {
  int table_files = -1;  // that the store keeps open; -1: all of them
  int connections = 0;   // at most as wished
  int http_connections = 0;
};

// Shares out `limit` descriptors. ResourceExhausted, with the number needed, if they are too few to
// serve.
[[nodiscard]] StatusOr<DescriptorPlan> PlanDescriptors(uint64_t limit,
                                                       const DescriptorWishes& wishes);

// Raises the soft limit of the process to its hard limit, and returns it.
uint64_t RaiseDescriptorLimit();

// Does both for the configuration, and logs numbers below its wishes.
[[nodiscard]] StatusOr<DescriptorPlan> ShareDescriptors(const PortConfig& config);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_DESCRIPTORS_H_
