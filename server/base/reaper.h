// Destroys what takes long to destroy on a thread of its own.
#ifndef FRESHET_SERVER_BASE_REAPER_H_
#define FRESHET_SERVER_BASE_REAPER_H_

#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace freshet {

// Thread-compatible. An index of ten million pages that is given back at once takes tens of
// milliseconds, in which a shard would answer nobody.
class Reaper {
 public:
  Reaper() = default;
  ~Reaper() { Join(); }
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  // Drops the list, which nobody else may hold. Waits for the one before, if that is still going
  // on; an empty list costs nothing. Where there is no thread to be had it is dropped here.
  void Destroy(std::vector<std::shared_ptr<void>> list) {
    if (list.empty()) return;
    Join();
    try {
      thread_ = std::thread([list = std::move(list)]() mutable { list.clear(); });
    } catch (const std::system_error&) {
      // What was moved into the lambda went with it.
    }
  }
  // Returns once all is destroyed.
  void Join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_REAPER_H_
