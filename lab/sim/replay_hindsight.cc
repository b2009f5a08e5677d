#include "lab/sim/replay_hindsight.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/model/crawl_value.h"
#include "core/model/policy.h"

namespace freshet {
namespace {

constexpr double kSecondsADay = 86400;
constexpr Policy kBasePolicy{.kind = PolicyKind::kGreedyNcis};

}  // namespace

HindsightReplay::HindsightReplay(const World& world, double signal_recall)
    : world_(world),
      truth_(TruthOf(world, signal_recall)),
      rates_(world.pages.size(), 0),
      crawled_(world.pages.size(), Instant::Infinite()) {
  for (size_t page = 0; page < world.pages.size(); ++page) {
    const std::vector<TrueRates>& truth = truth_.rates[page];
    for (size_t i = 1; i < truth.size(); ++i) happenings_.push_back({truth[i].from, page, i});
    if (!world.pages[page].gone_at.infinite()) {
      happenings_.push_back({world.pages[page].gone_at, page, truth.size()});
    }
  }
  std::sort(happenings_.begin(), happenings_.end(), [](const Happening& a, const Happening& b) {
    return std::tuple(a.at, a.page, a.rates) < std::tuple(b.at, b.page, b.rates);
  });
}

void HindsightReplay::CatchUp(Instant now) {
  for (; next_ < happenings_.size() && happenings_[next_].at <= now; ++next_) {
    const auto& [at, page, rates] = happenings_[next_];
    if (rates == truth_.rates[page].size()) {
      Gone(page, at);
      continue;
    }
    rates_[page] = rates;
    if (crawled_[page].infinite()) continue;
    // Keeps the exponent that grew at the old rates: it stands for the chance that the page has
    // changed.
    File(page, index_.ExponentOf(PageId(static_cast<uint32_t>(page)), at), at);
  }
}

void HindsightReplay::File(size_t page, double exponent, Instant now) {
  const TrueRates& truth = truth_.rates[page][rates_[page]];
  IndexEntry entry;
  entry.policy = kBasePolicy;
  entry.rates =
      MakeIndexRates(world_.pages[page].importance,
                     RatesFromPaper({.importance = world_.pages[page].importance,
                                     .change_rate = truth.change_rate / kSecondsADay,
                                     .recall = truth.recall,
                                     .false_signal_rate = truth.false_rate / kSecondsADay}));
  entry.exponent = exponent;
  entry.since = now;
  index_.Put(PageId(static_cast<uint32_t>(page)), entry);
}

const TrueRates& HindsightReplay::RatesAt(size_t page, Instant at) const {
  size_t i = rates_[page];
  while (i > 0 && truth_.rates[page][i].from > at) --i;
  return truth_.rates[page][i];
}

void HindsightReplay::Add(size_t page, Instant now) {
  CatchUp(now);
  if (world_.pages[page].gone_at <= now) return;
  crawled_[page] = now;
  File(page, 0, now);
}

const TrueBurst* HindsightReplay::BurstOf(const std::string& host, Instant now) const {
  const auto before = [](const TrueBurst& burst, Instant at) { return burst.arrives < at; };
  auto it = std::lower_bound(truth_.bursts.begin(), truth_.bursts.end(), now, before);
  for (; it != truth_.bursts.end() && it->arrives == now; ++it) {
    if (it->host == host) return &*it;
  }
  return nullptr;
}

void HindsightReplay::Signal(std::span<const ReplaySignal> poll, Instant now) {
  CatchUp(now);
  for (const ReplaySignal& signal : poll) {
    const size_t page = signal.page;
    if (signal.changed <= crawled_[page]) continue;  // already crawled since, or the page is gone
    const TrueRates& truth = RatesAt(page, signal.changed);
    double jump = SignalWeight(truth.recall * truth.change_rate, truth.false_rate);
    if (const TrueBurst* burst = BurstOf(world_.pages[page].host, now)) {
      // The poll of a burst names the page anyway, so it hides whether the page also had a change
      // of its own since the last poll. The expected number of such changes is added.
      const double own =
          truth.recall * truth.change_rate * world_.signal_delay.seconds() / kSecondsADay;
      jump = own - std::log1p(-burst->changed_share);
    }
    if (jump == 0) continue;
    const PageId id(static_cast<uint32_t>(page));
    index_.Restart(id, index_.ExponentOf(id, now) + jump, now);
  }
}

std::optional<size_t> HindsightReplay::Pick(Instant now) {
  CatchUp(now);
  const std::optional<IndexPick> best = index_.Best(now);
  if (!best || !(best->value > 0)) return std::nullopt;
  return best->page.value();
}

void HindsightReplay::Crawled(size_t page, Instant now, bool) {
  crawled_[page] = now;
  index_.Restart(PageId(static_cast<uint32_t>(page)), 0, now);
}

void HindsightReplay::Gone(size_t page, Instant) {
  index_.Remove(PageId(static_cast<uint32_t>(page)));
  crawled_[page] = Instant::Infinite();
}

}  // namespace freshet
