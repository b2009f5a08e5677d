#include "lab/sim/compare.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "fmt/format.h"
#include "lab/common/threaded_for.h"
#include "lab/common/wrong_flag.h"
#include "lab/sim/compare_results.h"
#include "lab/sim/freshness_bound.h"
#include "lab/sim/replay_progress.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kHindsight = "hindsight";

using Clock = std::chrono::steady_clock;

// A source with one seed. It is in memory only from its first job to its last. Thread-safe.
class Source {
 public:
  Source(std::string name, std::string file, uint64_t seed)
      : name_(std::move(name)), file_(std::move(file)), seed_(seed) {}

  struct Loaded {
    World world;
    uint64_t content = 0;
  };

  void AddJob() { ++jobs_; }
  [[nodiscard]] StatusOr<std::shared_ptr<const Loaded>> Get() {
    const MutexLock lock(mutex_);
    if (loaded_ != nullptr) return loaded_;
    auto loaded = std::make_shared<Loaded>();
    if (file_.empty()) {
      ASSIGN_OR_RETURN(loaded->world, MakeWorld(name_, seed_));
    } else {
      ASSIGN_OR_RETURN(loaded->world, WorldOfHistory(file_));
    }
    loaded->content = ContentOf(loaded->world);
    loaded_ = std::move(loaded);
    return loaded_;
  }
  void JobDone() {
    const MutexLock lock(mutex_);
    if (--jobs_ == 0) loaded_.reset();
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_world() const { return file_.empty(); }
  [[nodiscard]] uint64_t seed() const { return seed_; }

 private:
  const std::string name_;
  const std::string file_;  // empty = a world
  const uint64_t seed_;
  Mutex mutex_;
  size_t jobs_ = 0;  // unfinished jobs
  std::shared_ptr<const Loaded> loaded_ FRESHET_GUARDED_BY(mutex_);
};

// One replay. A world has its own crawl rate.
struct Job {
  Source* source = nullptr;
  size_t row = 0;
  size_t policy = 0;  // index in the row
  double recall = 1;
  double per_1000 = 0;  // only for histories
};

struct Outcome {
  ReplayScore score;
  double crawls_per_day = 0;
  double per_1000 = 0;
};

double Share(double freshness) { return 1 - freshness; }

class Comparison {
 public:
  Comparison(const CompareOptions& options, ResultFile results,
             const std::function<void(const std::string&)>& progress)
      : options_(options), results_(std::move(results)), progress_(progress) {}

  [[nodiscard]] StatusOr<std::vector<ComparedRow>> Run() {
    Plan();
    outcomes_.resize(jobs_.size());
    ThreadedFor(options_.jobs)(jobs_.size(), [this](size_t i) {
      {
        const MutexLock lock(mutex_);
        if (!failed_.ok()) return;
      }
      StatusOr<Outcome> outcome = Play(jobs_[i]);
      jobs_[i].source->JobDone();
      if (outcome.ok()) {
        outcomes_[i] = *outcome;
        return;
      }
      const MutexLock lock(mutex_);
      failed_ = outcome.status();
    });
    RETURN_IF_ERROR(failed_);
    Gather();
    return std::move(rows_);
  }

 private:
  void Plan() {
    for (const auto& [name, file] : options_.histories) {
      std::vector<Source*> seeds;
      for (uint64_t seed = 1; seed <= options_.seeds; ++seed)
        seeds.push_back(AddSource(name, file, seed));
      for (const double recall : options_.recalls) {
        // With a recall of 0 or 1, the seed has no effect.
        const size_t count = recall == 0 || recall == 1 ? 1 : seeds.size();
        for (const double rate : options_.rates) {
          AddRow({seeds.begin(), seeds.begin() + static_cast<ptrdiff_t>(count)}, recall, rate);
        }
      }
    }
    for (const std::string& name : options_.worlds) {
      std::vector<Source*> seeds;
      for (uint64_t seed = 1; seed <= options_.seeds; ++seed)
        seeds.push_back(AddSource(name, "", seed));
      AddRow(seeds, 1, 0);
    }
  }

  Source* AddSource(const std::string& name, const std::string& file, uint64_t seed) {
    sources_.push_back(std::make_unique<Source>(name, file, seed));
    return sources_.back().get();
  }

  void AddRow(const std::vector<Source*>& seeds, double recall, double per_1000) {
    ComparedRow row;
    row.source = seeds.front()->name();
    row.is_world = seeds.front()->is_world();
    row.recall = recall;
    for (const std::string& policy : options_.policies) {
      for (Source* source : seeds) {
        jobs_.push_back({source, rows_.size(), row.policies.size(), recall, per_1000});
        source->AddJob();
      }
      row.policies.push_back({.policy = policy});
    }
    rows_.push_back(std::move(row));
  }

