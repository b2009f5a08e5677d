// The resources that this process has used.
#ifndef FRESHET_LAB_BENCH_RESOURCES_H_
#define FRESHET_LAB_BENCH_RESOURCES_H_

#include <chrono>

namespace freshet {

[[nodiscard]] inline double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
// Processor seconds so far, of all threads and including the kernel.
[[nodiscard]] double CpuSeconds();
// Processor seconds of the calling thread, unaffected by other work.
[[nodiscard]] double ThreadCpuSeconds();
// Resident bytes without code and other files, after the allocator has returned what it can.
[[nodiscard]] double ResidentBytes();

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_RESOURCES_H_
