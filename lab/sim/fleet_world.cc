#include "lab/sim/fleet_world.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "fmt/format.h"
#include "lab/sim/log_normal.h"

namespace freshet {
namespace {

// Standard deviations of the logarithms of importance and change rate: between hosts, and between
// the pages of one host.
constexpr double kHostSpread = 1.2;
constexpr double kPageSpread = 0.8;
constexpr double kMedianChangesPerDay = 0.3;
constexpr double kSignallingHosts = 0.5;

// Returns the number of pages of each host. Each host has one page; the rest are distributed in
// proportion to k^-skew.
std::vector<size_t> SizesOf(const FleetWorldOptions& options) {
  std::vector<double> share;
  double sum = 0;
  for (size_t k = 1; k <= options.hosts; ++k) {
    share.push_back(std::pow(static_cast<double>(k), -options.skew));
    sum += share.back();
  }
  std::vector<size_t> sizes(options.hosts, 1);
  const size_t rest = options.pages - options.hosts;
  size_t given = 0;
  for (size_t k = 0; k < options.hosts; ++k) {
    const auto more = static_cast<size_t>(share[k] / sum * static_cast<double>(rest));
    sizes[k] += more;
    given += more;
  }
  for (size_t k = 0; given < rest; k = (k + 1) % options.hosts, ++given) ++sizes[k];
  return sizes;
}

}  // namespace

FleetWorld::FleetWorld(const FleetWorldOptions& options) {
  CHECK(options.hosts >= 1 && options.hosts <= options.pages);
  Random random(options.seed);
  const std::vector<size_t> sizes = SizesOf(options);
  for (uint32_t host = 0; host < sizes.size(); ++host) {
    const double importance = LogNormal(random, kHostSpread);
    const double changes =
        Rate::PerDay(kMedianChangesPerDay).per_second() * LogNormal(random, kHostSpread);
    const bool signals = random.Uniform() < kSignallingHosts;
    const double recall = signals ? random.Uniform(0.3, 1) : 0;
    const double false_share = signals ? random.Uniform(0, 0.5) : 0;
    for (size_t i = 0; i < sizes[host]; ++i) {
      Page page;
      page.host = host;
      page.importance = importance * LogNormal(random, kPageSpread);
      // Crawls could not follow changes that come more often than every ten minutes.
      page.change_rate = std::min(changes * LogNormal(random, kPageSpread), 1.0 / 600);
      page.false_rate = false_share * page.change_rate;
      page.recall = recall;
      pages_.push_back(page);
      importance_ += page.importance;
    }
  }
}

std::string FleetWorld::HostName(uint32_t host) { return fmt::format("h{}.test", host); }

PageKey FleetWorld::KeyOf(size_t page) const {
  return {"fleet", fmt::format("https://{}/{}", HostName(pages_[page].host), page)};
}

size_t FleetWorld::PageOf(const PageKey& key) {
  return std::stoull(key.url.substr(key.url.rfind('/') + 1));
}

UpsertPage FleetWorld::Added(size_t page, bool told, Instant now) const {
  UpsertPage added;
  added.key = KeyOf(page);
  added.host = HostName(pages_[page].host);
  added.importance = pages_[page].importance;
  if (told) added.known_change_rate = Rate::PerSecond(pages_[page].change_rate);
  added.last_crawl = now;
  return added;
}

FleetTruth::FleetTruth(const FleetWorld& world, uint64_t seed) : world_(world) {
  Random random(seed);
  copies_.resize(world.pages().size());
  for (uint32_t page = 0; page < copies_.size(); ++page) {
    copies_[page].random = random.Split();
    Push(page, true, 0);
    if (world.pages()[page].false_rate > 0) Push(page, false, 0);
  }
}

void FleetTruth::Push(uint32_t page, bool change, double now) {
  const FleetWorld::Page& rates = world_.pages()[page];
  const double rate = change ? rates.change_rate : rates.false_rate;
  events_.push({now + copies_[page].random.Exponential(rate), page, change});
}

void FleetTruth::Happen(const std::function<void(size_t page)>& signal) {
  const Happening event = events_.top();
  events_.pop();
  Copy& copy = copies_[event.page];
  if (event.change && copy.fresh) {
    copy.fresh = false;
    copy.stale_since = event.at;
  }
  const bool told = !event.change || copy.random.Uniform() < world_.pages()[event.page].recall;
  Push(event.page, event.change, event.at);
  if (told) signal(event.page);
}

bool FleetTruth::Crawl(size_t page, double now) {
  Copy& copy = copies_[page];
  if (copy.fresh) return false;
  copy.fresh = true;
  stale_ += world_.pages()[page].importance * (now - copy.stale_since);
  return true;
}

double FleetTruth::Freshness(double now) const {
  double stale = stale_;
  for (size_t page = 0; page < copies_.size(); ++page) {
    const Copy& copy = copies_[page];
    if (!copy.fresh) stale += world_.pages()[page].importance * (now - copy.stale_since);
  }
  return 1 - stale / (world_.importance() * now);
}

}  // namespace freshet
