// How fresh the pages of a shard are believed to be, without looking at every page: a sample drawn
// by fingerprint, which is uniform whatever the pages are. Up to kMaxSample pages it is all of
// them and the sums are exact; beyond that the standard error of the share of fresh pages is below
// 0.5 / sqrt(kMaxSample / 2) = 0.6%.
#ifndef FRESHET_CORE_SCHEDULE_FRESHNESS_SAMPLE_H_
#define FRESHET_CORE_SCHEDULE_FRESHNESS_SAMPLE_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"

namespace freshet {

// Sums over the pages of a shard: believed freshness is fresh_importance / importance.
struct BelievedFreshness {
  double importance = 0;
  double fresh_importance = 0;  // sum of importance x exp(-staleness)
  double fresh_pages = 0;       // sum of exp(-staleness)
  double overdue_pages = 0;     // that should have been crawled by now, however fresh they are
  uint64_t pages = 0;
  // Standard errors of fresh_importance / importance and of fresh_pages / pages from sampling;
  // zero where the sums are exact.
  double importance_share_error = 0;
  double pages_share_error = 0;
};

// Owner thread only.
class FreshnessSample {
 public:
  static constexpr size_t kMaxSample = 16'384;

  // What Put needs of a page: its staleness exponent at `since`, growing by `rate` per second.
  struct Page {
    double importance = 0;
    double staleness = 0;
    Instant since;
    double rate = 0;
    Instant overdue_from = Instant::Infinite();  // it was to be crawled by then; infinite: never
  };

  // Adds the page or replaces what is known of it. A page keeps its fingerprint.
  void Put(PageId id, uint64_t fingerprint, const Page& page);
  void Remove(PageId id) { sample_.erase(id); }

  // As of `now`, for `pages` pages in all.
  [[nodiscard]] BelievedFreshness Sum(Instant now, uint64_t pages) const;

 private:
  struct Sampled {
    uint64_t fingerprint = 0;
    Page page;
  };
  void Halve();

  uint64_t highest_ = UINT64_MAX;  // fingerprints up to here are in the sample
  absl::flat_hash_map<PageId, Sampled> sample_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_FRESHNESS_SAMPLE_H_
