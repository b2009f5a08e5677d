#include "core/index/waiting_queues.h"

#include "core/base/check.h"

namespace freshet {

WaitingQueues::Fit WaitingQueues::FitFor(double bound, int64_t turn, PageId page) const {
  const Latest& latest = latest_[PlaceOf(bound)];
  if (latest.page == kGone || latest.bound != bound) return {};
  const bool behind = latest.turn != turn ? latest.turn < turn : latest.page < page;
  if (!behind) return {};
  if (latest.queue == kNone) return {.pair = true, .alone = latest.page};
  // The queue might no longer exist, and its number might have been reused.
  const Queue& its = queues_[latest.queue];
  if (its.size == 0 || its.bound != bound || its.pages.size() >= kLongest) return {};
  return {.queue = latest.queue};
}

uint32_t WaitingQueues::Append(uint32_t queue, int64_t turn, PageId page) {
  Queue& its = queues_[queue];
  DCHECK(its.size > 0);
  its.pages.push_back(page);
  ++its.size;
  latest_[PlaceOf(its.bound)] = {its.bound, turn, page, queue};
  return static_cast<uint32_t>(its.pages.size() - 1);
}

void WaitingQueues::Note(double bound, int64_t turn, PageId page) {
  latest_[PlaceOf(bound)] = {bound, turn, page, kNone};
}

uint32_t WaitingQueues::Make(double bound, PageId first) {
  uint32_t queue = kNone;
  if (!free_.empty()) {
    queue = free_.back();
    free_.pop_back();
  } else if (queues_.size() < kQueues) {
    queue = static_cast<uint32_t>(queues_.size());
    queues_.emplace_back();
  } else {
    return kNone;
  }
  Queue& its = queues_[queue];
  DCHECK(its.size == 0);
  its.bound = bound;
  its.front = 0;
  its.size = 1;
  its.pages.assign(1, first);
  return queue;
}

bool WaitingQueues::DropFirst(uint32_t queue) {
  Queue& its = queues_[queue];
  DCHECK(its.size > 0 && First(queue) != kGone);
  --its.size;
  ++its.front;
  if (its.size == 0) {
    its.pages = {};
    free_.push_back(queue);
    return false;
  }
  while (its.pages[its.front] == kGone) ++its.front;
  return true;
}

}  // namespace freshet
