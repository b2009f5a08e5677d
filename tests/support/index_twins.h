// Compares the price index with its twin, a full scan of all pages (BruteIndex). Both get the same
// random operations, and their picks must agree. Tests drive them with a seeded generator, and the
// fuzz target drives them with input bytes.
#ifndef FRESHET_TESTS_SUPPORT_INDEX_TWINS_H_
#define FRESHET_TESTS_SUPPORT_INDEX_TWINS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/index/price_index.h"
#include "core/model/policy.h"
#include "fmt/format.h"
#include "lab/common/brute_index.h"

namespace freshet {

struct TwinOptions {
  uint32_t pages = 700;
  uint32_t hosts = 40;
  uint32_t groups = 0;  // groups that hosts join and leave
  // The mean time between two picks.
  Duration pick_interval = Duration::Micros(1000);
  // The number of steps between two comparisons with a full scan.
  uint32_t compare_every = 1;
};

// The price index and its twin, filled with the same random pages. `random` returns 64 random bits
// at each call. Owner thread only.
class IndexTwins {
 public:
  IndexTwins(Policy policy, const TwinOptions& options, std::function<uint64_t()> random)
      : policy_(policy), options_(options), random_(std::move(random)) {
    for (uint32_t i = 0; i < options_.pages; ++i) {
      rates_.push_back(RandomRates());
      Put(PageId(i), RandomEntry(PageId(i)));
    }
  }

  // Makes a random operation, then a pick, whose page is crawled. Returns the difference from the
  // twin; "" = none.
  [[nodiscard]] std::string Step() {
    const PageId page(Below(options_.pages));
    switch (Below(20)) {
      case 0:
        Put(page, RandomEntry(page));
        break;
      case 1:
        Remove(page);
        break;
      case 2:
        BlockHost(HostId(Below(options_.hosts)));
        break;
      case 3:
        SetHostFree(HostId(Below(options_.hosts)), Instant());
        break;
      case 4:
      case 5:
      case 6:
        Signal(page);
        break;
      case 7:
        ChangeRates(page);
        break;
      case 8:
        if (twin_.Find(page)) {
          product_.Suspend(page);
          twin_.Suspend(page);
        }
        break;
      case 9:
      case 10:
        if (twin_.Find(page)) {
          product_.Resume(page);
          twin_.Resume(page);
        }
        break;
      case 11:
        RareOperation();
        break;
      case 12:
        if (options_.groups > 0) ChangeGroups();
        break;
      default:
        break;
    }
    const auto interval = static_cast<uint32_t>(options_.pick_interval.micros());
    now_ = now_ + Duration::Micros(Below(Below(10) == 0 ? 50 * interval : 2 * interval));
    return Pick(steps_++ % options_.compare_every == 0);
  }

  [[nodiscard]] uint64_t picks() const { return picks_; }

  // --- Changes of all pages ---

  // Files every page again under another policy. The pages keep their exponents.
  void SwitchPolicy(Policy policy) {
    policy_ = policy;
    for (uint32_t i = 0; i < options_.pages; ++i) {
      const std::optional<IndexEntry> old = twin_.Find(PageId(i));
      if (!old) continue;
      IndexEntry entry = *old;
      entry.exponent = ExponentAt(*old, now_);
      entry.since = now_;
      entry.policy = policy_;
      entry.rates = MakeIndexRates(rates_[i].first, rates_[i].second);
      Put(PageId(i), entry);
    }
  }
  // From now on picks come `factor` times as often.
  void ChangeCrawlRate(double factor) {
    const double interval = static_cast<double>(options_.pick_interval.micros()) / factor;
    options_.pick_interval =
        Duration::Micros(std::clamp<int64_t>(std::llround(interval), 1, 1'000'000));
  }
  void Pause(Duration time) { now_ = now_ + time; }
  // Removes a twentieth of all pages, those with the highest values.
  void RemoveTop() {
    std::vector<std::pair<double, uint32_t>> values;
    for (uint32_t i = 0; i < options_.pages; ++i) {
      if (twin_.Find(PageId(i))) values.emplace_back(-twin_.ValueOf(PageId(i), now_), i);
    }
    std::sort(values.begin(), values.end());
    for (size_t i = 0; i < values.size() / 20; ++i) Remove(PageId(values[i].second));
  }
  void AddMissing() {
    for (uint32_t i = 0; i < options_.pages; ++i) {
      if (!twin_.Find(PageId(i))) Put(PageId(i), RandomEntry(PageId(i)));
    }
  }

 private:
  uint32_t Below(uint32_t n) { return n <= 1 ? 0 : static_cast<uint32_t>(random_() % n); }
  double Real() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  std::pair<double, PageRates> RandomRates() {
    PaperRates rates;
    rates.importance = 1;
    rates.change_rate = Below(30) == 0 ? 0 : std::exp(4 * Real() - 3);
    rates.recall = Below(4) == 0 ? 0 : Below(4) == 0 ? 1 : Real();
    rates.false_signal_rate = Below(5) == 0 ? 0 : 0.5 * Real();
    const double importance = Below(20) == 0 ? 0 : std::exp(3 * Real());
    return {importance, RatesFromPaper(rates)};
  }

