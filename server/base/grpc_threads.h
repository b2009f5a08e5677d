// The threads on which gRPC reads, writes, shakes hands and calls back.
#ifndef FRESHET_SERVER_BASE_GRPC_THREADS_H_
#define FRESHET_SERVER_BASE_GRPC_THREADS_H_

#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace freshet {

// gRPC 1.51 has half as many of them as there are processors, but 2 to 16. All but one of them may
// do what takes long: the last one goes on with what is short. Thread-safe.
[[nodiscard]] inline size_t GrpcThreadsForLongWork() {
  return static_cast<size_t>(std::clamp(sysconf(_SC_NPROCESSORS_CONF) / 2, 2L, 16L)) - 1;
}

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_GRPC_THREADS_H_
