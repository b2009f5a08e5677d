#include "lab/common/replay_rules.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace freshet {
namespace {

// Pages in order of a time. Each page has one time, which a new one replaces.
class PageQueue {
 public:
  void Set(size_t page, Instant at) {
    if (page >= times_.size()) times_.resize(page + 1);
    times_[page] = at;
    queue_.push({at, page});
  }
  void Remove(size_t page) { times_[page] = Instant::Infinite(); }
  // Returns the page with the earliest time. If several have it, returns the page that was known
  // first. nullopt = the queue is empty.
  std::optional<size_t> Front() {
    while (!queue_.empty() && times_[queue_.top().second] != queue_.top().first) queue_.pop();
    if (queue_.empty()) return std::nullopt;
    return queue_.top().second;
  }

 private:
  using Item = std::pair<Instant, size_t>;
  std::vector<Instant> times_;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> queue_;
};

class Uniform : public ReplayPolicy {
 public:
  void Add(size_t page, Instant now) override { queue_.Set(page, now); }
  void Signal(std::span<const ReplaySignal>, Instant) override {}
  std::optional<size_t> Pick(Instant) override { return queue_.Front(); }
  void Crawled(size_t page, Instant now, bool) override { queue_.Set(page, now); }
  void Gone(size_t page, Instant) override { queue_.Remove(page); }

 private:
  PageQueue queue_;  // by last crawl
};

class Importance : public ReplayPolicy {
 public:
  explicit Importance(const std::vector<ReplayPage>& pages) : pages_(pages) {}
  void Add(size_t page, Instant now) override {
    classes_[pages_[page].importance].push_back({page, now});
  }
  void Signal(std::span<const ReplaySignal>, Instant) override {}
  // Pages of equal importance share a queue, in the order of their last crawls. The head of a queue
  // has the most worth, so only the heads are compared.
  std::optional<size_t> Pick(Instant now) override {
    double best = -1;
    picked_ = nullptr;
    for (auto& [importance, queue] : classes_) {
      if (queue.empty()) continue;
      const double worth = importance * (now - queue.front().second).seconds();
      if (worth <= best) continue;
      best = worth;
      picked_ = &queue;
    }
    if (picked_ == nullptr) return std::nullopt;
    return picked_->front().first;
  }
  void Crawled(size_t page, Instant now, bool) override {
    picked_->pop_front();
    picked_->push_back({page, now});
  }
  void Gone(size_t, Instant) override { picked_->pop_front(); }

 private:
  using Queue = std::deque<std::pair<size_t, Instant>>;  // page, last crawl; in order of it
  const std::vector<ReplayPage>& pages_;
  std::map<double, Queue> classes_;
  Queue* picked_ = nullptr;
};

class PingsFirst : public ReplayPolicy {
 public:
  explicit PingsFirst(const std::vector<ReplayPage>& pages)
      : pages_(pages), crawled_(pages.size()), pinged_at_(pages.size(), Instant::Infinite()) {}
  void Add(size_t page, Instant now) override {
    crawled_[page] = now;
    queue_.Set(page, now);
  }
  void Signal(std::span<const ReplaySignal> poll, Instant now) override {
    for (const ReplaySignal& signal : poll) {
      if (signal.changed <= crawled_[signal.page] || !pinged_at_[signal.page].infinite()) continue;
      pinged_at_[signal.page] = now;
      pinged_.insert(Ping(signal.page));
    }
  }
  std::optional<size_t> Pick(Instant) override {
    return pinged_.empty() ? queue_.Front() : std::get<2>(*pinged_.begin());
  }
  void Crawled(size_t page, Instant now, bool) override {
    pinged_.erase(Ping(page));
    pinged_at_[page] = Instant::Infinite();
    crawled_[page] = now;
    queue_.Set(page, now);
  }
  void Gone(size_t page, Instant) override {
    pinged_.erase(Ping(page));
    queue_.Remove(page);
    crawled_[page] = Instant::Infinite();  // older signals do not count
  }

 private:
  using PingKey = std::tuple<double, Instant, size_t>;
  [[nodiscard]] PingKey Ping(size_t page) const {
    return {-pages_[page].importance, pinged_at_[page], page};
  }
  const std::vector<ReplayPage>& pages_;
  std::vector<Instant> crawled_;
  std::vector<Instant> pinged_at_;  // first ping since the last crawl; infinite = none
  std::set<PingKey> pinged_;
  PageQueue queue_;  // by last crawl
};

// Implements AdaptiveFetchSchedule, with the names and numbers of Nutch's nutch-default.xml.
class NutchAdaptive : public ReplayPolicy {
 public:
  explicit NutchAdaptive(const std::vector<ReplayPage>& pages)
      : seconds_(pages.size(), kFirstInterval), modified_(pages.size()) {}
  void Add(size_t page, Instant now) override {
    modified_[page] = now;
    queue_.Set(page, now + Duration::FromSeconds(kFirstInterval));
  }
  void Signal(std::span<const ReplaySignal>, Instant) override {}
  std::optional<size_t> Pick(Instant) override { return queue_.Front(); }
  void Crawled(size_t page, Instant now, bool changed) override {
    if (changed) modified_[page] = now;
    const double delta = (now - modified_[page]).seconds();
    const double interval = seconds_[page] * (changed ? 1 - kDecRate : 1 + kIncRate);
    seconds_[page] = std::clamp(std::max(interval, delta), kMinInterval, kMaxInterval);
    const double wait = seconds_[page] - std::min(delta, seconds_[page]) * kSyncDeltaRate;
    queue_.Set(page, now + Duration::FromSeconds(std::clamp(wait, kMinInterval, kLongestWait)));
  }
  void Gone(size_t page, Instant) override { queue_.Remove(page); }

 private:
  static constexpr double kDay = 86400;  // in seconds, like all of these constants
  static constexpr double kFirstInterval = 30 * kDay;
  static constexpr double kMinInterval = 60;
  static constexpr double kMaxInterval = 365 * kDay;
  static constexpr double kLongestWait = 90 * kDay;
  static constexpr double kIncRate = 0.4;
  static constexpr double kDecRate = 0.2;
  static constexpr double kSyncDeltaRate = 0.3;
  std::vector<double> seconds_;    // the interval of each page
  std::vector<Instant> modified_;  // the last crawl that found a change, or the time of Add
  PageQueue queue_;                // by due time
};

}  // namespace

std::unique_ptr<ReplayPolicy> MakeReplayRule(std::string_view name,
                                             const std::vector<ReplayPage>& pages) {
  if (name == "uniform") return std::make_unique<Uniform>();
  if (name == "importance") return std::make_unique<Importance>(pages);
  if (name == "pings_first") return std::make_unique<PingsFirst>(pages);
  if (name == "nutch_adaptive") return std::make_unique<NutchAdaptive>(pages);
  return nullptr;
}

std::vector<std::string_view> ReplayRuleNames() {
  return {"uniform", "importance", "pings_first", "nutch_adaptive"};
}

}  // namespace freshet
