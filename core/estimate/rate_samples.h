// A bounded sample of pages that does not depend on their order or on the number of shards.
#ifndef FRESHET_CORE_ESTIMATE_RATE_SAMPLES_H_
#define FRESHET_CORE_ESTIMATE_RATE_SAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/model/page_number.h"

namespace freshet {

// The sample of one page for the fit of the rate prior: the (expected) number of changes in an
// exposure. Value type, thread-compatible.
struct RateSample {
  double changes = 0;   // >= 0
  double exposure = 0;  // operational days, >= 0
};

// Keeps the `max` pages whose numbers have the smallest hashes (bottom-k sampling: Cohen and Kaplan
// 2007). The sample depends only on the pages, so the samples of parts add up exactly to the sample
// of the whole. Value type, thread-compatible.
class RateSamples {
 public:
  // A page, represented by its hash.
  struct Kept {
    uint64_t hash = 0;
    float changes = 0;
    float exposure = 0;
  };

  explicit RateSamples(size_t max) : max_(max) {}

  // Removes all samples, but keeps the memory.
  void Clear() { kept_.clear(); }
  // Adds a page. Precondition: no page is added twice.
  void Add(PageNumber page, const RateSample& sample);
  void Add(const RateSamples& other);
  // Adds a page that another sample kept.
  void Keep(const Kept& sample);
  // The samples, in an order that depends only on the pages.
  [[nodiscard]] std::vector<RateSample> Values() const;
  // The kept pages, in no particular order.
  [[nodiscard]] std::span<const Kept> kept() const { return kept_; }
  [[nodiscard]] size_t size() const { return kept_.size(); }
  [[nodiscard]] size_t Bytes() const { return kept_.capacity() * sizeof(Kept); }

 private:
  static bool Before(const Kept& a, const Kept& b) { return a.hash < b.hash; }

  size_t max_;
  std::vector<Kept> kept_;  // a heap with the largest hash on top
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_RATE_SAMPLES_H_
