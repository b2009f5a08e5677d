// Tells the threads of a replay when and why it ends.
#ifndef FRESHET_LAB_DEMO_STOP_H_
#define FRESHET_LAB_DEMO_STOP_H_

#include <chrono>
#include <cstdint>
#include <utility>

#include "core/base/status.h"
#include "sync/mutex.h"

namespace freshet::demo {

// A flag that changes from running to stopped once. Thread-safe.
class Stop {
 public:
  // Ends the replay cleanly.
  void Request() { Fail(absl::OkStatus()); }

  // Ends the replay with this error, unless it has ended already.
  void Fail(Status status) {
    const MutexLock lock(mutex_);
    if (requested_) return;
    requested_ = true;
    status_ = std::move(status);
    wake_.NotifyAll();
  }

  [[nodiscard]] bool requested() const {
    const MutexLock lock(mutex_);
    return requested_;
  }

  // Why the replay ended; OK while it runs and after a clean end.
  [[nodiscard]] Status status() const {
    const MutexLock lock(mutex_);
    return status_;
  }

  // Waits for `micros`, or until stopped. Returns true if stopped.
  bool WaitFor(int64_t micros) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(micros);
    const MutexLock lock(mutex_);
    while (!requested_ && std::chrono::steady_clock::now() < end) wake_.WaitUntil(mutex_, end);
    return requested_;
  }

 private:
  mutable Mutex mutex_;
  Condition wake_;
  bool requested_ FRESHET_GUARDED_BY(mutex_) = false;
  Status status_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet::demo

#endif  // FRESHET_LAB_DEMO_STOP_H_
