// What a shard picks to be crawled next. Value type, thread-compatible.
#ifndef FRESHET_CORE_SCHEDULE_PICK_H_
#define FRESHET_CORE_SCHEDULE_PICK_H_

#include "core/base/units.h"
#include "core/model/page_number.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/forced_turns.h"
#include "core/schedule/host_group.h"
#include "core/schedule/host_groups.h"

namespace freshet {

// The page that is worth most at the instant asked for.
struct Pick {
  PageNumber page;
  // Infinite for a page whose recheck or max interval is due. Under a plan, the urgency
  // (core/plan/plan_queue.h), which compares with that of other plans, not with a value.
  double value = 0;
  bool planned = false;        // picked by a plan
  CrawlClass crawl_class = 0;  // of its crawl id; 0 where it is planned
  ForcedTurn forced;           // that it takes; none: it is not
  // It is forced, and it is not the turn of such pages: nothing else was to be had.
  bool out_of_turn = false;
  GroupKey group;  // of its host; 0: none
  GroupTerms group_terms;
  HostId host;
  Duration host_delay;      // HostGate::Spacing
  bool host_again = false;  // another pick of the host is out
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PICK_H_
