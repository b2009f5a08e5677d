// A page that competes: what a pick needs of it, so that the record, which is mostly far away in
// memory, is read when the page wakes and written when it is crawled.
#ifndef FRESHET_CORE_INDEX_AWAKE_PAGE_H_
#define FRESHET_CORE_INDEX_AWAKE_PAGE_H_

#include <cstdint>

#include "core/base/units.h"
#include "core/model/crawl_value.h"

namespace freshet {

// One line of the cache. What wakes is mostly crawled within some thousand picks: the values that
// are computed meanwhile follow from `turn`, `rate` and `importance` where the policy is a plain
// one, else from value parameters that the band keeps for it. Value type, thread-compatible.
struct AwakePage {
  PageId page;
  int64_t turn = 0;  // of equal values the page of the smaller turn wins
  // Bounds the value from `since` on.
  ValueJet jet;
  Instant since;
  // Of the record, at hand for values that need no more.
  float importance = 0;
  float rate = 0;
  // For the time when it sleeps again.
  uint32_t crossing = 0;  // Crossing::code
  uint16_t level = 0;
  bool exact : 1 = false;        // `jet` is that of the value at `since`
  bool running : 1 = false;      // the exponent was zero at `turn`; else it stands still
  bool plain : 1 = false;        // its value is scale R^1(rate elapsed), the scale is `importance`,
  bool per_change : 1 = false;   // or importance/rate
  bool prepared : 1 = false;     // its value parameters are known
  bool level_filed : 1 = false;  // Crossing::filed
};
static_assert(sizeof(AwakePage) == 64);

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_AWAKE_PAGE_H_
