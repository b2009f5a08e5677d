// A maximum that applies to all shards together, such as the pages of a crawl id or the hosts of
// the server.
#ifndef FRESHET_CORE_SCHEDULE_QUOTA_H_
#define FRESHET_CORE_SCHEDULE_QUOTA_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace freshet {

// A maximum, and the number of places in use. SetMost can lower the maximum below that number.
// Thread-safe.
class Quota {
 public:
  explicit Quota(uint64_t most = UINT64_MAX) : most_(most) {}

  // Takes a place. Returns false if none is free.
  [[nodiscard]] bool Take() {
    uint64_t used = used_.load();
    while (used < most_.load()) {
      if (used_.compare_exchange_weak(used, used + 1)) return true;
    }
    return false;
  }
  // Counts things that already exist, even if this exceeds the maximum.
  void Add(uint64_t number) { used_.fetch_add(number); }
  void Give(uint64_t number) { used_.fetch_sub(number); }
  void SetMost(uint64_t most) { most_ = most; }
  [[nodiscard]] uint64_t most() const { return most_; }
  [[nodiscard]] uint64_t used() const { return used_; }

 private:
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> most_;
};

// Places that were taken for things that are not committed yet. The destructor returns unused
// places to their quotas. Movable, thread-compatible.
class TakenPlaces {
 public:
  TakenPlaces() = default;
  TakenPlaces(TakenPlaces&& other) noexcept { swap(other); }
  TakenPlaces& operator=(TakenPlaces&& other) noexcept {
    swap(other);
    return *this;
  }
  TakenPlaces(const TakenPlaces&) = delete;
  TakenPlaces& operator=(const TakenPlaces&) = delete;
  ~TakenPlaces() { Return(); }

  void Add(std::shared_ptr<Quota> quota) { quotas_.push_back(std::move(quota)); }
  // Uses a place of `quota`. Returns false if none was taken.
  bool Use(const Quota* quota);
  // Returns all unused places to their quotas.
  void Return();

 private:
  void swap(TakenPlaces& other) { quotas_.swap(other.quotas_); }
  std::vector<std::shared_ptr<Quota>> quotas_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_QUOTA_H_
