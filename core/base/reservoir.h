// A random sample of bounded size from any number of items.
#ifndef FRESHET_CORE_BASE_RESERVOIR_H_
#define FRESHET_CORE_BASE_RESERVOIR_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/random.h"

namespace freshet {

// Keeps at most `most` of the added items. Every item is kept with the same probability (reservoir
// sampling, Vitter's algorithm R). Owner thread only.
template <typename T>
class Reservoir {
 public:
  // Precondition: most >= 1.
  Reservoir(size_t most, uint64_t seed) : most_(most), random_(seed) {
    CHECK(most >= 1, "a sample of nothing");
  }

  void Add(T item) {
    ++seen_;
    if (items_.size() < most_) {
      items_.push_back(std::move(item));
      return;
    }
    const uint64_t place = random_.Below(seen_);
    if (place < most_) items_[place] = std::move(item);
  }
  [[nodiscard]] const std::vector<T>& items() const { return items_; }
  [[nodiscard]] uint64_t seen() const { return seen_; }

 private:
  size_t most_;
  Random random_;
  uint64_t seen_ = 0;
  std::vector<T> items_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_RESERVOIR_H_
