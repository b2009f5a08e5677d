// Destroys large things on a thread of its own.
#ifndef FRESHET_SERVER_BASE_REAPER_H_
#define FRESHET_SERVER_BASE_REAPER_H_

#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace freshet {

// To free an index of ten million pages takes tens of milliseconds, in which a shard would answer
// no call. Thread-compatible.
class Reaper {
 public:
  Reaper() = default;
  ~Reaper() { Join(); }
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  // Destroys the list, which nobody else may hold. Waits until the one before is destroyed; an
  // empty list costs nothing. Destroys it here if no thread can be started.
  void Destroy(std::vector<std::shared_ptr<void>> list) {
    if (list.empty()) return;
    Join();
    try {
      thread_ = std::thread([list = std::move(list)]() mutable { list.clear(); });
    } catch (const std::system_error&) {
      // The list went with the lambda that it was moved into.
    }
  }
  // Waits until all is destroyed.
  void Join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_REAPER_H_
