// A fair lock, for threads that hold it for a long time.
#ifndef FRESHET_TOOLS_SITEMAP_TURN_H_
#define FRESHET_TOOLS_SITEMAP_TURN_H_

#include <cstdint>

#include "sync/mutex.h"

namespace freshet::sitemap {

// Serves requests in order. A thread that releases the lock and requests it again comes after all
// threads that wait already. Thread-safe.
class FRESHET_THREAD_ANNOTATION(capability("mutex")) Turn {
 public:
  void Lock() FRESHET_THREAD_ANNOTATION(acquire_capability())
      FRESHET_THREAD_ANNOTATION(no_thread_safety_analysis) {
    const MutexLock lock(mutex_);
    const uint64_t mine = asked_++;
    while (mine != served_) changed_.Wait(mutex_);
  }
  // Takes the lock only if nobody has it or waits for it.
  [[nodiscard]] bool TryLock() FRESHET_THREAD_ANNOTATION(try_acquire_capability(true))
      FRESHET_THREAD_ANNOTATION(no_thread_safety_analysis) {
    const MutexLock lock(mutex_);
    if (asked_ != served_) return false;
    ++asked_;
    return true;
  }
  void Unlock() FRESHET_THREAD_ANNOTATION(release_capability())
      FRESHET_THREAD_ANNOTATION(no_thread_safety_analysis) {
    {
      const MutexLock lock(mutex_);
      ++served_;
    }
    changed_.NotifyAll();
  }
  [[nodiscard]] uint64_t Waiting() {
    const MutexLock lock(mutex_);
    return asked_ - served_ - (asked_ > served_ ? 1 : 0);
  }

 private:
  Mutex mutex_;
  Condition changed_;
  uint64_t asked_ FRESHET_GUARDED_BY(mutex_) = 0;   // number of requests so far
  uint64_t served_ FRESHET_GUARDED_BY(mutex_) = 0;  // number of finished requests
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_TURN_H_
