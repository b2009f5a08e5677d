// Estimates how fresh the pages of a shard are without visiting every page. The sample is drawn by
// fingerprint, so it is uniform for any set of pages. Up to kMaxSample pages, the sample contains
// all pages and the sums are exact. Beyond that, the standard error of the share of fresh pages is
// below 0.5 / sqrt(kMaxSample / 2) = 0.6%.
#ifndef FRESHET_CORE_SCHEDULE_FRESHNESS_SAMPLE_H_
#define FRESHET_CORE_SCHEDULE_FRESHNESS_SAMPLE_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"

namespace freshet {

// Sums over the pages of a shard. The believed freshness is fresh_importance / importance.
struct BelievedFreshness {
  double importance = 0;
  double fresh_importance = 0;  // sum of importance x exp(-staleness)
  double fresh_pages = 0;       // sum of exp(-staleness)
  double overdue_pages = 0;  // pages that should have been crawled by now, whatever their freshness
  uint64_t pages = 0;
  // Standard errors from sampling, of fresh_importance / importance and of fresh_pages / pages; 0
  // if the sums are exact.
  double importance_share_error = 0;
  double pages_share_error = 0;
};

// Owner thread only.
class FreshnessSample {
 public:
  static constexpr size_t kMaxSample = 16'384;

  // The input of Put. `staleness` is the exponent of the page at `since`. It grows by `rate` per
  // second.
  struct Page {
    double importance = 0;
    double staleness = 0;
    Instant since;
    double rate = 0;
    // The instant from which the page is overdue; infinite = never.
    Instant overdue_from = Instant::Infinite();
  };

  // Adds or replaces a page. The fingerprint of a page must not change.
  void Put(PageId id, uint64_t fingerprint, const Page& page);
  void Remove(PageId id) { sample_.erase(id); }

  // The sums at `now`, scaled to `pages` pages.
  [[nodiscard]] BelievedFreshness Sum(Instant now, uint64_t pages) const;

 private:
  struct Sampled {
    uint64_t fingerprint = 0;
    Page page;
  };
  void Halve();

  uint64_t highest_ = UINT64_MAX;  // the sample has the pages with fingerprints up to this one
  absl::flat_hash_map<PageId, Sampled> sample_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_FRESHNESS_SAMPLE_H_
