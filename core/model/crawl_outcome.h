// The result of a crawl of a page.
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
  kRobotsDenied = 6,  // robots.txt forbids the page, so the worker did not fetch it
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_CRAWL_OUTCOME_H_
