// Locks for all code except core, which has no threads: std::mutex with annotations that let clang
// prove which lock guards which field. (absl::Mutex is not used, because ThreadSanitizer does not
// understand it if Abseil is installed as a package.)
#ifndef FRESHET_SYNC_MUTEX_H_
#define FRESHET_SYNC_MUTEX_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define FRESHET_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define FRESHET_THREAD_ANNOTATION(x)
#endif

#define FRESHET_GUARDED_BY(x) FRESHET_THREAD_ANNOTATION(guarded_by(x))
#define FRESHET_REQUIRES(x) FRESHET_THREAD_ANNOTATION(requires_capability(x))
#define FRESHET_EXCLUDES(x) FRESHET_THREAD_ANNOTATION(locks_excluded(x))

namespace freshet {

// Thread-safe.
class FRESHET_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void Lock() FRESHET_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  [[nodiscard]] bool TryLock() FRESHET_THREAD_ANNOTATION(try_acquire_capability(true)) {
    return mutex_.try_lock();
  }
  void Unlock() FRESHET_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

// Holds a mutex for a scope, and can release it for a while. Owner thread only.
class FRESHET_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) FRESHET_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() FRESHET_THREAD_ANNOTATION(release_capability()) {
    if (held_) mutex_.Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() FRESHET_THREAD_ANNOTATION(release_capability()) {
    mutex_.Unlock();
    held_ = false;
  }
  void Lock() FRESHET_THREAD_ANNOTATION(acquire_capability()) {
    mutex_.Lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// Thread-safe. Wakeups may be spurious, so callers must wait in a loop that tests the condition.
class Condition {
 public:
  void Wait(Mutex& mutex) FRESHET_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // Returns when notified or after `timeout`, which may be zero, negative or the maximum.
  void WaitFor(Mutex& mutex, std::chrono::microseconds timeout) FRESHET_REQUIRES(mutex) {
    if (timeout <= timeout.zero()) return;
    // Waits of more than a year are shortened to a year, because larger values overflow inside the
    // standard library.
    timeout = std::min<std::chrono::microseconds>(timeout, std::chrono::hours(24 * 365));
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait_for(lock, timeout);
    lock.release();
  }
  // Returns when notified, or at the latest at `until`.
  void WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point until)
      FRESHET_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait_until(lock, until);
    lock.release();
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace freshet

#endif  // FRESHET_SYNC_MUTEX_H_
