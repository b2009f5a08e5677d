#include "core/schedule/page_waits.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/model/crossing.h"
#include "core/schedule/filing.h"
#include "core/schedule/http_status.h"

namespace freshet {
namespace {

// Up to this many returns in a row, a page can be handed out again at once.
constexpr uint8_t kFreeReturns = 3;
constexpr Duration kFirstReturnWait = Duration::Seconds(1);
// A page that no crawl has ever found waits as if times_gone were higher by this.
constexpr int kNeverFound = 4;

// Returns `first` doubled (`times` - 1) times, but at most `most`.
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

// Returns true if the answer pauses the host. If these pauses are off, the answer is an ordinary
// error.
bool IsAboutHost(const ShardOptions& options, int http_status) {
  return IsThrottled(http_status) && options.host_backoff.first > Duration();
}

// The longest wait after errors. An answer about the host says little about the page. So after any
// number of these answers, the page waits at most as long as the longest pause of a host.
Duration LongestErrorWait(const ShardOptions& options, int http_status) {
  if (!IsAboutHost(options, http_status)) return options.max_error_backoff;
  return std::min(options.max_error_backoff, options.host_backoff.longest);
}

// The minimum time between two crawls of any page on the host and crawl id.
Duration PageInterval(const PageRecord& page, const Books& books) {
  const HostGate& hosts = books.hosts.gate;
  const std::optional<HostId> host = hosts.Find(page.host);
  if (!host) return hosts.defaults().min_page_interval;
  const std::optional<PageId> id = books.pages.table.Find(page.number);
  if (id) return IntervalOf(books.crawls.table.Of(*id), *host, books);
  return OwnPageInterval(hosts.host(*host)).value_or(hosts.defaults().min_page_interval);
}

// The minimum time between two fetches of the page, whatever their results.
Duration LeastInterval(const PageRecord& page, const Books& books) {
  return std::max(PageInterval(page, books), page.spec.min_interval);
}

// How long a gone page waits before it is crawled again.
Duration GoneWait(const PageRecord& page, const Books& books) {
  Duration wait = GoneWait(page.state, books.options);
  if (page.spec.max_interval > Duration()) wait = std::min(wait, page.spec.max_interval);
  return std::max(wait, LeastInterval(page, books));
}

// The approximate time from one crawl of the page to the next, at the present price or by the plan.
Duration NormalInterval(const PageRecord& page, const Books& books) {
  const PickSource& picks = books.pages.picks;
  double seconds = HUGE_VAL;
  const std::optional<PageId> id = books.pages.table.Find(page.number);
  if (picks.plan_in_force()) {
    const Rate rate = picks.PlannedRate(id);
    if (rate > Rate()) seconds = 1 / rate.per_second();
  } else {
    PageState fresh = page.state;
    fresh.staleness = 0;
    fresh.signals = {};
    const CrawlClass crawl_class = id ? books.crawls.table.ClassOf(*id) : CrawlClass{0};
    const IndexEntry entry = MakeEntry(page.spec, fresh, HostId(), crawl_class, books);
    seconds = TimeToReach(ValueOf(entry), 0, picks.prices().of_class[crawl_class]);
  }
  Duration interval =
      std::clamp(Duration::FromSeconds(seconds), books.options.max_lease_backoff,
                 std::max(books.options.max_lease_backoff, books.options.max_error_backoff));
  if (page.spec.max_interval > Duration()) interval = std::min(interval, page.spec.max_interval);
  return std::max(interval, page.spec.min_interval);
}

}  // namespace

Duration GoneFor(const PageState& state, Instant at, Duration wait) {
  const Instant seen = state.crawled() ? state.last_crawl : state.first_seen;
  return std::max(at - seen, wait + wait);
}

Duration GoneWait(const PageState& state, const ShardOptions& options) {
  const int times = state.times_gone + (state.crawled() ? 0 : kNeverFound);
  return Doubled(options.gone_backoff, times, options.max_gone_backoff);
}

void LearnFromLook(const PageRecord& page, Instant at, bool returned, const Books& books,
                   Lessons& lessons) {
  const PageState& state = page.state;
  if (!state.gone || state.retry_at.infinite()) return;
  const Duration wait = GoneWait(state, books.options);
  books.learning.estimator().aging().CountLook(page, GoneFor(state, at, wait),
                                               at - state.retry_at + wait, returned, lessons);
}

void WaitAfterError(const ReportCrawl& report, Instant now, const Books& books, PageRecord& page) {
  PageState& state = page.state;
  const Duration most = LongestErrorWait(books.options, report.http_status);
  // Once the longest wait is reached, further answers about the whole host do not count as errors
  // of the page.
  const bool waits_longest = Doubled(books.options.error_backoff, state.errors, most) >= most;
  if (!IsAboutHost(books.options, report.http_status) || !waits_longest) CountOneMore(state.errors);
  Duration wait = Doubled(books.options.error_backoff, state.errors, most);
  wait = std::max(wait, report.retry_after);
  if (state.gone && state.retry_at.infinite()) return;
  // An error does not show that the page is back.
  if (state.gone) wait = std::max(wait, GoneWait(page, books));
  state.retry_at = now + wait;
}

void WaitWhileDenied(Duration asked, Instant now, const Books& books, PageRecord& page) {
  PageState& state = page.state;
  CountOneMore(page.detail.denials);
  if (state.gone && state.retry_at.infinite()) return;
  Duration wait =
      Doubled(books.options.robots_backoff, page.detail.denials, books.options.max_robots_backoff);
  wait = std::max(wait, asked);
  // Nothing has shown that the page is back.
  if (state.gone) wait = std::max(wait, GoneWait(page, books));
  state.retry_at = now + wait;
}

void WaitWhileGone(CrawlOutcome outcome, Duration asked, Instant now, const Books& books,
                   PageRecord& page) {
  PageState& state = page.state;
  state.gone = true;
  CountOneMore(state.times_gone);
  const bool for_good = outcome == CrawlOutcome::kMoved && books.options.retire_moved;
  state.retry_at = for_good ? Instant::Infinite() : now + std::max(asked, GoneWait(page, books));
}

void PlanLookForGone(Instant now, const PageRecord& page, const ShardOptions& options,
                     PageState& state) {
  if (!state.gone || state.times_gone > 0) return;
  state.times_gone = 1;
  const double part = Random(page.number.value()).Uniform();
  state.retry_at = now + Duration::FromSeconds(part * options.max_gone_backoff.seconds());
}

void BringBack(Instant now, const Books& books, PageRecord& page) {
  PageState& state = page.state;
  if (!state.gone) return;
  state.gone = false;
  // A page that was never found was never crawled, but must not be fetched all the time. The time
  // of the last result is by the worker's clock, which can be behind.
  const Duration interval = LeastInterval(page, books);
  const Instant by_worker = std::min(now, page.detail.last_result) + interval;
  state.retry_at =
      interval > Duration() ? std::max(by_worker, now + PageInterval(page, books)) : Instant();
}

bool WaitUnanswered(Instant now, const Books& books, PageRecord& page) {
  PageState& state = page.state;
  CountOneMore(state.unanswered);
  const bool given_up = state.unanswered >= books.options.max_unanswered;
  const Duration wait = given_up ? NormalInterval(page, books)
                                 : Doubled(books.options.lease_backoff, state.unanswered,
                                           books.options.max_lease_backoff);
  WaitUntil(state, now + wait);
  return given_up;
}

void WaitReturned(Instant now, const Books& books, PageState& state) {
  CountOneMore(state.returned);
  if (state.returned <= kFreeReturns) return;
  // Returned leases say something about workers, not about the page. So the page never waits long
  // because of them.
  WaitUntil(state, now + Doubled(kFirstReturnWait, state.returned - kFreeReturns,
                                 books.options.lease_backoff));
}

}  // namespace freshet
