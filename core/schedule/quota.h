// How many of a thing there may be over all shards: pages of a crawl id, hosts of the server.
#ifndef FRESHET_CORE_SCHEDULE_QUOTA_H_
#define FRESHET_CORE_SCHEDULE_QUOTA_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace freshet {

// The number there may be and the number there are, which can be more after the first was lowered.
// Thread-safe.
class Quota {
 public:
  explicit Quota(uint64_t most = UINT64_MAX) : most_(most) {}

  // Takes the place of one more; false: there is none.
  [[nodiscard]] bool Take() {
    if (used_.fetch_add(1) < most_.load()) return true;
    used_.fetch_sub(1);
    return false;
  }
  // Counts what is there already.
  void Add(uint64_t number) { used_.fetch_add(number); }
  void Give(uint64_t number) { used_.fetch_sub(number); }
  void SetMost(uint64_t most) { most_ = most; }
  [[nodiscard]] uint64_t most() const { return most_; }
  [[nodiscard]] uint64_t used() const { return used_; }

 private:
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> most_;
};

// Places that were taken for things which are still to be committed: those that are not used go
// back with this. Movable, thread-compatible.
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
  // One takes its place; false: none was taken for it.
  bool Use(const Quota* quota);
  void Return();

 private:
  void swap(TakenPlaces& other) { quotas_.swap(other.quotas_); }
  std::vector<std::shared_ptr<Quota>> quotas_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_QUOTA_H_
