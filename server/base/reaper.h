// Destroys large objects on a separate thread.
#ifndef FRESHET_SERVER_BASE_REAPER_H_
#define FRESHET_SERVER_BASE_REAPER_H_

#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace freshet {

// Freeing an index of ten million pages takes tens of milliseconds. A shard that did so itself
// would answer no calls meanwhile. Thread-compatible.
class Reaper {
 public:
  Reaper() = default;
  ~Reaper() { Join(); }
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  // Destroys the objects of the list. Precondition: nothing else refers to the objects. First waits
  // until the previous list is destroyed. Does nothing for an empty list. If no thread can be
  // started, destroys the list on the calling thread.
  void Destroy(std::vector<std::shared_ptr<void>> list) {
    if (list.empty()) return;
    Join();
    try {
      thread_ = std::thread([list = std::move(list)]() mutable { list.clear(); });
    } catch (const std::system_error&) {
      // The list was moved into the lambda and was destroyed with it.
    }
  }
  // Waits until the last list is destroyed.
  void Join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_REAPER_H_