  IndexEntry RandomEntry(PageId page) {
    const auto& [importance, rates] = rates_[page.value()];
    IndexEntry entry;
    entry.policy = policy_;
    entry.rates = MakeIndexRates(importance, rates);
    entry.exponent = Below(10) == 0 ? HUGE_VAL : Below(3) == 0 ? 2 * Real() : 0;
    // Half of all pages are on one host.
    entry.since = now_;
    entry.host = HostId(Below(2) == 0 ? Below(options_.hosts) : 0);
    if (Below(10) == 0) entry.eligible_from = now_ + Duration::Millis(Below(500));
    if (Below(20) == 0) entry.forced_at = now_ + Duration::Millis(Below(3000));
    return entry;
  }

  void Put(PageId page, const IndexEntry& entry) {
    product_.Put(page, entry);
    twin_.Put(page, entry);
  }
  void Remove(PageId page) {
    product_.Remove(page);
    twin_.Remove(page);
  }
  void Restart(PageId page, double exponent) {
    product_.Restart(page, exponent, now_);
    twin_.Restart(page, exponent, now_);
  }
  void SetHostFree(HostId host, Instant at) {
    product_.SetHostFree(host, at);
    twin_.SetHostFree(host, at);
  }

  // Applies a signal of one of three sources. Each source raises the exponent by a different
  // amount.
  void Signal(PageId page) {
    const std::optional<IndexEntry> old = twin_.Find(page);
    if (!old) return;
    constexpr double kShares[] = {1, 0.3, 0.02};
    Restart(page, twin_.ExponentOf(page, now_) + kShares[Below(3)] * ValueOf(*old).jump);
  }
  // Changes rates and speed of the page and keeps its staleness. A shard does this when the age of
  // the page reaches another bin, in an epoch, and after a signal.
  void ChangeRates(PageId page) {
    const std::optional<IndexEntry> old = twin_.Find(page);
    if (!old) return;
    IndexEntry entry = *old;
    entry.exponent = ExponentAt(*old, now_);
    entry.since = now_;
    rates_[page.value()] = RandomRates();
    rates_[page.value()].second.staleness_rate *= 0.2 + 3 * Real();
    entry.rates = MakeIndexRates(rates_[page.value()].first, rates_[page.value()].second);
    Put(page, entry);
  }
  void RareOperation() {
    switch (Below(2000)) {
      case 0:
        Pause(Duration::Days(1));
        break;
      case 1:
        RemoveTop();
        break;
      case 2:
        AddMissing();
        break;
      default:
        break;
    }
  }
  void BlockHost(HostId host) {
    SetHostFree(host, Below(4) == 0 ? Instant::Infinite() : now_ + Duration::Millis(Below(50)));
  }

  void ChangeGroups() {
    const GroupId group(1 + Below(options_.groups));
    if (Below(3) == 0) {
      const HostId host(Below(options_.hosts));
      const GroupId its = Below(4) == 0 ? GroupId() : group;
      product_.SetHostGroup(host, its);
      twin_.SetHostGroup(host, its);
      return;
    }
    const Instant at = Below(3) == 0   ? Instant()
                       : Below(5) == 0 ? Instant::Infinite()
                                       : now_ + Duration::Millis(Below(50));
    product_.SetGroupFree(group, at);
    twin_.SetGroupFree(group, at);
  }

  std::string Pick(bool compare) {
    const std::optional<IndexPick> got = product_.Best(now_);
    if (compare) {
      const std::optional<IndexPick> expected = twin_.Best(now_);
      if (got.has_value() != expected.has_value()) {
        return fmt::format("a pick: {}, the scan: {}", got.has_value(), expected.has_value());
      }
      // Pages of equal value within rounding are not a mismatch.
      if (got && got->page != expected->page && got->value != expected->value &&
          !(std::abs(got->value - expected->value) <= 1e-12 * std::abs(expected->value))) {
        return fmt::format("picked page {} of value {}, the scan page {} of value {}",
                           got->page.value(), got->value, expected->page.value(), expected->value);
      }
    }
    if (!got) return "";
    ++picks_;
    const std::optional<IndexEntry> picked = twin_.Find(got->page);
    if (!picked) return fmt::format("picked page {}, which is not in", got->page.value());
    if (picked->forced_at.infinite()) {
      Restart(got->page, 0);
    } else {
      IndexEntry entry = *picked;
      entry.exponent = 0;
      entry.since = now_;
      entry.forced_at = now_ + Duration::Millis(1000);
      Put(got->page, entry);
    }
    return "";
  }

  Policy policy_;
  TwinOptions options_;
  std::function<uint64_t()> random_;
  PriceIndex product_;
  BruteIndex twin_;
  std::vector<std::pair<double, PageRates>> rates_;  // importance and rates by PageId
  Instant now_ = Instant::FromUnixSeconds(1'000'000);
  uint64_t steps_ = 0;
  uint64_t picks_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_INDEX_TWINS_H_
