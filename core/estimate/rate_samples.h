// A bounded sample of pages, the same in whatever order and on however many shards they are seen.
#ifndef FRESHET_CORE_ESTIMATE_RATE_SAMPLES_H_
#define FRESHET_CORE_ESTIMATE_RATE_SAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/model/page_number.h"

namespace freshet {

// What one page showed, for the fit of the rate prior: (expected) changes in an exposure. Value
// type, thread-compatible.
struct RateSample {
  double changes = 0;   // >= 0
  double exposure = 0;  // operational days, >= 0
};

// Of all pages added, the `max` whose numbers have the smallest hashes (bottom-k sampling: Cohen
// and Kaplan 2007). As that is a property of the pages alone, samples of parts add up to the sample
// of the whole, exactly. Value type, thread-compatible.
class RateSamples {
 public:
  // A page by its hash.
  struct Kept {
    uint64_t hash = 0;
    float changes = 0;
    float exposure = 0;
  };

  explicit RateSamples(size_t max) : max_(max) {}

  // Drops all, and keeps their memory for the next.
  void Clear() { kept_.clear(); }
  // Each page once.
  void Add(PageNumber page, const RateSample& sample);
  void Add(const RateSamples& other);
  // One that another sample kept.
  void Keep(const Kept& sample);
  // In an order that depends on the pages alone.
  [[nodiscard]] std::vector<RateSample> Values() const;
  // In no order.
  [[nodiscard]] std::span<const Kept> kept() const { return kept_; }
  [[nodiscard]] size_t size() const { return kept_.size(); }
  [[nodiscard]] size_t Bytes() const { return kept_.capacity() * sizeof(Kept); }

 private:
  static bool Before(const Kept& a, const Kept& b) { return a.hash < b.hash; }

  size_t max_;
  std::vector<Kept> kept_;  // a heap; the largest hash on top
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_RATE_SAMPLES_H_
