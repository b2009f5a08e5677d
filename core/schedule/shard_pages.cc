// What is held in memory of a page, and how: what picks are taken from, believed freshness, age
// edges, hosts.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/base/url.h"
#include "core/schedule/shard_impl.h"

namespace freshet {
namespace {

// When the page is past the longest time between two crawls that its owner allows; infinite: any
// time will do.
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

// Whether no time makes the page worth a crawl.
bool NeverDue(const IndexEntry& entry) {
  return entry.rates.importance == 0 && entry.forced_at.infinite();
}

// When a page that is gone is looked for; infinite: not until somebody asks for it.
Instant LookedForAt(const PageSpec& spec, const PageState& state) {
  // What is worth nothing is looked for only where it would be crawled.
  const bool worth = spec.importance > 0 || spec.max_interval > Duration();
  return worth && state.times_gone > 0 ? state.retry_at : Instant::Infinite();
}

// However long a page was silent, it stays worth this part of its value: models are wrong.
constexpr double kLeastWorth = 1e-3;

// The crawl that a page interval counts from; none: no interval holds the page back. Who asks for a
// page out of turn asks for it within that interval too.
Instant IntervalStart(const PageState& state) {
  return state.recheck ? Instant() : state.last_crawl;
}

}  // namespace

void ShardState::Impl::WeighAsDefault(const PageState& state, CrawlClass crawl_class,
                                      IndexEntry* entry) const {
  // The page is filed anew at its next edge: what it is worth by then is on the safe side.
  const Instant edge = estimator.NextEdge(state);
  const double alive = estimator.AliveChance(state, edge.infinite() ? state.carried_at : edge);
  // What is worth something stays so, however little: what is worth nothing never goes out.
  const float least = std::min(entry->rates.importance, std::numeric_limits<float>::min());
  const auto weigh = [&](double share) {
    const double weighed = share * double{entry->rates.importance};
    entry->rates.importance = std::max(least, static_cast<float>(weighed));
  };
  weigh(std::max(ValueShare(alive), kLeastWorth));
  weigh(urgencies[crawl_class].Share(*entry));
}

// A page that has been gone for a time T comes back at the rate returns/T (core/estimate/life.h).
// So a look at it is worth what a crawl is of a page that changes at that rate, competes with
// crawls by its value, and where pages die all the time, those do not take the crawls of the ones
// that live.
void ShardState::Impl::FileAsGone(const PageSpec& spec, const PageState& state,
                                  IndexEntry* entry) const {
  const Instant look = LookedForAt(spec, state);
  if (look.infinite()) entry->eligible_from = spec.not_before;
  if (look.infinite() || spec.max_interval > Duration()) {
    entry->rates.importance = 0;
    entry->forced_at = look;
    return;
  }
  const Duration wait = GoneWait(state);
  const double rate = estimator.Returns(state) / GoneFor(state, state.retry_at, wait).seconds();
  PageRates rates;
  rates.change_rate = rates.unsignalled_rate = rates.staleness_rate = rate;
  entry->rates = MakeIndexRates(entry->rates.importance, rates);
  entry->exponent = rate * wait.seconds();
  entry->since = look;
}

IndexEntry ShardState::Impl::MakeEntry(const PageSpec& spec, const PageState& state, HostId host,
                                       CrawlClass crawl_class) const {
  IndexEntry entry;
  const Policy& policy = picks.policy().index;
  entry.policy = policy;
  const bool fresh_once = std::isfinite(state.staleness) || state.crawled();
  entry.rates = MakeIndexRates(spec.importance,
                               fresh_once ? state.rates : estimator.RatesBeforeFirstCrawl(state));
  const double elapsed = state.crawled() ? (state.carried_at - state.last_crawl).seconds() : 0;
  // A page that nobody has fetched yet is worth what a page that is surely stale is worth.
  entry.exponent = fresh_once ? PolicyExponent(policy, state.rates, state.staleness,
                                               std::max(0.0, elapsed), !state.signals.empty())
                              : kNeverCrawledStaleness;
  entry.since = state.carried_at;
  if (picks.policy().is_default && !state.gone) WeighAsDefault(state, crawl_class, &entry);
  entry.host = host;
  entry.eligible_from = std::max(spec.not_before, state.retry_at);
  // Without a minimal interval nothing is to be waited for: most pages need no alarm.
  if (state.crawled() && spec.min_interval > Duration()) {
    entry.eligible_from = std::max(entry.eligible_from, state.last_crawl + spec.min_interval);
  }
  entry.forced_at = OverdueFrom(spec, state);
  if (state.gone) FileAsGone(spec, state, &entry);
  if (state.recheck) {
    // Out of turn: neither the minimal interval nor a back-off holds it, only politeness does.
    entry.eligible_from = spec.not_before;
    entry.forced_at = Instant();
    // Nobody answers: asking again and again is no use.
    if (state.unanswered > 0 || state.returned > 0) {
      entry.eligible_from = std::max(entry.eligible_from, state.retry_at);
    }
  }
  // Worth nothing at any time: only what forces it may bring it out, also where nothing competes.
  if (entry.rates.importance == 0 && !entry.forced_at.infinite()) {
    entry.eligible_from = std::max(entry.eligible_from, entry.forced_at);
  }
  return entry;
}

void ShardState::Impl::Hold(IndexEntry* entry, Instant last_crawl, Duration interval) {
  if (last_crawl == Instant() || interval == Duration()) return;
  entry->eligible_from = std::max(entry->eligible_from, last_crawl + interval);
}

IndexEntry ShardState::Impl::EntryOf(PageId id, const PageSpec& spec, const PageState& state,
                                     HostId host) const {
  IndexEntry entry = MakeEntry(spec, state, host, crawls.ClassOf(id));
  Hold(&entry, IntervalStart(state), IntervalOf(crawls.Of(id), host));
  return entry;
}

PageId ShardState::Impl::AddPage(const PageRecord& record, HostId host, TakenPlaces& places) {
  uint64_t& next = next_serial[SlotOf(record.number)];
  next = std::max(next, SerialOf(record.number) + 1);
  ++counters.pages;
  hosts.AddPage(host);
  const PageId id =
      pages.Add(record.number, options.fingerprinter.Of(record.key.crawl_id, record.key.url));
  const std::optional<CrawlIndex> crawl = crawls.Intern(record.key.crawl_id);
  CHECK(crawl, "{} crawl ids", crawls.size());
  const CrawlTerms* terms = crawls.terms(*crawl);
  const bool placed = terms != nullptr && terms->quota != nullptr && places.Use(terms->quota.get());
  CountPage(id, host, *crawl, placed);
  // Maybe its first: a rule may have hours for it.
  if (hosts.pages(host) == 1) picks.HostChanged(host);
  return id;
}

void ShardState::Impl::CountPage(PageId id, HostId host, CrawlIndex crawl, bool placed) {
  crawls.Add(id, host, crawl, hosts.pages(host), placed);
  if (crawls.polite().empty() || crawls.PagesOf(host, crawl, hosts.pages(host)) != 1) return;
  FollowCrawlsOf(host);
  picks.HostChanged(host);
}

void ShardState::Impl::DropPage(PageId id) {
  if (out.Has(id)) TakeBack(id);
  const HostId host = picks.HostOf(id);
  hosts.RemovePage(host);
  picks.Remove(id);
  const CrawlIndex crawl = crawls.Of(id);
  crawls.Remove(id, host, hosts.pages(host));
  if (!crawls.polite().empty() && crawls.PagesOf(host, crawl, hosts.pages(host)) == 0) {
    FollowCrawlsOf(host);
    picks.HostChanged(host);
  }
  edges.Set(id, Instant::Infinite());
  SetGone(id, false);
  freshness.Remove(id);
  waits.Remove(id);
  ahead.erase(pages.number(id));
  pages.Remove(id);
  --counters.pages;
  CHECK(counters.pages == pages.size(), "{} pages, {} in the table", counters.pages, pages.size());
}

void ShardState::Impl::SetGone(PageId id, bool gone) {
  if (pages.Is(id, PageTable::kGone) == gone) return;
  pages.Set(id, PageTable::kGone, gone);
  CHECK(gone || counters.gone_pages > 0, "more pages come back than are gone");
  gone ? ++counters.gone_pages : --counters.gone_pages;
}

void ShardState::Impl::TakeBack(PageId id) {
  const PagesOut::Out what = out.End(id);
  if (what.lease != LeaseId()) crawls.ComesBack(id);
  what.lease == LeaseId() ? hosts.PutBack(what.host) : hosts.EndLease(what.host);
  picks.HostChanged(what.host);
}

void ShardState::Impl::TakeBackAssignment(PageId id, const Transaction::Lease& lease) {
  const HostId host = picks.HostOf(id);
  hosts.TakeBackAssignment(host, lease.record.assigned, lease.host_left);
  picks.HostChanged(host);
}

void ShardState::Impl::Orphan(const Transaction::Lease& lease) {
  const std::optional<PageId> id = pages.Find(lease.record.page);
  if (!id || lease.closed) return;
  if (leases.Find(lease.record.id) == nullptr) HandOut(*id, lease.record);
  out.Orphan(*id);
  crawls.ComesBack(*id);
}

void ShardState::Impl::EndOrphan(LeaseId lease) {
  const HostId host = out.EndOrphan(lease);
  hosts.EndLease(host);
  hosts.Rest(host);
  picks.HostChanged(host);
}

void ShardState::Impl::ComeBack(PageId id) {
  CHECK(pages.IsAny(id, PageTable::kTaken | PageTable::kLeased), "page {} is not out", id.value());
  Mark(id, PageTable::kTaken, false);
  Mark(id, PageTable::kLeased, false);
  TakeBack(id);
}

void ShardState::Impl::Mark(PageId id, PageTable::Flag flag, bool value) {
  const bool held_before = pages.IsAny(id, PageTable::kNotToBePicked);
  pages.Set(id, flag, value);
  const bool held = pages.IsAny(id, PageTable::kNotToBePicked);
  if (held != held_before) held ? picks.Suspend(id) : picks.Resume(id);
}

void ShardState::Impl::HandOut(PageId id, const LeaseRecord& lease) {
  CHECK(pages.number(id) == lease.page, "lease {:x} is of another page", lease.id.value());
  leases.Put(lease);
  Mark(id, PageTable::kLeased, true);
  Mark(id, PageTable::kTaken, false);
  crawls.GoesOut(id);
  const HostId host = out.Lease(id, lease.id, lease.deadline).host;
  hosts.OpenLease(host, lease.assigned);
  // What counts as assigned does not count as picked any more.
  if (!hosts.record(host).recent_crawls.empty()) picks.HostChanged(host);
}

void ShardState::Impl::FindNumbers(const PageKey& key, std::vector<PageNumber>* numbers) const {
  pages.ForEachOf(options.fingerprinter.Of(key.crawl_id, key.url),
                  [&](PageId id) { numbers->push_back(pages.number(id)); });
}

void ShardState::Impl::File(PageId id, const PageToLoad& page, const IndexEntry& entry,
                            Instant asked_at) {
  edges.Set(id, page.edge);
  const bool shadow = crawls.IsShadow(id);
  // There is no copy of a page that is gone to be fresh or stale; that of a page which others crawl
  // is none of ours.
  page.gone || shadow ? freshness.Remove(id)
                      : freshness.Put(id, pages.fingerprint(id), page.believed);
  picks.File(id, entry, asked_at);
  SetGone(id, page.gone);
  Mark(id, PageTable::kNever, page.never || shadow);
}

void ShardState::Impl::Refile(PageId id, HostId host, const PageSpec& spec,
                              const PageState& state) {
  const PageToLoad page =
      PrepareLoad(pages.number(id), pages.fingerprint(id), host, spec, state, crawls.ClassOf(id));
  IndexEntry entry = page.entry;
  Hold(&entry, page.last_crawl, IntervalOf(crawls.Of(id), host));
  File(id, page, entry, AskedAt(id, state));
}

Instant ShardState::Impl::AskedAt(PageId id, const PageState& state) const {
  const float probability = picks.SignalProbability(id);
  if (probability == 0) return Instant::Infinite();
  // Signals tell of changes since the last crawl: before the first nothing is known of the page.
  if (!state.crawled()) return state.first_seen;
  int signals = 0;
  for (const SignalCounts::Entry& entry : state.signals.entries()) signals += entry.count;
  // One draw a signal, the same whenever it is asked for: it must survive a restart.
  Random draws(pages.number(id).value() ^ static_cast<uint64_t>(state.last_crawl.micros()));
  for (int i = 0; i < signals; ++i) {
    if (draws.Uniform() < probability) return state.last_event;
  }
  return Instant::Infinite();
}

PageToLoad ShardState::Impl::PrepareLoad(PageNumber number, uint64_t fingerprint, HostId host,
                                         const PageSpec& spec, const PageState& state,
                                         CrawlClass crawl_class) const {
  const IndexEntry entry = MakeEntry(spec, state, host, crawl_class);
  DCHECK(entry.exponent >= 0);
  return {.number = number,
          .fingerprint = fingerprint,
          .entry = entry,
          .last_crawl = IntervalStart(state),
          .edge = estimator.NextEdge(state),
          .bursts = state.bursts,
          .believed = BelievedOf(spec, state),
          .gone = state.gone,
          .never = NeverDue(entry)};
}

}  // namespace freshet
