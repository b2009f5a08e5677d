// A thread that calls a function at intervals.
#ifndef FRESHET_SERVER_BASE_TICKER_H_
#define FRESHET_SERVER_BASE_TICKER_H_

#include <functional>
#include <thread>
#include <utility>

#include "core/base/units.h"
#include "sync/mutex.h"

namespace freshet {

// Thread-safe.
class Ticker {
 public:
  // Calls `tick` one interval after the start, and again one interval after each call has returned,
  // until Stop.
  Ticker(Duration interval, std::function<void()> tick)
      : interval_(interval), tick_(std::move(tick)), thread_([this] { Run(); }) {}
  ~Ticker() { Stop(); }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Stops the calls and waits for one that is running. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      stops_ = true;
      wake_.NotifyAll();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() FRESHET_EXCLUDES(mutex_) {
    while (true) {
      {
        const MutexLock lock(mutex_);
        if (!stops_) wake_.WaitFor(mutex_, interval_.chrono());
        if (stops_) return;
      }
      tick_();
    }
  }

  const Duration interval_;
  const std::function<void()> tick_;
  Mutex mutex_;
  Condition wake_;
  bool stops_ FRESHET_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last, because it uses the members above
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_TICKER_H_
