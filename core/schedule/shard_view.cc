#include "core/schedule/shard_view.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/counted.h"
#include "core/model/crossing.h"
#include "core/schedule/filing.h"
#include "core/schedule/host_backoff.h"

namespace freshet {
namespace {

// An approximate duration, in a unit that suits its length.
std::string AboutHowLong(double seconds) {
  if (seconds < 120) return fmt::format("{:.2g} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{:.0f} hours", seconds / 3600);
  return fmt::format("{:.3g} days", seconds / 86400);
}

// A countdown: in milliseconds below two minutes, otherwise in one or two larger units.
std::string ToGo(double seconds) {
  if (seconds < 120) return fmt::format("{:.3f} s to go", seconds);
  const double minutes = std::round(seconds / 60);
  if (minutes < 120) return fmt::format("{:.0f} min to go", minutes);
  const double hours = std::floor(minutes / 60);
  if (hours < 48) return fmt::format("{:.0f} h {:.0f} min to go", hours, minutes - hours * 60);
  const double days = std::floor(hours / 24);
  return fmt::format("{:.0f} d {:.0f} h to go", days, hours - days * 24);
}

std::string InHow(Instant at, Instant now) { return ToGo((at - now).seconds()); }

std::string GoneText(const PageRecord& page) {
  if (page.detail.last_outcome != CrawlOutcome::kMoved)
    return "the last crawl did not find the page (it is gone)";
  return page.detail.moved_to.empty() ? "the page has moved"
                                      : "the page has moved to " + page.detail.moved_to;
}

std::string DeniedText(const PageRecord& page) {
  return page.detail.denials == 1
             ? "the robots.txt of its host forbids the page; the server will try again later"
             : fmt::format(
                   "the robots.txt of its host forbids the page, as {} results in a row said; the "
                   "server will try again later",
                   page.detail.denials);
}

// The reason why the page waits until `eligible_from`.
std::string WaitText(const PageRecord& page, Instant eligible_from) {
  const PageState& state = page.state;
  if (page.detail.denials > 0 && state.retry_at == eligible_from) return DeniedText(page);
  if (state.gone) return GoneText(page) + "; the server will look for it again";
  if (state.retry_at == eligible_from) {
    if (state.unanswered > 0) {
      return fmt::format(
          "{} leases in a row ended without a result; the page waits before the next lease",
          state.unanswered);
    }
    if (state.errors > 0) return "the page waits after a failed crawl";
    if (state.returned > 0) {
      return fmt::format(
          "workers gave the page back {} times in a row; it waits before the next lease",
          state.returned);
    }
    return "the page is back after it was gone, and was crawled a short time ago: the shortest "
           "time between two crawls has not passed";
  }
  if (page.spec.not_before == eligible_from)
    return "the setting not_before forbids a crawl until then";
  if (page.spec.importance == 0)
    return "its importance is 0, and its longest time between crawls (max_interval) has not passed";
  return eligible_from <= state.last_crawl + page.spec.min_interval
             ? "its shortest time between crawls (min_interval) has not passed"
             : "the shortest time between two crawls of any page has not passed";
}

std::string NeverText(const PageRecord& page) {
  if (!page.state.gone) return "the server does not crawl the page, because its importance is 0";
  return GoneText(page) + "; to crawl it again, use `freshet upsert` or `freshet recheck`";
}

// The politeness rule that the host waits for.
std::string WhyHostWaits(const Explanation& explanation, Instant now) {
  const HostRecord& host = explanation.host.record;
  const HostTerms& terms = explanation.host.terms;
  if (explanation.host_free.infinite()) {
    return fmt::format("its host has {} in flight, which is its limit",
                       Counted(explanation.host.in_flight, "page"));
  }
  const double left = (explanation.host_free - now).seconds();
  const DayHours& hours = terms.hours.value;
  // The host would be free earlier, but its hours have not begun.
  if (!hours.always() && !hours.Has(explanation.host_free - Duration::Micros(1))) {
    return fmt::format("its host may be crawled only in the hours {}: {}", DayHoursText(hours),
                       ToGo(left));
  }
  const CrawlCap& cap = terms.max_crawls.value;
  if (CapAllows(cap, host.recent_crawls, 0, {}) == explanation.host_free) {
    return fmt::format("its host has had {} within {:g} s, which is its maximum: {}",
                       Counted(cap.count, "crawl"), cap.per.seconds(), ToGo(left));
  }
  if (host.blocked_until < explanation.host_free) {
    return fmt::format("the delay between two crawls of its host has not passed: {}", ToGo(left));
  }
  if (explanation.host_throttles > 0) {
    return fmt::format(
        "its host said that it is fetched too often or cannot answer now (HTTP 429 or 503, {} in a "
        "row): {}",
        explanation.host_throttles, ToGo(left));
  }
  return fmt::format("its host is blocked by Retry-After or by an operator: {}", ToGo(left));
}

// The page's wait, if any, for a page whose host waits longer or for an unknown time.
std::string WhyPageWaitsToo(const PageRecord& page, const Explanation& explanation, Instant now) {
  if (explanation.eligible_from <= now) return {};
  return fmt::format("; besides, {}: {}", WaitText(page, explanation.eligible_from),
                     InHow(explanation.eligible_from, now));
}

// `in` is the approximate time to the next crawl; empty = no crawl is expected at this price.
std::string WhyBelowPrice(const PageRecord& page, const Explanation& explanation,
                          const std::string& in) {
  const double share = explanation.price > 0 ? explanation.value / explanation.price : 0;
  const std::string value = fmt::format(
      "its value is {:.3g} of the price, which is the value of the last page that was handed out",
      share);
  // A page that was never crawled cannot become more stale.
  if (std::isinf(explanation.staleness) && !page.state.crawled()) {
    const std::string stays =
        "it was never crawled, and " + value +
        "; neither time nor a signal adds to its value, so it does not reach the price";
    return in.empty() ? stays + ", but the page is handed out when no page has a higher value"
                      : stays + ", but the page is handed out in about " + in +
                            ", when its longest time between crawls has passed, or when no page "
                            "has a higher value";
  }
  return in.empty() ? value +
                          "; without a signal it does not reach the price, but the page is handed "
                          "out when no page has a higher value"
                    : value + "; it reaches the price in about " + in +
                          " without a signal, and the page is handed out sooner if no page has a "
                          "higher value";
}

// The verdict in one sentence, for people.
std::string Why(const PageRecord& page, const Explanation& explanation, bool planned, Instant now) {
  const bool expected = !explanation.next_crawl.infinite();
  switch (explanation.verdict) {
    case Verdict::kLeased:
      return fmt::format("worker '{}' has the page on lease {}", explanation.lease->worker,
                         explanation.lease->id.value());
    case Verdict::kNever:
      return NeverText(page);
    case Verdict::kHostBusy:
      return WhyHostWaits(explanation, now) + WhyPageWaitsToo(page, explanation, now);
    case Verdict::kTooEarly:
      return fmt::format(
          "{}: {}{}", WaitText(page, explanation.eligible_from),
          InHow(explanation.eligible_from, now),
          explanation.host_free > now ? "; besides, " + WhyHostWaits(explanation, now) : "");
    case Verdict::kForced:
      if (page.state.gone) return GoneText(page) + "; the server looks for it when its turn comes";
      return page.state.recheck ? "a recheck is requested: the page is handed out when the turn of "
                                  "its domain comes"
                                : "its longest time between crawls has passed: the page is handed "
                                  "out when the turn of its domain comes";
    case Verdict::kDue:
      return planned
                 ? "the plan has the page crawled now: it is handed out next"
                 : "its value has reached the price: the page is handed out when its turn comes";
    case Verdict::kBelowPrice:
      break;
  }
  const std::string in = expected ? AboutHowLong((explanation.next_crawl - now).seconds()) : "";
  if (planned) {
    return expected ? "the plan has the page crawled in about " + in
                    : "the plan does not crawl the page";
  }
  return WhyBelowPrice(page, explanation, in);
}

// When the value of the page reaches the price; `now` if it already has.
Instant ReachesPrice(const IndexEntry& entry, double goal, Instant now) {
  const ValueParameters value = ValueOf(entry);
  const double exponent = ExponentAt(entry, value, now);
  if (CrawlValue(value, exponent) >= goal) return now;
  // A value below the price reaches it later, even if the difference is too small for the clock.
  const Duration wait = Duration::FromSeconds(TimeToReach(value, exponent, goal));
  return now + std::max(wait, Duration::Micros(1));
}

}  // namespace

Explanation Explain(const PageRecord& page, Instant now, const Books& books) {
  const PageBook& pages = books.pages;
  const PickSource& picks = pages.picks;
  Explanation result;
  result.price = picks.prices().last;
  PageRecord carried = page;
  PageState& state = carried.state;
  books.learning.estimator().aging().Advance(state, now);
  result.estimate = books.learning.estimator().Estimate(carried, now);
  result.staleness = state.staleness;
  const double alpha = state.rates.unsignalled_rate;
  result.effective_elapsed_seconds = alpha > 0             ? state.staleness / alpha
                                     : state.staleness > 0 ? HUGE_VAL
                                                           : 0.0;
  const std::optional<PageId> id = pages.table.Find(page.number);
  const std::optional<HostId> host = books.hosts.gate.Find(page.host);
  if (!id || !host) {
    result.why = "it was removed";
    return result;
  }
  result.price = picks.prices().of_class[books.crawls.table.ClassOf(*id)];
  IndexEntry entry = EntryOf(*id, page.spec, state, *host, books);
  if (picks.in_force().is_default && !state.gone) {
    // Uses the importance as filed, because picks use it. It depends on the price at the time of
    // filing.
    entry.rates.importance = picks.RatesOf(*id).importance;
    if (page.spec.importance > 0) {
      result.value_share =
          std::min(1.0, static_cast<double>(entry.rates.importance) / page.spec.importance);
    }
  }
  const ValueParameters value = ValueOf(entry);
  result.value = DecidingValue(entry, value, now);
  result.eligible_from = entry.eligible_from;
  const std::optional<Instant> by_plan = picks.PlannedAt(*id);
  result.host = books.hosts.Describe(*host, now);
  result.host_free = FreeAt(books.hosts.gate.host(*host), result.host.terms, now);
  result.host_throttles = ThrottlesAt(books.options.host_backoff, result.host.record, now);
  result.lease = pages.LeaseOut(*id);
  result.next_crawl = by_plan ? std::max(now, *by_plan) : ReachesPrice(entry, result.price, now);
  result.next_crawl = std::min(result.next_crawl, std::max(now, entry.forced_at));
  result.next_crawl = std::max(result.next_crawl, entry.eligible_from);
  const bool leaving = pages.table.Is(*id, PageTable::kTaken);
  if (result.lease) {
    result.verdict = Verdict::kLeased;
    result.next_crawl = Instant::Infinite();
  } else if (pages.table.Is(*id, PageTable::kNever)) {
    result.verdict = Verdict::kNever;
    result.next_crawl = Instant::Infinite();
  } else if (result.host_free > now && result.host_free >= entry.eligible_from && !leaving) {
    // The wait that ends last determines the verdict.
    result.verdict = Verdict::kHostBusy;
    result.next_crawl = std::max(result.next_crawl, result.host_free);
  } else if (entry.eligible_from > now) {
    result.verdict = Verdict::kTooEarly;
  } else if (entry.forced_at <= now) {
    result.verdict = Verdict::kForced;
  } else {
    result.verdict = result.next_crawl <= now ? Verdict::kDue : Verdict::kBelowPrice;
  }
  if (leaving) {
    result.why = "it has been picked and is about to be handed out";
  } else if (books.crawls.table.IsShadow(*id) && !result.lease) {
    result.why =
        "its crawl id is in shadow mode: the dates of its clients decide when it is fetched";
  } else {
    result.why = Why(page, result, by_plan.has_value(), now);
  }
  return result;
}

}  // namespace freshet
