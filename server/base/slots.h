// A counting semaphore that never blocks, for operations that are in flight at the same time.
#ifndef FRESHET_SERVER_BASE_SLOTS_H_
#define FRESHET_SERVER_BASE_SLOTS_H_

#include <atomic>
#include <cstddef>

namespace freshet {

// Thread-safe.
class Slots {
 public:
  explicit Slots(size_t count) : free_(count) {}
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  // Returns false if all slots are taken. If it returns true, the caller must call Give later.
  [[nodiscard]] bool Take() {
    size_t free = free_;
    while (free > 0 && !free_.compare_exchange_weak(free, free - 1)) {
    }
    return free > 0;
  }
  void Give() { ++free_; }

 private:
  std::atomic<size_t> free_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_SLOTS_H_
