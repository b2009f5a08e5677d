// Tells how much of the machine a process uses, on Linux.
#ifndef FRESHET_TESTS_HOSTILE_USAGE_H_
#define FRESHET_TESTS_HOSTILE_USAGE_H_

#include <sys/types.h>

#include <cstdint>

namespace freshet::hostile {

struct Usage {
  uint64_t peak_mib = 0;  // peak of resident memory
  uint64_t threads = 0;
  uint64_t files = 0;  // open descriptors, including connections
};

Usage UsageOf(pid_t pid);

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_USAGE_H_
