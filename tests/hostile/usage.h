// What a process takes of the machine, as Linux tells it.
#ifndef FRESHET_TESTS_HOSTILE_USAGE_H_
#define FRESHET_TESTS_HOSTILE_USAGE_H_

#include <sys/types.h>

#include <cstdint>

namespace freshet::hostile {

struct Usage {
  uint64_t peak_mib = 0;  // most memory that was resident at any time
  uint64_t threads = 0;
  uint64_t files = 0;  // descriptors, connections among them
};

Usage UsageOf(pid_t pid);

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_USAGE_H_