  [[nodiscard]] StatusOr<Outcome> Play(const Job& job) {
    ASSIGN_OR_RETURN(const std::shared_ptr<const Source::Loaded> loaded, job.source->Get());
    const World& world = loaded->world;
    const bool is_world = job.source->is_world();
    const double thousands =
        (is_world ? MeanPages(world) : static_cast<double>(world.pages.size())) / 1000;
    ReplayOptions replay;
    if (is_world) {
      replay = OptionsOf(world);
      replay.count_from =
          SettledAfter(world, options_.warm_up_crawls_per_page, replay.crawls_per_day);
    } else {
      replay.crawls_per_day = job.per_1000 * thousands;
      replay.signal_recall = job.recall;
      replay.seed = job.source->seed();
    }
    const std::string& policy = rows_[job.row].policies[job.policy].policy;
    const ReplayKey key{.source = job.source->name(),
                        .content = loaded->content,
                        .policy = policy,
                        .crawls_per_day = replay.crawls_per_day,
                        .recall = job.recall,
                        .seed = job.source->seed(),
                        .epoch_days = options_.epoch_days,
                        .warm_up = is_world ? options_.warm_up_crawls_per_page : 0};
    Outcome outcome{.crawls_per_day = replay.crawls_per_day,
                    .per_1000 = is_world ? replay.crawls_per_day / thousands : job.per_1000};
    {
      const MutexLock lock(mutex_);
      if (const std::optional<ReplayScore> known = results_.Find(key)) {
        ++done_;
        outcome.score = *known;
        return outcome;
      }
    }
    ASSIGN_OR_RETURN(outcome.score, PlayWorld(world, replay, key));
    const MutexLock lock(mutex_);
    ++done_;
    ++played_;
    RETURN_IF_ERROR(results_.Add(key, outcome.score));
    const double share =
        static_cast<double>(played_) / static_cast<double>(played_ + jobs_.size() - done_);
    progress_(fmt::format("{}: {:.5f} ({:.1f} s), {}", NameOf(key),
                          outcome.score.weighted_staleness, outcome.score.seconds,
                          TimeLeftText(Clock::now() - started_, share)));
    return outcome;
  }

  [[nodiscard]] std::string NameOf(const ReplayKey& key) const FRESHET_REQUIRES(mutex_) {
    return fmt::format("[{}/{}] {} recall {} seed {} {:.4g} crawls/day {}", done_, jobs_.size(),
                       key.source, key.recall, key.seed, key.crawls_per_day, key.policy);
  }

  [[nodiscard]] StatusOr<ReplayScore> PlayWorld(const World& world, const ReplayOptions& replay,
                                                const ReplayKey& key) {
    const Clock::time_point started = Clock::now();
    const auto seconds = [&started] {
      return std::chrono::duration<double>(Clock::now() - started).count();
    };
    if (key.policy == kBound) {
      ASSIGN_OR_RETURN(const FreshnessBounds bounds, FreshnessBound(world.pages, replay));
      return ReplayScore{.weighted_staleness = bounds.weighted_staleness,
                         .staleness = bounds.staleness,
                         .settled_weighted_staleness = kNone,
                         .seconds = seconds()};
    }
    ReplayPolicyChoice choice;
    choice.policy = key.policy;
    choice.crawls_per_day = replay.crawls_per_day;
    choice.signal_recall = replay.signal_recall;
    choice.epoch = Duration::FromSeconds(options_.epoch_days * 86400);
    ASSIGN_OR_RETURN(const std::unique_ptr<ReplayPolicy> policy, MakeReplayPolicy(choice, world));
    ASSIGN_OR_RETURN(const ReplaySpan span, SpanOf(world.pages, replay));
    ReplayProgress told(*policy, span, [&](const std::string& text) {
      const MutexLock lock(mutex_);
      progress_(NameOf(key) + ": " + text);
    });
    ASSIGN_OR_RETURN(const ReplayResult result, Replay(world.pages, replay, told));
    return ReplayScore{.weighted_staleness = Share(result.weighted_freshness),
                       .staleness = Share(result.freshness),
                       .settled_weighted_staleness = Share(result.settled_weighted_freshness),
                       .crawls = result.crawls,
                       .seconds = seconds()};
  }

  // Averages the outcomes and puts the means into the rows. Outcomes are in the order of rows,
  // policies and seeds.
  void Gather() {
    for (size_t i = 0; i < jobs_.size();) {
      ComparedRow& row = rows_[jobs_[i].row];
      ComparedPolicy& policy = row.policies[jobs_[i].policy];
      std::vector<double> weighted;
      std::vector<double> plain;
      std::vector<double> settled;
      const size_t first = i;
      for (; i < jobs_.size() && jobs_[i].row == jobs_[first].row &&
             jobs_[i].policy == jobs_[first].policy;
           ++i) {
        const Outcome& outcome = outcomes_[i];
        row.crawls_per_day = outcome.crawls_per_day;
        row.crawls_per_day_per_1000 = outcome.per_1000;
        weighted.push_back(outcome.score.weighted_staleness);
        plain.push_back(outcome.score.staleness);
        settled.push_back(outcome.score.settled_weighted_staleness);
        policy.crawls += static_cast<double>(outcome.score.crawls);
        policy.seconds += outcome.score.seconds;
      }
      policy.crawls /= static_cast<double>(i - first);
      policy.weighted_staleness = MeanOf(weighted);
      policy.staleness = MeanOf(plain);
      policy.settled_weighted_staleness = MeanOf(settled);
    }
  }

