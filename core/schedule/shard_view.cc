// Looking at a shard: why a page is, or is not, crawled now, and how fresh the pages are believed
// to be.
#include <algorithm>
#include <cmath>

#include "core/model/crossing.h"
#include "core/schedule/shard_impl.h"

namespace freshet {
namespace {

std::string Days(double seconds) { return fmt::format("{:.3g} days", seconds / 86400); }

// Which part of politeness its host waits for.
std::string WhyHostWaits(const Explanation& explanation, Instant now) {
  const HostRecord& host = explanation.host;
  if (explanation.host_free.infinite()) {
    return fmt::format("its host has {} in flight, which is its limit",
                       explanation.host_in_flight == 1
                           ? "a page"
                           : fmt::format("{} pages", explanation.host_in_flight));
  }
  const double left = (explanation.host_free - now).seconds();
  if (host.blocked_until < explanation.host_free) {
    return fmt::format("the delay between two crawls of its host has not passed: {:.3f} s to go",
                       left);
  }
  if (explanation.host_throttles > 0) {
    return fmt::format(
        "its host has answered that it is fetched too often, or cannot answer now ({} in a row): "
        "{:.3f} s to go",
        explanation.host_throttles, left);
  }
  return fmt::format("its host is blocked, by Retry-After or an operator: {:.3f} s to go", left);
}

// One sentence for a person.
std::string Why(const PageRecord& page, const Explanation& explanation, bool out, bool planned,
                Instant now) {
  if (page.state.gone) return "the last crawl found it gone; upsert it to have it crawled again";
  if (explanation.lease) {
    return fmt::format("it is out on lease {} to worker '{}'", explanation.lease->id.value(),
                       explanation.lease->worker);
  }
  if (out) return "it has been picked and is about to be handed out";
  if (explanation.host_free > now) return WhyHostWaits(explanation, now);
  if (explanation.eligible_from > now) {
    const bool own_interval =
        explanation.eligible_from <= page.state.last_crawl + page.spec.min_interval;
    const char* reason = page.state.retry_at > now    ? "it waits after a failed crawl"
                         : page.spec.not_before > now ? "it is not to be crawled before its time"
                         : own_interval
                             ? "its minimal interval has not passed"
                             : "the least time between two crawls of any page has not passed";
    return fmt::format("{}: {:.3f} s to go", reason, (explanation.eligible_from - now).seconds());
  }
  if (page.state.recheck) return "a recheck was asked for: it goes out as soon as a worker asks";
  if (planned && explanation.next_crawl.infinite()) return "the plan does not poll it";
  if (planned && explanation.next_crawl > now) {
    return fmt::format("the plan has it crawled in about {}",
                       Days((explanation.next_crawl - now).seconds()));
  }
  if (planned) return "it is due by the plan: it goes out with the next ticks";
  if (explanation.next_crawl <= now) {
    return "its value has reached the price: it goes out with the next ticks";
  }
  if (explanation.next_crawl.infinite()) {
    return "its value never reaches the price at these rates unless a signal comes";
  }
  return fmt::format("its value is {:.3g} of the price; it reaches it in about {} without a signal",
                     explanation.price > 0 ? explanation.value / explanation.price : 0,
                     Days((explanation.next_crawl - now).seconds()));
}

}  // namespace

Explanation ShardState::Impl::Explain(const PageRecord& page, Instant now) const {
  Explanation result;
  result.price = price;
  PageState state = page.state;
  estimator.Advance(state, now);
  result.estimate = estimator.Estimate(page, now);
  result.staleness = state.staleness;
  const double alpha = state.rates.unsignalled_rate;
  result.effective_elapsed_seconds = alpha > 0             ? state.staleness / alpha
                                     : state.staleness > 0 ? HUGE_VAL
                                                           : 0.0;
  const std::optional<PageId> id = pages.Find(page.number);
  const std::optional<HostId> host = hosts.Find(page.host);
  if (!id || !host) {
    result.why = "it was removed";
    return result;
  }
  const IndexEntry entry = EntryOf(page.spec, state, *host);
  const ValueParameters value = ValueOf(entry);
  result.value = DecidingValue(entry, value, now);
  result.eligible_from = entry.eligible_from;
  const double seconds = TimeToReach(value, ExponentAt(entry, value, now), price);
  result.next_crawl = page.state.gone ? Instant::Infinite() : now + Duration::FromSeconds(seconds);
  result.next_crawl = std::min(result.next_crawl, std::max(now, entry.forced_at));
  result.next_crawl = std::max(result.next_crawl, entry.eligible_from);
  const bool in_plan = PlanInForce() && queue->Has(*id);
  if (in_plan && !page.state.gone) {
    result.next_crawl = std::max({now, queue->Due(*id), entry.eligible_from});
  }
  if (pages.Is(*id, PageTable::kLeased)) result.lease = *leases.Find(out.at(*id).lease);
  result.host = hosts.record(*host);
  result.host_in_flight = hosts.in_flight(*host);
  result.host_free = hosts.FreeAt(*host);
  result.host_throttles = ThrottlesAt(options.host_backoff, result.host, now);
  result.why = Why(page, result, pages.Is(*id, PageTable::kTaken), in_plan, now);
  return result;
}

}  // namespace freshet
