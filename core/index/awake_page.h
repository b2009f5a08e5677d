// A page that competes, with all that a pick needs: its record, mostly far away in memory, is read
// only when the page wakes and written when it is crawled.
#ifndef FRESHET_CORE_INDEX_AWAKE_PAGE_H_
#define FRESHET_CORE_INDEX_AWAKE_PAGE_H_

#include <cstdint>

#include "core/base/units.h"
#include "core/model/crawl_value.h"

namespace freshet {

// One line of the cache. A page that wakes is mostly crawled within some thousand picks. Until then
// values are computed from `turn`, `rate` and `importance` under a plain policy, else from value
// parameters that the band keeps. Value type, thread-compatible.
struct AwakePage {
  PageId page;
  int64_t turn = 0;  // among equal values the page with the smaller turn wins
  // Bounds the value from `since` on.
  ValueJet jet;
  Instant since;
  // Copies from the record, for values that need no more.
  float importance = 0;
  float rate = 0;
  // The crossing, for the time when the page sleeps again.
  uint32_t crossing = 0;  // Crossing::code
  uint16_t level = 0;
  bool exact : 1 = false;        // `jet` is the exact value at `since`
  bool running : 1 = false;      // the exponent was zero at `turn`; else it stands still
  bool plain : 1 = false;        // its value is scale R^1(rate elapsed), the scale is `importance`,
  bool per_change : 1 = false;   // or importance/rate
  bool prepared : 1 = false;     // the band has its value parameters
  bool level_filed : 1 = false;  // Crossing::filed
};
static_assert(sizeof(AwakePage) == 64);

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_AWAKE_PAGE_H_
