// An awake page with everything that a pick needs. The page's record is usually not in the cache.
// It is read only when the page wakes, and written when the page is crawled.
#ifndef FRESHET_CORE_INDEX_AWAKE_PAGE_H_
#define FRESHET_CORE_INDEX_AWAKE_PAGE_H_

#include <cstdint>

#include "core/base/units.h"
#include "core/model/crawl_value.h"

namespace freshet {

// One cache line. Most pages that wake are crawled within a few thousand picks. Until then their
// values are computed from `turn`, `rate` and `importance` if the policy is plain (IsPlain in
// core/index/index_record.h), otherwise from value parameters that AwakePages keeps. Value type,
// thread-compatible.
struct AwakePage {
  PageId page;
  int64_t turn = 0;  // among equal values the page with the smaller turn wins
  // Bounds the value from `since` on.
  ValueJet jet;
  Instant since;
  // Copied from the record, so that most values can be computed without it.
  float importance = 0;
  float rate = 0;
  // The page's crossing (core/index/wake_threshold.h), kept until the page sleeps again.
  uint32_t crossing = 0;  // Crossing::code
  uint16_t level = 0;
  bool exact : 1 = false;       // `jet` is the exact value at `since`
  bool running : 1 = false;     // the exponent was zero at `turn` and grows; false = it is constant
  bool plain : 1 = false;       // the value is scale R^1(rate elapsed)
  bool per_change : 1 = false;  // if `plain`: scale = importance/rate; false = importance
  bool prepared : 1 = false;    // AwakePages has its value parameters
  bool level_filed : 1 = false;  // Crossing::filed
};
static_assert(sizeof(AwakePage) == 64);

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_AWAKE_PAGE_H_
