// How a long pass over pages may use several cores without core making threads: the caller passes
// the executor in.
#ifndef FRESHET_CORE_PLAN_PARALLEL_H_
#define FRESHET_CORE_PLAN_PARALLEL_H_

#include <cstddef>
#include <functional>

namespace freshet {

// Calls body(0) ... body(chunks - 1), each once, in any order and possibly at the same time, and
// returns when all are done. Bodies of different chunks touch no common memory. Results never
// depend on the executor: partial sums are kept by chunk and added in order.
using ParallelFor =
    std::function<void(size_t chunks, const std::function<void(size_t chunk)>& body)>;

// One chunk after the other on the calling thread: the default.
inline void SerialFor(size_t chunks, const std::function<void(size_t chunk)>& body) {
  for (size_t chunk = 0; chunk < chunks; ++chunk) body(chunk);
}

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_PARALLEL_H_
