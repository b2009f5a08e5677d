#include "core/schedule/filing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/schedule/page_waits.h"

namespace freshet {
namespace {

// The time from which the page has exceeded its max_interval; infinite = no max_interval is set.
Instant OverdueFrom(const PageSpec& spec, const PageState& state) {
  if (spec.max_interval <= Duration()) return Instant::Infinite();
  return (state.crawled() ? state.last_crawl : state.first_seen) + spec.max_interval;
}

FreshnessSample::Page BelievedOf(const PageSpec& spec, const PageState& state) {
  return {.importance = spec.importance,
          .staleness = state.staleness,
          .since = state.carried_at,
          .rate = state.rates.staleness_rate,
          .overdue_from = OverdueFrom(spec, state)};
}

// Returns true if the page is never worth a crawl.
bool NeverDue(const IndexEntry& entry) {
  return entry.rates.importance == 0 && entry.forced_at.infinite();
}

// When a gone page is crawled again; infinite = only on request.
Instant LookedForAt(const PageSpec& spec, const PageState& state) {
  // A page of importance 0 is crawled again only if it has a max_interval, which would force its
  // crawls.
  const bool worth = spec.importance > 0 || spec.max_interval > Duration();
  return worth && state.times_gone > 0 ? state.retry_at : Instant::Infinite();
}

// A page keeps at least this share of its value, however long it has not been crawled, because
// models can be wrong.
constexpr double kLeastWorth = 1e-3;

// The time of the last crawl, from which the page interval counts; none = no interval applies, for
// example because a recheck is requested.
Instant IntervalStart(const PageState& state) {
  return state.recheck ? Instant() : state.last_crawl;
}

// Adjusts the value as the policy `default` does: multiplies it by the probability that the page
// exists, and lowers it if the page can wait.
void WeighAsDefault(const PageState& state, CrawlClass crawl_class, const Books& books,
                    IndexEntry* entry) {
  // The page is filed again at its next age edge (core/schedule/age_bin_wheel.h). Until then the
  // probability only falls. The probability at the edge is used, so that the value is never too
  // high.
  const Instant edge = books.learning.estimator().aging().NextEdge(state);
  const double alive = books.learning.estimator().aging().AliveChance(
      state, edge.infinite() ? state.carried_at : edge);
  // A positive importance stays positive, however small, because a page of importance 0 is never
  // handed out.
  const float least = std::min(entry->rates.importance, std::numeric_limits<float>::min());
  const auto weigh = [&](double share) {
    const double weighed = share * double{entry->rates.importance};
    entry->rates.importance = std::max(least, static_cast<float>(weighed));
  };
  weigh(std::max(ValueShare(alive), kLeastWorth));
  weigh(books.pages.picks.prices().urgencies[crawl_class].Share(*entry));
}

// A page that has been gone for a time T comes back at the rate returns/T (core/estimate/life.h). A
// crawl that checks whether it is back is therefore worth as much as a crawl of a page that changes
// at this rate, and competes with other crawls by this value. Dead pages then take few crawls from
// living ones, even if there are more and more dead pages.
void FileAsGone(const PageSpec& spec, const PageState& state, const Books& books,
                IndexEntry* entry) {
  const Instant look = LookedForAt(spec, state);
  if (look.infinite()) entry->eligible_from = spec.not_before;
  if (look.infinite() || spec.max_interval > Duration()) {
    entry->rates.importance = 0;
    entry->forced_at = look;
    return;
  }
  const Duration wait = GoneWait(state, books.options);
  const double rate = books.learning.estimator().aging().Returns(state) /
                      GoneFor(state, state.retry_at, wait).seconds();
  PageRates rates;
  rates.change_rate = rates.unsignalled_rate = rates.staleness_rate = rate;
  entry->rates = MakeIndexRates(entry->rates.importance, rates);
  entry->exponent = rate * wait.seconds();
  entry->since = look;
}

}  // namespace

IndexEntry MakeEntry(const PageSpec& spec, const PageState& state, HostId host,
                     CrawlClass crawl_class, const Books& books) {
  IndexEntry entry;
  const Policy& policy = books.pages.picks.policy().index;
  entry.policy = policy;
  const bool fresh_once = std::isfinite(state.staleness) || state.crawled();
  entry.rates = MakeIndexRates(
      spec.importance,
      fresh_once ? state.rates : books.learning.estimator().aging().RatesBeforeFirstCrawl(state));
  const double elapsed = state.crawled() ? (state.carried_at - state.last_crawl).seconds() : 0;
  // Before its first fetch, a page has the exponent of a page that is certainly stale.
  entry.exponent = fresh_once ? PolicyExponent(policy, state.rates, state.staleness,
                                               std::max(0.0, elapsed), !state.signals.empty())
                              : kNeverCrawledStaleness;
  entry.since = state.carried_at;
  if (books.pages.picks.policy().is_default && !state.gone)
    WeighAsDefault(state, crawl_class, books, &entry);
  entry.host = host;
  entry.eligible_from = std::max(spec.not_before, state.retry_at);
  // Without a min_interval, no wait is filed, so most pages need no alarm.
  if (state.crawled() && spec.min_interval > Duration()) {
    entry.eligible_from = std::max(entry.eligible_from, state.last_crawl + spec.min_interval);
  }
  entry.forced_at = OverdueFrom(spec, state);
  if (state.gone) FileAsGone(spec, state, books, &entry);
  if (state.recheck) {
    // For a recheck, neither min_interval nor backoff delays the page, only politeness does.
    entry.eligible_from = spec.not_before;
    entry.forced_at = Instant();
    // After unanswered or returned leases, an immediate retry is pointless.
    if (state.unanswered > 0 || state.returned > 0) {
      entry.eligible_from = std::max(entry.eligible_from, state.retry_at);
    }
  }
  // A page of importance 0 is picked only when it is forced, even if no other page competes.
  if (entry.rates.importance == 0 && !entry.forced_at.infinite()) {
    entry.eligible_from = std::max(entry.eligible_from, entry.forced_at);
  }
  return entry;
}

void Hold(IndexEntry* entry, Instant last_crawl, Duration interval) {
  if (last_crawl == Instant() || interval == Duration()) return;
  entry->eligible_from = std::max(entry->eligible_from, last_crawl + interval);
}

IndexEntry EntryOf(PageId id, const PageSpec& spec, const PageState& state, HostId host,
                   const Books& books) {
  IndexEntry entry = MakeEntry(spec, state, host, books.crawls.table.ClassOf(id), books);
  Hold(&entry, IntervalStart(state), IntervalOf(books.crawls.table.Of(id), host, books));
  return entry;
}

Instant AskedAt(PageId id, const PageState& state, const Books& books) {
  const float probability = books.pages.picks.SignalProbability(id);
  if (probability == 0) return Instant::Infinite();
  // Signals count changes since the last crawl. A page that was never crawled has no copy yet, so
  // it asks for a crawl at once.
  if (!state.crawled()) return state.first_seen;
  int signals = 0;
  for (const SignalCounts::Entry& entry : state.signals.entries()) signals += entry.count;
  // Draws one number per signal. The numbers are equal at every call, so that the result survives a
  // restart.
  Random draws(books.pages.table.number(id).value() ^
               static_cast<uint64_t>(state.last_crawl.micros()));
  for (int i = 0; i < signals; ++i) {
    if (draws.Uniform() < probability) return state.last_event;
  }
  return Instant::Infinite();
}

Duration IntervalOf(CrawlIndex crawl, HostId host, const Books& books) {
  if (const auto own = OwnPageInterval(books.hosts.gate.host(host))) return *own;
  const Duration usual = books.hosts.gate.defaults().min_page_interval;
  if (books.crawls.table.polite().empty()) return usual;
  const CrawlTerms* terms = books.crawls.table[crawl].terms.get();
  return terms == nullptr ? usual : terms->record.min_page_interval.value_or(usual);
}

PageToLoad PrepareLoad(PageNumber number, uint64_t fingerprint, HostId host, const PageSpec& spec,
                       const PageState& state, CrawlClass crawl_class, const Books& books) {
  const IndexEntry entry = MakeEntry(spec, state, host, crawl_class, books);
  DCHECK(entry.exponent >= 0);
  return {.number = number,
          .fingerprint = fingerprint,
          .entry = entry,
          .last_crawl = IntervalStart(state),
          .edge = books.learning.estimator().aging().NextEdge(state),
          .bursts = state.bursts,
          .believed = BelievedOf(spec, state),
          .gone = state.gone,
          .never = NeverDue(entry)};
}

}  // namespace freshet
