// Explains why a page is or is not crawled now.
#ifndef FRESHET_CORE_SCHEDULE_SHARD_VIEW_H_
#define FRESHET_CORE_SCHEDULE_SHARD_VIEW_H_

#include "core/base/units.h"
#include "core/model/page.h"
#include "core/schedule/books.h"
#include "core/schedule/explanation.h"

namespace freshet {

// `page` is the page as stored.
[[nodiscard]] Explanation Explain(const PageRecord& page, Instant now, const Books& books);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_VIEW_H_
