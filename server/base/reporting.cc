#include "server/base/reporting.h"

#include <thread>

#include "sync/mutex.h"

namespace freshet {

void RunReporting(const std::vector<std::function<void()>>& work, Duration interval,
                  const std::function<void()>& report) {
  Mutex mutex;
  Condition ended;
  size_t running = work.size();
  std::vector<std::thread> threads;
  threads.reserve(work.size());
  for (const std::function<void()>& piece : work) {
    threads.emplace_back([&] {
      piece();
      const MutexLock lock(mutex);
      // Only the last thread wakes the caller, so that the caller does not report before the
      // interval ends.
      if (--running == 0) ended.NotifyAll();
    });
  }
  MutexLock lock(mutex);
  while (running > 0) {
    ended.WaitFor(mutex, interval.chrono());
    if (running == 0 || !report) continue;
    lock.Unlock();
    report();
    lock.Lock();
  }
  lock.Unlock();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace freshet
