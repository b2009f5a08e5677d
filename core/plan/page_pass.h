// One pass over all pages, with sums that are the same for every executor.
#ifndef FRESHET_CORE_PLAN_PAGE_PASS_H_
#define FRESHET_CORE_PLAN_PAGE_PASS_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/plan/parallel.h"

namespace freshet {

// Pages per unit of parallel work: large enough to hide the overhead of a unit, and small enough to
// balance the load.
inline constexpr size_t kPlanChunk = 1 << 14;

// Number of pages whose sum is computed first and then added to the sum of the chunk. This keeps
// the rounding error of a sum over millions of similar numbers below 1e-14.
inline constexpr size_t kPlanBlock = 1 << 7;

// A sum of rates and its derivative.
struct RateSum {
  double rate = 0;
  double slope = 0;

  void operator+=(const RateSum& other) {
    rate += other.rate;
    slope += other.slope;
  }
};

// The sum of page(i) over the pages i = 0, stride, 2 stride, ... It is added up by chunks in a
// fixed order, so the result is the same for every executor. stride is a power of two up to
// kPlanChunk.
template <typename PageFunction>
[[nodiscard]] RateSum SumPages(size_t pages, size_t stride, const ParallelFor& parallel,
                               const PageFunction& page) {
  const size_t chunks = (pages + kPlanChunk - 1) / kPlanChunk;
  std::vector<RateSum> parts(chunks);
  parallel(chunks, [&](size_t chunk) {
    const size_t end = std::min(pages, (chunk + 1) * kPlanChunk);
    RateSum part;
    for (size_t i = chunk * kPlanChunk; i < end;) {
      const size_t block_end = std::min(end, i + kPlanBlock * stride);
      RateSum block;
      for (; i < block_end; i += stride) block += page(i);
      part += block;
    }
    parts[chunk] = part;
  });
  RateSum sum;
  for (const RateSum& part : parts) sum += part;
  return sum;
}

// The planned crawls of one page per unit of time, and the page's KKT residual (RatePlan).
struct PlannedPage {
  double crawls = 0;
  double residual = 0;
};

// The results of the last pass, which writes the plan: the sum of all crawls and the maximum
// residual.
struct FinishedPass {
  double used = 0;
  double kkt_residual = 0;
};

// Combines finish(i) over all pages. finish(i) writes the plan of page i, and writes to no memory
// of other pages.
template <typename FinishFunction>
[[nodiscard]] FinishedPass FinishPages(size_t pages, const ParallelFor& parallel,
                                       const FinishFunction& finish) {
  const size_t chunks = (pages + kPlanChunk - 1) / kPlanChunk;
  std::vector<FinishedPass> parts(chunks);
  parallel(chunks, [&](size_t chunk) {
    const size_t end = std::min(pages, (chunk + 1) * kPlanChunk);
    FinishedPass part;
    for (size_t i = chunk * kPlanChunk; i < end;) {
      const size_t block_end = std::min(end, i + kPlanBlock);
      double used = 0;
      for (; i < block_end; ++i) {
        const PlannedPage page = finish(i);
        used += page.crawls;
        part.kkt_residual = std::max(part.kkt_residual, page.residual);
      }
      part.used += used;
    }
    parts[chunk] = part;
  });
  FinishedPass pass;
  for (const FinishedPass& part : parts) {
    pass.used += part.used;
    pass.kkt_residual = std::max(pass.kkt_residual, part.kkt_residual);
  }
  return pass;
}

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_PAGE_PASS_H_
