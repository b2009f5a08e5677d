#include "lab/sim/replay_truth.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace freshet {
namespace {

// The counts of one poll for the pages of one host.
struct PollCount {
  size_t changed = 0;
  size_t unchanged = 0;
};
using PollCounts = std::map<std::pair<Instant, std::string>, PollCount>;

// Calls `body(poll, changed)` for each poll that names the page, in the order of time.
template <typename Body>
void ForPolls(const ReplayPage& page, Duration period, Body body) {
  Instant poll;
  bool changed = false;
  for (const ReplayPage::Touch& touch : page.touches) {
    if (!touch.signalled) continue;
    const Instant at = NextPoll(touch.at + touch.delay, period);
    if (at != poll && !poll.is_none()) {
      body(poll, changed);
      changed = false;
    }
    poll = at;
    changed |= touch.changed;
  }
  if (!poll.is_none()) body(poll, changed);
}

PollCounts CountPolls(const World& world) {
  PollCounts counts;
  for (const ReplayPage& page : world.pages) {
    ForPolls(page, world.signal_delay, [&](Instant poll, bool changed) {
      PollCount& count = counts[{poll, page.host}];
      ++(changed ? count.changed : count.unchanged);
    });
  }
  std::erase_if(counts, [](const auto& item) {
    return item.second.changed + item.second.unchanged < kHindsightBurst;
  });
  return counts;
}

Instant EndOf(const World& world) {
  Instant end;
  for (const ReplayPage& page : world.pages) {
    end = std::max({end, page.first_seen, page.touches.empty() ? end : page.touches.back().at});
  }
  return end;
}

TrueRates RatesOf(const ReplayPage& page, const World& world, const PollCounts& bursts, Instant end,
                  double signal_recall) {
  TrueRates rates{.from = page.first_seen, .recall = signal_recall};
  const double days = (end - page.first_seen).seconds() / 86400;
  if (days <= 0) return rates;
  const auto changes = std::count_if(page.touches.begin(), page.touches.end(),
                                     [](const ReplayPage::Touch& touch) { return touch.changed; });
  size_t lies = 0;
  ForPolls(page, world.signal_delay, [&](Instant poll, bool changed) {
    if (!changed && !bursts.contains({poll, page.host})) ++lies;
  });
  rates.change_rate = static_cast<double>(changes) / days;
  rates.false_rate = static_cast<double>(lies) / days;
  return rates;
}

}  // namespace

ReplayTruth TruthOf(const World& world, double signal_recall) {
  if (world.truth.size() == world.pages.size()) return {world.truth, world.bursts};
  ReplayTruth truth;
  const PollCounts bursts = CountPolls(world);
  for (const auto& [poll, count] : bursts) {
    const double changed = signal_recall * static_cast<double>(count.changed);
    const double named = changed + static_cast<double>(count.unchanged);
    truth.bursts.push_back({poll.first, poll.second, named > 0 ? changed / named : 0});
  }
  const Instant end = EndOf(world);
  for (const ReplayPage& page : world.pages) {
    truth.rates.push_back({RatesOf(page, world, bursts, end, signal_recall)});
  }
  return truth;
}

}  // namespace freshet
