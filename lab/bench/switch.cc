// freshet-bench switch: measures how long a change of policy stops assignments. One client requests
// page after page. The result is the longest time between two answers.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/schedule/crawl_policy.h"
#include "lab/bench/commands.h"
#include "lab/bench/lease_best.h"
#include "lab/bench/resources.h"
#include "lab/bench/scratch_dir.h"
#include "lab/bench/stack.h"
#include "lab/bench/synthetic_store.h"
#include "lab/common/rounded.h"
#include "server/engine/epochs_of_all.h"
#include "server/engine/plan_runner.h"
#include "server/engine/router.h"
#include "storage/store.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

struct SwitchFlags {
  SyntheticOptions synthetic;
  std::vector<std::string> policies = {"greedy", "lambda_crawl", "greedy_ncis"};
  double seconds = 2;
  double crawl_rate = 0;
  std::string durability = "none";
};

// Takes one page after the other from the shard, and reports each as crawled. Thread-safe.
class Client {
 public:
  Client(Shard& shard, Clock& clock) : shard_(shard), clock_(clock), thread_([this] { Run(); }) {}
  ~Client() {
    stop_ = true;
    thread_.join();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void AwaitFirst() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (gaps_.empty()) first_.Wait(mutex_);
  }
  struct Gap {
    double ms = 0;  // between two assignments
    // CPU time of the shard's thread in the gap. Other processes do not affect it.
    double cpu_ms = 0;
  };
  // Returns the gaps since the last call.
  std::vector<Gap> TakeGaps() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return std::exchange(gaps_, {});
  }

 private:
  void Run() {
    auto last = std::chrono::steady_clock::now();
    double last_cpu_ms = 0;
    while (!stop_) {
      const std::optional<Assignment> assignment = Take();
      if (!assignment) continue;  // the gap continues
      const auto now = std::chrono::steady_clock::now();
      {
        const MutexLock lock(mutex_);
        gaps_.push_back({std::chrono::duration<double, std::milli>(now - last).count(),
                         shard_cpu_ms_ - std::exchange(last_cpu_ms, shard_cpu_ms_)});
        first_.NotifyAll();
      }
      last = now;
      ReportCrawl report{.key = assignment->key, .lease = assignment->lease};
      report.fetched = clock_.Now();
      report.outcome = CrawlOutcome::kUnchanged;
      shard_.SubmitAlways({.events = {std::move(report)}, .done = [](const auto&) {}});
    }
  }
  std::optional<Assignment> Take() {
    std::promise<std::optional<Assignment>> answer;
    std::future<std::optional<Assignment>> taken = answer.get_future();
    LeaseBest(shard_, {{.at = clock_.Now(), .worker = "bench", .lease = Duration::Hours(1)}},
              [&answer, this](auto assignments) {
                shard_cpu_ms_ = ThreadCpuSeconds() * 1e3;
                answer.set_value(std::move(assignments.front()));
              });
    return taken.get();
  }

  Shard& shard_;
  Clock& clock_;
  std::atomic<bool> stop_ = false;
  Mutex mutex_;
  Condition first_;
  std::vector<Gap> gaps_ FRESHET_GUARDED_BY(mutex_);
  double shard_cpu_ms_ = 0;  // when the last answer was made
  std::thread thread_;
};

struct Gaps {
  size_t assignments = 0;
  double p50_ms = 0;
  double p999_ms = 0;
  double longest_ms = 0;
  double longest_cpu_ms = 0;
};

Gaps Summarise(std::vector<Client::Gap> gaps) {
  if (gaps.empty()) return {};
  double longest_cpu_ms = 0;
  for (const Client::Gap& gap : gaps) longest_cpu_ms = std::max(longest_cpu_ms, gap.cpu_ms);
  std::sort(gaps.begin(), gaps.end(),
            [](const Client::Gap& a, const Client::Gap& b) { return a.ms < b.ms; });
  const auto at = [&gaps](double share) {
    return gaps[static_cast<size_t>(share * static_cast<double>(gaps.size() - 1))].ms;
  };
  return {gaps.size(), at(0.5), at(0.999), gaps.back().ms, longest_cpu_ms};
}

void Settle(const SwitchFlags& flags) {
  std::this_thread::sleep_for(std::chrono::duration<double>(flags.seconds));
}

