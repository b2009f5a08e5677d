// freshet-bench plan: measures the time and memory of rate plans for many pages.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/plan/planner.h"
#include "fmt/format.h"
#include "lab/bench/commands.h"
#include "lab/bench/resources.h"
#include "lab/common/rounded.h"
#include "lab/common/threaded_for.h"

namespace freshet {
namespace {

struct BenchPlanFlags {
  size_t pages = 1'000'000;
  std::vector<std::string> methods = {"lambda_crawl", "blc", "lds"};
  double rate_per_page = 0.2;
  uint64_t seed = 1;
  unsigned threads = 0;
};

struct BenchPages {
  std::vector<double> importance;
  std::vector<double> change_rate;
  std::vector<uint8_t> complete;
  [[nodiscard]] PlanPages pages() const { return {importance, change_rate, complete}; }
};

// Draws log-normal importance and change rates over some six decades, with complete signals for one
// page in 25. The data sets published with LambdaCrawl have this shape.
BenchPages MakeBenchPages(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  BenchPages pages;
  pages.importance.reserve(count);
  pages.change_rate.reserve(count);
  pages.complete.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    pages.importance.push_back(std::exp(1.5 * normal(random)));
    pages.change_rate.push_back(std::exp(1.5 * normal(random) - 2));
    pages.complete.push_back(random() % 25 == 0 ? 1 : 0);
  }
  return pages;
}

// Returns a digest of all rates and probabilities of the plan, each rounded to a multiple of 1e-9.
uint64_t PlanDigest(const RatePlan& plan) {
  uint64_t digest = 0xcbf29ce484222325;
  const auto add = [&digest](double value) {
    digest = (digest ^ static_cast<uint64_t>(std::llround(value * 1e9))) * 0x100000001b3;
  };
  for (const double rate : plan.rate) add(rate);
  for (const double probability : plan.probability) add(probability);
  return digest;
}

Status RunPlanBench(const BenchPlanFlags& flags) {
  std::vector<PlanMethod> methods;
  for (const std::string& name : flags.methods) {
    ASSIGN_OR_RETURN(const PlanMethod method, ParsePlanMethod(name));
    methods.push_back(method);
  }
  const double rate = flags.rate_per_page * static_cast<double>(flags.pages);
  RETURN_IF_ERROR(ValidatePlanInput(PlanPages{}, rate));
  const BenchPages pages = MakeBenchPages(flags.pages, flags.seed);
  PlanOptions options;
  options.parallel = ThreadedFor(flags.threads);
  for (const PlanMethod method : methods) {
    const auto start = std::chrono::steady_clock::now();
    ASSIGN_OR_RETURN(const RatePlan plan, MakePlan(method, pages.pages(), rate, options));
    const double seconds = SecondsSince(start);
    PrintLine({{"pages", flags.pages},
               {"method", PlanMethodName(method)},
               {"seconds", Rounded(seconds, 4)},
               {"pages_per_second", Rounded(static_cast<double>(flags.pages) / seconds, 0)},
               {"passes", plan.iterations},
               {"kkt_residual", Significant(plan.kkt_residual, 3)},
               {"budget_error", Significant(plan.used / rate - 1, 3)},
               {"peak_mb", Rounded(PeakMemoryMb(), 0)},
               {"rate", rate},
               {"seed", flags.seed},
               {"digest", fmt::format("{:016x}", PlanDigest(plan))}});
  }
  return {};
}

}  // namespace

void AddPlanBench(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("plan", "Measure the time and memory that it takes to compute rate plans");
  auto flags = std::make_shared<BenchPlanFlags>();
  std::vector<std::string> names;
  for (const PlanMethod method : AllPlanMethods()) names.emplace_back(PlanMethodName(method));
  command->add_option("--pages", flags->pages, "Number of pages")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, size_t{1'000'000'000}));
  command->add_option("--method", flags->methods, "Methods of the plans to measure")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember(names));
  command->add_option("--rate-per-page", flags->rate_per_page, "Crawls per page and unit of time")
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Seed of the pages")->capture_default_str();
  command->add_option("--threads", flags->threads, "Number of threads; 0 for one per core")
      ->capture_default_str();
  command->callback([&action, flags] { action = [flags] { return RunPlanBench(*flags); }; });
}

}  // namespace freshet
