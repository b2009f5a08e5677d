// The common parts of the papers' experiments: their numbers, and the seeds of an instance.
#ifndef FRESHET_LAB_PAPER_INSTANCES_H_
#define FRESHET_LAB_PAPER_INSTANCES_H_

#include <cstdint>

#include "core/base/random.h"

namespace freshet {

// The crawls per unit of time, and the units of time, in the synthetic worlds.
inline constexpr double kPaperCrawlRate = 100;
inline constexpr double kPaperHorizon = 1000;

// The seeds of an instance, which are the same for all lines of a figure. Value type,
// thread-compatible.
struct InstanceSeeds {
  Random pages;
  Random events;
};
[[nodiscard]] inline InstanceSeeds SeedsOf(uint64_t seed, int pages, int repeat) {
  Random random(Random(seed).Next() ^ Random(static_cast<uint64_t>(pages)).Next());
  for (int i = 0; i < repeat; ++i) (void)random.Next();
  Random own = random.Split();
  const Random drawn = own.Split();
  return {drawn, own.Split()};
}

}  // namespace freshet

#endif  // FRESHET_LAB_PAPER_INSTANCES_H_