  const CompareOptions& options_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<ComparedRow> rows_;
  std::vector<Job> jobs_;
  std::vector<Outcome> outcomes_;  // the thread of a job writes its outcome
  Mutex mutex_;
  const Clock::time_point started_ = Clock::now();
  size_t done_ FRESHET_GUARDED_BY(mutex_) = 0;    // jobs that are done, including those with known
                                                  // results
  size_t played_ FRESHET_GUARDED_BY(mutex_) = 0;  // jobs whose result was not known
  Status failed_;  // the first failure, which ends all jobs; guarded by the mutex while threads run
  ResultFile results_ FRESHET_GUARDED_BY(mutex_);
  const std::function<void(const std::string&)>& progress_ FRESHET_GUARDED_BY(mutex_);
};

Status RefuseTwice(const std::vector<std::string>& names, const char* flag) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) return InvalidArgument("{}: {} is named twice", flag, name);
  }
  return {};
}

Status ValidatePolicies(const CompareOptions& options) {
  RETURN_IF_ERROR(RefuseTwice(options.policies, "--policies"));
  World nothing;
  for (const std::string& policy : options.policies) {
    if (policy == kBound) continue;
    ReplayPolicyChoice choice;
    choice.policy = policy;
    RETURN_IF_ERROR(MakeReplayPolicy(choice, nothing).status());
  }
  const auto& all = options.policies;
  if (std::find(all.begin(), all.end(), options.subject) == all.end()) {
    return WrongFlag("--subject", options.subject, "one of --policies");
  }
  return {};
}

Status Validate(const CompareOptions& options) {
  if (options.histories.empty() && options.worlds.empty()) {
    return InvalidArgument("give --history or --world");
  }
  RETURN_IF_ERROR(RefuseTwice(options.worlds, "--world"));
  std::vector<std::string> names;
  for (const auto& [name, file] : options.histories) names.push_back(name);
  RETURN_IF_ERROR(RefuseTwice(names, "--history"));
  for (const std::string& name : options.worlds) {
    RETURN_IF_ERROR(FindWorldPlan(name).status());
  }
  RETURN_IF_ERROR(ValidatePolicies(options));
  for (const double rate : options.rates) {
    if (!(rate > 0 && rate <= 1e9))
      return WrongFlag("--rates", rate, "a number above 0 and up to 1e9");
  }
  for (const double recall : options.recalls) {
    if (!(recall >= 0 && recall <= 1))
      return WrongFlag("--recalls", recall, "a number from 0 to 1");
  }
  if (options.seeds < 1 || options.seeds > 1000) {
    return WrongFlag("--seeds", options.seeds, "a whole number from 1 to 1000");
  }
  return ValidatePace(options.epoch_days, options.warm_up_crawls_per_page);
}

// Returns the ratio; two numbers near 0 count as equal.
double Ratio(double a, double b) {
  constexpr double kNothing = 1e-12;
  return (a + kNothing) / (b + kNothing);
}

}  // namespace

bool IsSimpleRule(const std::string& policy) {
  constexpr std::array<std::string_view, 6> kRules = {"uniform",        "importance", "pings_first",
                                                      "nutch_adaptive", "greedy",     "greedy_cis"};
  return std::find(kRules.begin(), kRules.end(), policy) != kRules.end();
}

const ComparedPolicy* ComparedRow::Find(const std::string& policy) const {
  for (const ComparedPolicy& one : policies) {
    if (one.policy == policy) return &one;
  }
  return nullptr;
}

const ComparedPolicy* ComparedRow::BestRule(const std::string& subject) const {
  const ComparedPolicy* best = nullptr;
  for (const ComparedPolicy& one : policies) {
    if (!IsSimpleRule(one.policy) || one.policy == subject) continue;
    if (best == nullptr || one.weighted_staleness.mean < best->weighted_staleness.mean) best = &one;
  }
  return best;
}

double ComparedRow::AgainstBest(const std::string& subject) const {
  const ComparedPolicy* own = Find(subject);
  const ComparedPolicy* best = BestRule(subject);
  if (own == nullptr || best == nullptr) return kNone;
  return Ratio(own->weighted_staleness.mean, best->weighted_staleness.mean);
}

double ComparedRow::AgainstHindsight(const std::string& subject) const {
  const ComparedPolicy* own = Find(subject);
  const ComparedPolicy* hindsight = Find(kHindsight);
  if (own == nullptr || hindsight == nullptr) return kNone;
  if (!is_world) return Ratio(own->weighted_staleness.mean, hindsight->weighted_staleness.mean);
  return Ratio(own->settled_weighted_staleness.mean, hindsight->settled_weighted_staleness.mean);
}

StatusOr<std::vector<ComparedRow>> Compare(
    const CompareOptions& options, const std::function<void(const std::string& line)>& progress) {
  RETURN_IF_ERROR(Validate(options));
  ASSIGN_OR_RETURN(ResultFile results, ResultFile::Open(options.out, options.again));
  return Comparison(options, std::move(results), progress).Run();
}

}  // namespace freshet
