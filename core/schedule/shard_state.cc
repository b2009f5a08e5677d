#include "core/schedule/shard_state.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/schedule/books.h"
#include "core/schedule/clock_ahead.h"
#include "core/schedule/explanation.h"
#include "core/schedule/page_moves.h"
#include "core/schedule/pick.h"
#include "core/schedule/shard_figures.h"
#include "core/schedule/shard_install.h"
#include "core/schedule/shard_loading.h"
#include "core/schedule/shard_steps.h"
#include "core/schedule/shard_timers.h"
#include "core/schedule/shard_view.h"

namespace freshet {

ShardState::ShardState(const ShardOptions& options) : books_(std::make_unique<Books>(options)) {}
ShardState::~ShardState() = default;

ShardLoading ShardState::loading() { return ShardLoading(*books_); }

// --- The cycle

bool ShardState::CapTimes(Instant now, PageRecord* page) const {
  if (AheadOf(now, page->state) == Duration()) return false;
  return CapAtNow(std::min(now, books_->pages.loaded_at), page) > Duration();
}

void ShardState::Want(const Event& event, std::vector<PageNumber>* numbers) const {
  freshet::Want(event, *books_, numbers);
}

Reply ShardState::Step(const Event& event, Instant now, Transaction& txn) const {
  const Books& books = *books_;
  txn.now = std::max(txn.now, now);
  if (!std::holds_alternative<SignalChange>(event)) {
    txn.TakeDueEstimates(books.learning.estimator());
  }
  return std::visit([&](const auto& e) { return freshet::Step(e, now, books, txn); }, event);
}

void ShardState::Install(Transaction& txn) { freshet::Install(txn, *books_); }

void ShardState::TakeDueTimers(Instant now, size_t max, std::vector<Event>* events) {
  freshet::TakeDueTimers(now, max, *books_, events);
}

Instant ShardState::next_timer() const { return NextTimer(*books_); }

CrawlNews ShardState::TakeCrawlNews() {
  CrawlBook& crawls = books_->crawls;
  CrawlNews news;
  news.emptied = std::exchange(crawls.emptied, {});
  const bool reclassed = crawls.reclassing >= books_->pages.table.id_limit();
  if (reclassed) news.declassed = std::exchange(crawls.declassed, {});
  return news;
}

// --- Picks

std::optional<Pick> ShardState::Peek(Instant at) {
  const auto best = BestPage(at, kAllClasses, /*forced_first=*/true, *books_);
  if (!best) return std::nullopt;
  return Pick{.page = books_->pages.table.number(best->page),
              .value = best->value,
              .planned = books_->pages.picks.plan_in_force(),
              .crawl_class = best->crawl_class};
}

double ShardState::BestValue(Instant now) {
  PageBook& pages = books_->pages;
  if (pages.picks.plan_in_force()) return 0;
  pages.looked_at = std::max(now, pages.best_at);
  // Forced pages get no precedence here. A page that comes first only because it is forced says
  // nothing about the price.
  const auto best = BestPage(pages.looked_at, kAllClasses, /*forced_first=*/false, *books_);
  return best ? best->value : 0;
}

std::optional<Pick> ShardState::Take(Instant at, ClassSet among, bool forced_first) {
  PageBook& pages = books_->pages;
  HostGate& hosts = books_->hosts.gate;
  if (pages.leases.size() >= limits::kMaxLeasesPerShard) return std::nullopt;
  at = std::max(at, pages.looked_at);
  const auto best = BestPage(at, among, forced_first, *books_);
  if (!best) return std::nullopt;
  const PageId id = best->page;
  DCHECK(!pages.table.IsAny(id, PageTable::kNotToBePicked));
  const HostId host = pages.picks.HostOf(id);
  const bool planned = pages.picks.plan_in_force();
  pages.out.Pick(id, host, planned);
  const ForcedTurn forced = pages.picks.Take(*best);
  Mark(id, PageTable::kTaken, true, *books_);
  hosts.Pick(host, at);
  pages.picks.HostChanged(host);
  Pick pick{.page = pages.table.number(id),
            .value = best->value,
            .planned = planned,
            .crawl_class = best->crawl_class,
            .forced = forced,
            .out_of_turn = std::isinf(best->value) && !forced_first,
            .host = host,
            .host_delay = HostSpacing(hosts.TermsOf(host)),
            .host_again = hosts.host(host).picks > 1};
  if (const GroupId group = hosts.host(host).group; group != GroupId()) {
    pick.group = hosts.groups().key(group);
    pick.group_terms = hosts.groups().group(group)->terms;
  }
  return pick;
}

void ShardState::PutBack(PageNumber page) {
  const PageTable& table = books_->pages.table;
  const std::optional<PageId> id = table.Find(page);
  if (id && table.Is(*id, PageTable::kTaken)) ComeBack(*id, *books_);
}

void ShardState::HearOfGroup(const GroupNews& news, Instant now) {
  const GroupId group = books_->hosts.gate.groups().Hear(news, now);
  if (group != GroupId()) books_->pages.picks.GroupChanged(group);
}

void ShardState::TakeGroupStandings(std::vector<GroupStanding>* standings) {
  books_->hosts.gate.groups().TakeStandings(standings);
}

void ShardState::SetPoliteness(const PolitenessDefaults& defaults) {
  books_->hosts.gate.SetDefaults(defaults);
  books_->hosts.following = 0;
}

PolicySwitch& ShardState::policies() { return books_->pages.picks; }
Learning& ShardState::learning() { return books_->learning; }

// --- Reading the state

const PageBook& ShardState::pages() const { return books_->pages; }
const HostBook& ShardState::hosts() const { return books_->hosts; }
const CrawlBook& ShardState::crawls() const { return books_->crawls; }

Explanation ShardState::Explain(const PageRecord& page, Instant now) const {
  return freshet::Explain(page, now, *books_);
}

ShardFigures ShardState::Figures(Instant now) {
  const PageBook& pages = books_->pages;
  HostBook& hosts = books_->hosts;
  hosts.census.Look(hosts.gate, hosts.use, now, limits::kHostsPerCensus);
  return {.awake = pages.picks.awake(),
          .evaluations = pages.picks.evaluations(),
          .picks = pages.picks.prices().picks,
          .waits = pages.waits.counts(),
          .waiting = pages.waits.waiting(),
          .longest_wait = pages.waits.Longest(now),
          .hosts = hosts.census.counts()};
}

ShardCounters ShardState::counters() const {
  const PageBook& pages = books_->pages;
  CHECK(pages.gone <= pages.table.size(), "{} pages of {} are gone", pages.gone,
        pages.table.size());
  ShardCounters counters{books_->counts};
  counters.pages = pages.table.size();
  counters.gone_pages = pages.gone;
  counters.hosts = books_->hosts.gate.size();
  counters.leases = pages.leases.size();
  books_->learning.CountIn(&counters);
  return counters;
}

}  // namespace freshet
