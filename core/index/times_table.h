// The times of pages that have any (PageTimes). Usually few pages have times. If every page has a
// `max_interval`, all pages have them.
#ifndef FRESHET_CORE_INDEX_TIMES_TABLE_H_
#define FRESHET_CORE_INDEX_TIMES_TABLE_H_

#include "core/base/parted_map.h"
#include "core/base/units.h"
#include "core/index/alarm.h"

namespace freshet {

// Owner thread only.
using TimesTable = PartedMap<PageId, PageTimes>;

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_TIMES_TABLE_H_
