// How long a page waits whose crawl did not succeed: after an error, after a lease that came to
// nothing, and while it is gone. Each wait doubles with every further time in a row.
#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/model/crossing.h"
#include "core/schedule/http_status.h"
#include "core/schedule/shard_impl.h"

namespace freshet {
namespace {

// So often in a row a page is handed out again at once by a worker that gave it back.
constexpr uint8_t kFreeReturns = 3;
constexpr Duration kFirstReturnWait = Duration::Seconds(1);
// A page that no crawl has ever found is looked for as one that has been gone so often before.
constexpr int kNeverFound = 4;

// `first`, doubled `times` - 1 times, at most `most`.
Duration Doubled(Duration first, int times, Duration most) {
  CHECK(first >= Duration() && most >= Duration(), "a wait below zero");
  Duration wait = first;
  for (int i = 1; i < times && wait < most; ++i) wait = wait + wait;
  return std::min(wait, most);
}

void CountOneMore(uint8_t& count) {
  if (count < UINT8_MAX) ++count;
}

void WaitUntil(PageState& state, Instant at) { state.retry_at = std::max(state.retry_at, at); }

// Where hosts are not paused for such answers, they are errors like others.
bool IsAboutHost(const ShardOptions& options, int http_status) {
  return IsThrottled(http_status) && options.host_backoff.first > Duration();
}

// An answer that is about the host says little of the page: it waits no longer than hosts do,
// however many such answers there are.
Duration LongestErrorWait(const ShardOptions& options, int http_status) {
  if (!IsAboutHost(options, http_status)) return options.max_error_backoff;
  return std::min(options.max_error_backoff, options.host_backoff.longest);
}

}  // namespace

Duration ShardState::Impl::GoneFor(const PageState& state, Instant at, Duration wait) {
  const Instant seen = state.crawled() ? state.last_crawl : state.first_seen;
  return std::max(at - seen, wait + wait);
}

void ShardState::Impl::LearnFromLook(const PageRecord& page, Instant at, bool returned,
                                     Lessons& lessons) const {
  const PageState& state = page.state;
  if (!state.gone || state.retry_at.infinite()) return;
  const Duration wait = GoneWait(state);
  estimator.RecordLook(page, GoneFor(state, at, wait), at - state.retry_at + wait, returned,
                       lessons);
}

Duration ShardState::Impl::GoneWait(const PageState& state) const {
  const int times = state.times_gone + (state.crawled() ? 0 : kNeverFound);
  return Doubled(options.gone_backoff, times, options.max_gone_backoff);
}

Duration ShardState::Impl::GoneWait(const PageRecord& page) const {
  Duration wait = GoneWait(page.state);
  if (page.spec.max_interval > Duration()) wait = std::min(wait, page.spec.max_interval);
  return std::max(wait, LeastInterval(page));
}

void ShardState::Impl::WaitAfterError(const ReportCrawl& report, Instant now,
                                      PageRecord& page) const {
  PageState& state = page.state;
  const Duration most = LongestErrorWait(options, report.http_status);
  // What the host answers for all its pages says no more of this one than that.
  const bool waits_longest = Doubled(options.error_backoff, state.errors, most) >= most;
  if (!IsAboutHost(options, report.http_status) || !waits_longest) CountOneMore(state.errors);
  Duration wait = Doubled(options.error_backoff, state.errors, most);
  wait = std::max(wait, report.retry_after);
  if (state.gone && state.retry_at.infinite()) return;
  // An error says nothing of whether the page is there again.
  if (state.gone) wait = std::max(wait, GoneWait(page));
  state.retry_at = now + wait;
}

void ShardState::Impl::WaitWhileDenied(Duration asked, Instant now, PageRecord& page) const {
  PageState& state = page.state;
  CountOneMore(page.detail.denials);
  if (state.gone && state.retry_at.infinite()) return;
  Duration wait = Doubled(options.robots_backoff, page.detail.denials, options.max_robots_backoff);
  wait = std::max(wait, asked);
  // Nobody has looked whether it is there again.
  if (state.gone) wait = std::max(wait, GoneWait(page));
  state.retry_at = now + wait;
}

void ShardState::Impl::WaitWhileGone(CrawlOutcome outcome, Duration asked, Instant now,
                                     PageRecord& page) const {
  PageState& state = page.state;
  state.gone = true;
  CountOneMore(state.times_gone);
  const bool for_good = outcome == CrawlOutcome::kMoved && options.retire_moved;
  state.retry_at = for_good ? Instant::Infinite() : now + std::max(asked, GoneWait(page));
}

void ShardState::Impl::PlanLookForGone(Instant now, const PageRecord& page,
                                       PageState& state) const {
  if (!state.gone || state.times_gone > 0) return;
  state.times_gone = 1;
  const double part = Random(page.number.value()).Uniform();
  state.retry_at = now + Duration::FromSeconds(part * options.max_gone_backoff.seconds());
}

void ShardState::Impl::BringBack(Instant now, PageRecord& page) const {
  PageState& state = page.state;
  if (!state.gone) return;
  state.gone = false;
  // A page that is not there was never crawled, and is still not asked for all the time. When it
  // was looked for is as the worker said, whose clock may be behind.
  const Duration interval = LeastInterval(page);
  const Instant by_worker = std::min(now, page.detail.last_result) + interval;
  state.retry_at =
      interval > Duration() ? std::max(by_worker, now + PageInterval(page)) : Instant();
}

Duration ShardState::Impl::PageInterval(const PageRecord& page) const {
  const std::optional<HostId> host = hosts.Find(page.host);
  if (!host) return hosts.defaults().min_page_interval;
  const std::optional<PageId> id = pages.Find(page.number);
  return id ? IntervalOf(crawls.Of(*id), *host) : hosts.PageInterval(*host);
}

Duration ShardState::Impl::LeastInterval(const PageRecord& page) const {
  return std::max(PageInterval(page), page.spec.min_interval);
}

bool ShardState::Impl::WaitUnanswered(Instant now, PageRecord& page) const {
  PageState& state = page.state;
  CountOneMore(state.unanswered);
  const bool given_up = state.unanswered >= options.max_unanswered;
  const Duration wait =
      given_up ? NormalInterval(page)
               : Doubled(options.lease_backoff, state.unanswered, options.max_lease_backoff);
  WaitUntil(state, now + wait);
  return given_up;
}

void ShardState::Impl::WaitReturned(Instant now, PageState& state) const {
  CountOneMore(state.returned);
  if (state.returned <= kFreeReturns) return;
  // Workers that come and go say nothing of the page: it never waits long for them.
  WaitUntil(state,
            now + Doubled(kFirstReturnWait, state.returned - kFreeReturns, options.lease_backoff));
}

Duration ShardState::Impl::NormalInterval(const PageRecord& page) const {
  double seconds = HUGE_VAL;
  const std::optional<PageId> id = pages.Find(page.number);
  if (picks.plan_in_force()) {
    const Rate rate = picks.PlannedRate(id);
    if (rate > Rate()) seconds = 1 / rate.per_second();
  } else {
    PageState fresh = page.state;
    fresh.staleness = 0;
    fresh.signals = {};
    const CrawlClass crawl_class = id ? crawls.ClassOf(*id) : CrawlClass{0};
    const IndexEntry entry = MakeEntry(page.spec, fresh, HostId(), crawl_class);
    seconds = TimeToReach(ValueOf(entry), 0, prices[crawl_class]);
  }
  Duration interval = std::clamp(Duration::FromSeconds(seconds), options.max_lease_backoff,
                                 std::max(options.max_lease_backoff, options.max_error_backoff));
  if (page.spec.max_interval > Duration()) interval = std::min(interval, page.spec.max_interval);
  return std::max(interval, page.spec.min_interval);
}

}  // namespace freshet
