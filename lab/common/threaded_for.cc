#include "lab/common/threaded_for.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace freshet {

ParallelFor ThreadedFor(unsigned threads) {
  const unsigned wanted = threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  return [wanted](size_t chunks, const std::function<void(size_t chunk)>& body) {
    const size_t helpers = std::min<size_t>(wanted, chunks);
    if (helpers <= 1) return SerialFor(chunks, body);
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t chunk = next++; chunk < chunks; chunk = next++) body(chunk);
    };
    std::vector<std::thread> others;
    try {
      for (size_t i = 1; i < helpers; ++i) others.emplace_back(work);
    } catch (const std::system_error&) {
      // If the system refuses more threads, fewer are enough.
    }
    work();
    for (std::thread& other : others) other.join();
  };
}

}  // namespace freshet
