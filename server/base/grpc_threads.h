// The threads of gRPC, which read, write, do TLS handshakes and run callbacks.
#ifndef FRESHET_SERVER_BASE_GRPC_THREADS_H_
#define FRESHET_SERVER_BASE_GRPC_THREADS_H_

#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace freshet {

// The number of gRPC's threads. gRPC 1.51 runs one thread for every two processors, but at least 2
// and at most 16. Thread-safe.
[[nodiscard]] inline size_t GrpcThreads() {
  return static_cast<size_t>(std::clamp(sysconf(_SC_NPROCESSORS_CONF) / 2, 2L, 16L));
}
// The number of gRPC threads that may do long work: all but one, which stays free for short work.
// Thread-safe.
[[nodiscard]] inline size_t GrpcThreadsForLongWork() { return GrpcThreads() - 1; }

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_GRPC_THREADS_H_
