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

// The best page at the requested instant.
struct Pick {
  PageNumber page;
  // The value of the page; infinite if its recheck or max interval is due. Under a plan it is the
  // urgency (core/plan/plan_queue.h), which can be compared with urgencies of other plans but not
  // with values.
  double value = 0;
  bool planned = false;        // picked by a plan
  CrawlClass crawl_class = 0;  // the class of the page's crawl id; 0 if planned
  ForcedTurn forced;           // the turn of a forced page (forced_turns.h); default = not forced
  // The page is forced, but was picked at a tick for unforced pages, because none was available.
  bool out_of_turn = false;
  GroupKey group;  // the group of the page's host; 0 = none
  GroupTerms group_terms;
  HostId host;
  Duration host_delay;      // HostSpacing of the host's terms
  bool host_again = false;  // another pick of the host has no lease yet
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PICK_H_
