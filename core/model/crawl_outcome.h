// What a crawl of a page has found.
#ifndef FRESHET_CORE_MODEL_CRAWL_OUTCOME_H_
#define FRESHET_CORE_MODEL_CRAWL_OUTCOME_H_

#include <cstdint>

namespace freshet {

enum class CrawlOutcome : uint8_t {
  kUnchanged = 1,
  kChanged = 2,
  kError = 3,
  kGone = 4,
  kMoved = 5,
  kRobotsDenied = 6,  // robots.txt forbids it: nobody has looked
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_CRAWL_OUTCOME_H_