// Switches from the policy `before` to `name`, and prints the gaps between assignments during and
// shortly after the switch.
Status Measure(const SwitchFlags& flags, const std::string& before, const std::string& name,
               BenchStack& stack, const Router& router, PlanRunner& plans, Client& client) {
  ASSIGN_OR_RETURN(const CrawlPolicy policy, ParseCrawlPolicy(name));
  (void)client.TakeGaps();
  Settle(flags);
  const Gaps quiet = Summarise(client.TakeGaps());
  (void)stack.TakeLongestCommit();
  const auto start = std::chrono::steady_clock::now();
  std::promise<Status> done;
  std::future<Status> changed = done.get_future();
  ChangePolicy(router, plans, policy, [&done](const Status& status) { done.set_value(status); });
  RETURN_IF_ERROR(changed.get());
  const double seconds = SecondsSince(start);
  Settle(flags);
  const Gaps gaps = Summarise(client.TakeGaps());
  const double longest_commit_ms = stack.TakeLongestCommit().seconds() * 1e3;
  const auto pages = static_cast<double>(flags.synthetic.pages);
  PrintLine({{"pages", flags.synthetic.pages},
             {"from", before},
             {"to", name},
             {"seconds", Rounded(seconds, 3)},
             {"assignments", gaps.assignments},
             {"p50_ms", Rounded(gaps.p50_ms, 4)},
             {"p999_ms", Rounded(gaps.p999_ms, 3)},
             {"longest_gap_ms", Rounded(gaps.longest_ms, 3)},
             {"longest_gap_ms_per_10m_pages", Rounded(gaps.longest_ms * 1e7 / pages, 3)},
             {"longest_gap_cpu_ms", Rounded(gaps.longest_cpu_ms, 3)},
             {"longest_commit_ms", Rounded(longest_commit_ms, 3)},
             {"before_p50_ms", Rounded(quiet.p50_ms, 4)},
             {"before_longest_gap_ms", Rounded(quiet.longest_ms, 3)},
             {"resident_bytes_per_page", Rounded(ResidentBytes() / pages, 1)},
             {"durability", flags.durability}});
  return {};
}

Status RunSwitchBench(SwitchFlags flags) {
  BenchStack::Options options;
  ASSIGN_OR_RETURN(options.durability, ParseDurability(flags.durability));
  for (const std::string& name : flags.policies) {
    RETURN_IF_ERROR(ParseCrawlPolicy(name).status());
  }
  if (flags.policies.size() < 2) return InvalidArgument("policies: at least two");
  ASSIGN_OR_RETURN(options.policy, ParseCrawlPolicy(flags.policies.front()));
  flags.synthetic.now = SystemClock().Now() - Duration::Hours(1);
  ASSIGN_OR_RETURN(const ScratchDir scratch, ScratchDir::Make("freshet-switch"));
  const std::string dir = scratch.path() + "/store";
  RETURN_IF_ERROR(MakeSyntheticStore(dir, flags.synthetic));
  BenchStack stack;
  RETURN_IF_ERROR(stack.Start(dir, options));
  const Rate rate = Rate::PerSecond(flags.crawl_rate);
  Status status;
  {
    Router router(stack.Shards());
    PlanRunner plans({}, router, [rate] { return rate; });
    if (options.policy.plan) plans.SetMethod(options.policy.plan, nullptr);
    Client client(*router.shards().front(), stack.clock);
    // The first pick files all pages. This cost belongs to the start, not to a switch.
    client.AwaitFirst();
    for (size_t i = 1; i < flags.policies.size() && status.ok(); ++i) {
      status =
          Measure(flags, flags.policies[i - 1], flags.policies[i], stack, router, plans, client);
    }
  }
  RETURN_IF_ERROR(status);
  return stack.Stop();
}

}  // namespace

void AddSwitchBench(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "switch",
      "Measure for how long a change of policy stops the handing out of pages, with one shard");
  auto flags = std::make_shared<SwitchFlags>();
  AddSyntheticFlags(*command, flags->synthetic);
  command->add_option("--policies", flags->policies, "Policies, in the order in which they are set")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--seconds", flags->seconds,
                   "Seconds of measurement before and after each change of policy")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 3600.0));
  flags->crawl_rate = 1000;
  command->add_option("--crawl-rate", flags->crawl_rate, "Crawl rate, per second")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  command
      ->add_option("--durability", flags->durability,
                   "What written data survives: a power cut (sync), only a crash of the program "
                   "(wal) or neither (none)")
      ->capture_default_str();
  command->callback([&action, flags] { action = [flags] { return RunSwitchBench(*flags); }; });
}

}  // namespace freshet
