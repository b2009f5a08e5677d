// The resources that this process has used.
#ifndef FRESHET_LAB_BENCH_RESOURCES_H_
#define FRESHET_LAB_BENCH_RESOURCES_H_

#include <chrono>

namespace freshet {

[[nodiscard]] inline double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
// The processor time of this process so far in seconds, of all threads and including the kernel.
[[nodiscard]] double CpuSeconds();
// The processor time of the calling thread in seconds. Other work does not affect it.
[[nodiscard]] double ThreadCpuSeconds();
// Resident bytes, not counting code and other mapped files, after the allocator has returned what
// it can.
[[nodiscard]] double ResidentBytes();

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_RESOURCES_H_
