// How the threads of a replay learn that it is over, and why.
#ifndef FRESHET_TOOLS_DEMO_STOP_H_
#define FRESHET_TOOLS_DEMO_STOP_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

#include "core/base/status.h"

namespace freshet::demo {

// Goes from running to stopped once. Thread-safe.
class Stop {
 public:
  // Everything was done: an orderly end.
  void Request() { Fail(absl::OkStatus()); }

  // Ends with that error, unless it already has ended.
  void Fail(Status status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (requested_) return;
    requested_ = true;
    status_ = std::move(status);
    wake_.notify_all();
  }

  [[nodiscard]] bool requested() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return requested_;
  }

  // Why it ended; OK while it has not.
  [[nodiscard]] Status status() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return status_;
  }

  // Waits that long, or until stopped; true if stopped.
  bool WaitFor(int64_t micros) {
    std::unique_lock<std::mutex> lock(mutex_);
    return wake_.wait_for(lock, std::chrono::microseconds(micros), [this] { return requested_; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  // Guarded by mutex_:
  bool requested_ = false;
  Status status_;
};

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_STOP_H_
