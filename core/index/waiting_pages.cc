#include "core/index/waiting_pages.h"

#include <cmath>

#include "core/base/check.h"

namespace freshet {

uint32_t WaitingPages::PoolOf(HostId host) {
  IndexHost& gate = hosts_[host];
  if (gate.pool == 0) {
    gate.pool = pools_.Make(groups_.Of(host));
    SetOpen(gate);
  }
  return gate.pool;
}

void WaitingPages::Remove(PageRow row) {
  const uint32_t position = row.record().position;
  if (row.level() == 0) return pools_.Remove(0, position, Turns(), Placed());
  if (row.level() >= kQueueLevel) {
    const uint32_t queue = row.level() - uint32_t{kQueueLevel};
    if (queues_.First(queue) != row.page()) return queues_.Drop(queue, position, Placed());
    if (!queues_.DropFirst(queue)) return pools_.Remove(0, position, Turns(), Placed());
    return pools_.Replace(0, position, queues_.First(queue), Turns(), Placed());
  }
  IndexHost& host = hosts_[row.host()];
  pools_.Remove(host.pool, position, Turns(), Placed());
  if (pools_.size(host.pool) > 0) return;
  pools_.Drop(host.pool);
  host.pool = 0;
}

int64_t WaitingPages::TurnOf(PageId page, double bound) const {
  const PageTimes* times = std::isinf(bound) ? pages_.TimesOf(page) : nullptr;
  return times != nullptr ? times->forced_at.micros() : freshet::TurnOf(pages_.record(page));
}

void WaitingPages::Add(PageRow row, uint32_t pool, double bound, double expires) {
  const IndexRecord& record = row.record();
  DCHECK(record.place() == PagePlace::kWaiting);
  if (pool == 0 && std::isinf(expires)) return AddInTurn(row, bound);
  row.level() = pool == 0 ? 0 : 1;
  pools_.Add(pool, {bound, row.page()}, Turns(), Placed());
  if (std::isinf(expires)) return;
  expiries_.Push({expires, row.page(), record.tag()},
                 [this](const auto& e) { return pages_.IsIn(e.id, PagePlace::kWaiting, e.tag); });
}

void WaitingPages::AddInTurn(PageRow row, double bound) {
  const int64_t turn = TurnOf(row.page(), bound);
  WaitingQueues::Fit fit = queues_.FitFor(bound, turn, row.page());
  if (fit.pair) {
    // `alone` is the last page that was noted under this bound. Since then it might have stopped
    // waiting, or moved to another bound or into a queue. It starts a queue only if it still waits
    // alone and precedes the new page.
    const PageRow alone = pages_[fit.alone];
    const IndexRecord& first = alone.record();
    const WaitingPage last(bound, row.page());
    if (first.place() == PagePlace::kWaiting && alone.level() == 0 && fit.alone != row.page() &&
        pools_.At(0, first.position).bound() == bound &&
        BoundPools::Precedes(pools_.At(0, first.position), last, Turns())) {
      fit.queue = queues_.Make(bound, fit.alone);
      if (fit.queue != WaitingQueues::kNone) {
        alone.level() = static_cast<uint16_t>(kQueueLevel + fit.queue);
      }
    }
  }
  if (fit.queue == WaitingQueues::kNone) {
    row.level() = 0;
    queues_.Note(bound, turn, row.page());
    return pools_.Add(0, {bound, row.page()}, Turns(), Placed());
  }
  row.level() = static_cast<uint16_t>(kQueueLevel + fit.queue);
  row.record().position = queues_.Append(fit.queue, turn, row.page());
}

double WaitingPages::BoundOf(PageId page) const {
  const uint16_t level = pages_.level(page);
  if (level >= kQueueLevel) return queues_.bound(level - uint32_t{kQueueLevel});
  const uint32_t pool = level == 0 ? 0 : hosts_[pages_.host(page)].pool;
  return pools_.At(pool, pages_.record(page).position).bound();
}

std::optional<PageId> WaitingPages::PopExpired() {
  const auto expiry = expiries_.Pop();
  if (!pages_.IsIn(expiry.id, PagePlace::kWaiting, expiry.tag)) return std::nullopt;
  return expiry.id;
}

}  // namespace freshet
