// The page that a shard picks to be crawled next. Value type, thread-compatible.
#ifndef FRESHET_CORE_SCHEDULE_PICK_H_
#define FRESHET_CORE_SCHEDULE_PICK_H_

#include "core/base/units.h"
#include "core/model/page_number.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/forced_turns.h"
#include "core/schedule/host_group.h"
#include "core/schedule/host_groups.h"

namespace freshet {

// The page of highest value at the requested instant.
struct Pick {
  PageNumber page;
  // Infinite for a page whose recheck or max interval is due. Under a plan, the urgency
  // (core/plan/plan_queue.h), which compares with that of other plans, not with a value.
  double value = 0;
  bool planned = false;        // picked by a plan
  CrawlClass crawl_class = 0;  // the class of its crawl id; 0 if planned
  ForcedTurn forced;           // the turn that the page takes; default = not forced
  // The page is forced, but forced pages were not first: there was no other page.
  bool out_of_turn = false;
  GroupKey group;  // the group of its host; 0 = none
  GroupTerms group_terms;
  HostId host;
  Duration host_delay;      // Spacing of its terms
  bool host_again = false;  // another pick of the host is out
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PICK_H_
