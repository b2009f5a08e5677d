// A small site with known rates, watched by an estimator, for tests of the default estimator. One
// step is a day: signals come at any time of the day, crawls at its end.
#ifndef FRESHET_TESTS_CORE_ESTIMATE_WORLD_H_
#define FRESHET_TESTS_CORE_ESTIMATE_WORLD_H_

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/estimate/estimator.h"
#include "core/estimate/lessons.h"
#include "core/estimate/page_estimate.h"
#include "core/model/page.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "tests/core/estimate/source_classes.h"

namespace freshet {

struct WorldOptions {
  int pages = 300;
  // The rates of changes and of false signals, per day, are drawn for each page from gamma
  // distributions with these means and shapes.
  double mean = 0.05;
  double shape = 0.8;
  double false_mean = 0.01;
  double false_shape = 1;
  double recall = 0.5;
  // The days between crawls of a page: constant, or the mean of an exponential distribution.
  double interval = 10;
  bool random_crawls = false;
  // For three days after a change, the rate of a page is multiplied by this.
  double after_change = 1;
  SourceClass source_class = kPing;
  EstimatorOptions estimator = {};
  uint64_t seed = 1;
};

// Changes and false signals are Poisson processes. A change has a signal with probability `recall`.
class World {
 public:
  static constexpr Instant kStart = Instant::FromUnixSeconds(1'600'000'000);

  explicit World(const WorldOptions& options)
      : options_(options),
        random_(options.seed),
        estimator_(std::make_unique<Estimator>(options.estimator)) {
    std::gamma_distribution<double> rates(options.shape, options.mean / options.shape);
    std::gamma_distribution<double> false_rates(options.false_shape,
                                                options.false_mean / options.false_shape);
    for (int i = 0; i < options.pages; ++i) {
      Page page;
      page.record.host = "site.test";
      page.record.key = {"DEFAULT", fmt::format("https://site.test/{}", i)};
      page.record.number = PageNumber(static_cast<uint64_t>(i) + 1);
      PageState& state = page.record.state;
      state.first_seen = state.last_crawl = state.carried_at = state.last_event = kStart;
      page.rate = rates(random_);
      page.false_rate = options.false_mean > 0 ? false_rates(random_) : 0;
      page.recall = options.recall;
      page.next_crawl = options.random_crawls
                            ? Wait()
                            : 1 + i % static_cast<int>(std::max(1.0, options.interval));
      pages.push_back(page);
      Take(pages.back());
    }
  }

  struct Page {
    PageRecord record;
    double rate = 0;  // per day
    double false_rate = 0;
    double recall = 0;
    bool crawled_ever = true;  // false = no crawls from now on
    double next_crawl = 0;     // day
    int last_change = -1000;   // day
    bool stale = false;
    int crawls = 0;
  };

  // Simulates `days` days. An epoch runs at the end of each day whose number is a multiple of
  // `epoch_days`.
  void Run(int days, int epoch_days) {
    for (int i = 0; i < days; ++i) {
      ++day_;
      now_ = kStart + Duration::Days(day_);
      for (Page& page : pages) Live(page);
      if (day_ % epoch_days == 0) Epoch();
    }
  }

  // Sets the class of all later signals.
  void set_source_class(SourceClass source_class) { options_.source_class = source_class; }

  void Epoch() {
    estimator_->BeginEpoch(now());
    for (Page& page : pages) {
      estimator_->aging().Advance(page.record.state, now());
      estimator_->Collect(page.record);
    }
    estimator_->FinishEpoch();
    stored_ = estimator_->SerialiseModel();
    for (Page& page : pages) Take(page);
  }

  // Forgets everything that was learned since the last epoch, as a restarted server does. Keeps the
  // pages.
  void Restart() {
    estimator_ = std::make_unique<Estimator>(options_.estimator);
    if (!stored_.empty()) {
      ASSERT_TRUE(estimator_->RestoreModel(stored_).ok());
    }
    for (Page& page : pages) {
      for (const BurstSignal& signal : page.record.state.bursts) {
        estimator_->bursts().Restore(signal.burst, signal.shift, page.record.number);
      }
    }
  }

  void Signal(Page& page, uint64_t poll = 0) {
    estimator_->aging().Advance(page.record.state, now());
    Lessons lessons;
    std::unique_ptr<PagePosterior> judge;
    estimator_->RecordSignal(page.record, options_.source_class, poll, now(), now(), lessons,
                             judge);
    estimator_->Install(std::move(lessons));
    page.record.state.signals.Add(options_.source_class);
    Take(page);
  }

  void Crawl(Page& page, bool changed) {
    PageState& state = page.record.state;
    estimator_->aging().Advance(state, now());
    Lessons lessons;
    estimator_->RecordCrawl(page.record,
                            {.fetched = now(),
                             .elapsed = now() - state.last_crawl,
                             .signals = state.signals,
                             .changed = changed},
                            lessons);
    estimator_->Install(std::move(lessons));
    page.stale = false;
    ++page.crawls;
    state.last_crawl = state.carried_at = now();
    state.staleness = state.exposure = 0;
    state.signals = SignalCounts();
    state.bursts = {};
    Take(page);
  }

  [[nodiscard]] PageEstimate Estimate(const Page& page) const {
    return estimator_->Estimate(page.record, now());
  }
  // Returns the estimated changes per day.
  [[nodiscard]] double Rate(const Page& page) const {
    return Estimate(page).rates.change_rate * 86400;
  }

  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] Estimator& estimator() { return *estimator_; }
  [[nodiscard]] const std::string& stored() const { return stored_; }

  std::vector<Page> pages;

 private:
  double Wait() { return std::exponential_distribution<double>(1 / options_.interval)(random_); }

  int Draw(double mean) { return mean > 0 ? std::poisson_distribution<int>(mean)(random_) : 0; }

  void Take(Page& page) {
    const PageEstimate estimate = estimator_->Estimate(page.record, now());
    page.record.state.rates = estimate.rates;
    page.record.state.staleness = estimate.staleness;
  }

  void SignalAtAnyTime(Page& page, int signals) {
    const Instant end = now();
    std::vector<double> hours;
    for (int i = 0; i < signals; ++i) {
      hours.push_back(std::uniform_real_distribution<double>(0, 24)(random_));
    }
    std::sort(hours.begin(), hours.end());
    for (const double hour : hours) {
      now_ = end - Duration::Days(1) + Duration::FromSeconds(hour * 3600);
      Signal(page);
    }
    now_ = end;
  }

  void Live(Page& page) {
    const bool lately = options_.after_change != 1 && day_ - page.last_change <= 3;
    const int changes = Draw(page.rate * (lately ? options_.after_change : 1));
    if (changes > 0) {
      page.stale = true;
      page.last_change = day_;
    }
    int signals = Draw(page.false_rate);
    if (changes > 0 && page.recall > 0) {
      signals += std::binomial_distribution<int>(changes, page.recall)(random_);
    }
    SignalAtAnyTime(page, signals);
    if (!page.crawled_ever || day_ < page.next_crawl) return;
    Crawl(page, page.stale);
    while (page.next_crawl <= day_) {
      page.next_crawl += options_.random_crawls ? Wait() : options_.interval;
    }
  }

  WorldOptions options_;
  std::mt19937_64 random_;
  std::unique_ptr<Estimator> estimator_;
  std::string stored_;  // model of the last epoch
  int day_ = 0;
  Instant now_ = kStart;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_CORE_ESTIMATE_WORLD_H_
