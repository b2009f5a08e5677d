// A thread that polls sockets until it is told to end.
#ifndef FRESHET_SERVER_PORTS_POLLING_THREAD_H_
#define FRESHET_SERVER_PORTS_POLLING_THREAD_H_

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "core/base/check.h"

namespace freshet {

// The thread. Lifecycle: Start, Stop. Thread-compatible, but the thread itself calls `end`.
class PollingThread {
 public:
  PollingThread() = default;
  PollingThread(const PollingThread&) = delete;
  PollingThread& operator=(const PollingThread&) = delete;

  // Starts the thread, which calls `run`. `run` polls `end` together with its sockets, and returns
  // when `end` has an event.
  void Start(std::function<void()> run) {
    CHECK(!thread_.joinable(), "started already");
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK(wake_ >= 0, "eventfd: {}", std::strerror(errno));
    thread_ = std::thread(std::move(run));
  }
  // Ends the thread and waits for it. Idempotent. Everything that `run` uses must still exist.
  void Stop() {
    if (!thread_.joinable()) return;
    const uint64_t one = 1;
    (void)!write(wake_, &one, sizeof(one));
    thread_.join();
    close(std::exchange(wake_, -1));
  }
  [[nodiscard]] pollfd end() const { return {.fd = wake_, .events = POLLIN, .revents = 0}; }

 private:
  int wake_ = -1;  // an eventfd
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_POLLING_THREAD_H_
