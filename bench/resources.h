// What a measurement has cost this process.
#ifndef FRESHET_BENCH_RESOURCES_H_
#define FRESHET_BENCH_RESOURCES_H_

#include <chrono>

namespace freshet {

[[nodiscard]] inline double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
// Processor seconds so far, all threads and the kernel's part included.
[[nodiscard]] double CpuSeconds();
// Those of the calling thread alone: what else the machine does is no part of them.
[[nodiscard]] double ThreadCpuSeconds();
// Resident bytes, but for code and other files, once the allocator has given back what it can.
[[nodiscard]] double ResidentBytes();

}  // namespace freshet

#endif  // FRESHET_BENCH_RESOURCES_H_
