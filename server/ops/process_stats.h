// What the process takes of the machine, as the kernel counts it.
#ifndef FRESHET_SERVER_OPS_PROCESS_STATS_H_
#define FRESHET_SERVER_OPS_PROCESS_STATS_H_

#include <cstdint>
#include <string>

namespace freshet {

// What cannot be read is zero. Value type, thread-compatible.
struct ProcessStats {
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  double cpu_seconds = 0;  // of all threads, in user and in system mode
  uint64_t open_fds = 0;
  uint64_t max_fds = 0;
  uint64_t threads = 0;
  double start_time = 0;  // seconds since 1970
};

// Some 20 us, and 1 us for each open descriptor. `proc` is where the kernel shows processes.
[[nodiscard]] ProcessStats ReadProcessStats(const std::string& proc = "/proc");

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_PROCESS_STATS_H_
