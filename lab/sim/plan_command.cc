// freshet-sim plan: computes the crawl rate of each page of a table under a rate plan.
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/plan/planner.h"
#include "lab/common/rounded.h"
#include "lab/common/threaded_for.h"
#include "lab/common/wrong_flag.h"
#include "lab/sim/commands.h"
#include "lab/sim/exploration.h"
#include "lab/sim/tsv.h"
#include "nlohmann/json.hpp"

namespace freshet {
namespace {

// The name of the exploration before a plan. It is not the name of a plan.
constexpr const char* kExploreCommit = "explore_commit";

struct PlanFlags {
  std::string method;
  std::string input = "-";
  double rate = 0;
  bool json = false;
  unsigned threads = 0;
  PlanOptions options;
  ExplorationOptions exploration;
};

struct PlanTable {
  std::vector<std::string> ids;
  std::vector<double> importance;
  std::vector<double> change_rate;
  std::vector<uint8_t> complete;
  [[nodiscard]] PlanPages pages() const { return {importance, change_rate, complete}; }
};

StatusOr<double> PlanNumber(const TsvReader& table, size_t column, const char* name) {
  ASSIGN_OR_RETURN(const double value, table.NonNegative(column));
  if (value != 0 && (value < kSmallestPlanNumber || value > kLargestPlanNumber)) {
    return table.RowError(fmt::format("{}: {} is neither 0 nor in {}..{}", name, value,
                                      kSmallestPlanNumber, kLargestPlanNumber));
  }
  return value;
}

StatusOr<PlanTable> ReadPlanTable(std::istream& input) {
  enum Column : size_t { kId, kImportance, kChangeRate, kComplete };
  ASSIGN_OR_RETURN(TsvReader table,
                   TsvReader::Open(input, {"id", "importance", "change_rate", "complete"}));
  PlanTable columns;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) return columns;
    ASSIGN_OR_RETURN(const double importance, PlanNumber(table, kImportance, "importance"));
    ASSIGN_OR_RETURN(const double change_rate, PlanNumber(table, kChangeRate, "change_rate"));
    const std::string_view complete = table.Text(kComplete);
    if (complete != "0" && complete != "1") {
      return table.RowError(fmt::format("complete: '{}' is not 0 or 1", complete));
    }
    columns.ids.emplace_back(table.Text(kId));
    columns.importance.push_back(importance);
    columns.change_rate.push_back(change_rate);
    columns.complete.push_back(complete == "1" ? 1 : 0);
  }
}

void PrintJson(const PlanFlags& flags, const PlanPages& pages, const RatePlan& plan,
               const PlanCosts& costs, double seconds) {
  const nlohmann::ordered_json line = {
      {"method", flags.method}, {"rate", flags.rate},
      {"pages", pages.size()},  {"j_h", costs.j_h},
      {"j_b", costs.j_b},       {"accuracy", costs.accuracy},
      {"price", plan.price},    {"seconds", Rounded(seconds, 6)},
      {"used", plan.used},      {"kkt_residual", plan.kkt_residual}};
  std::cout << line.dump() << '\n';
}

// Prints the best exploration time for explore_commit.
Status PrintExploration(const PlanFlags& flags, const PlanPages& pages) {
  ExplorationOptions options = flags.exploration;
  options.crawl_rate = flags.rate;
  ASSIGN_OR_RETURN(const Exploration answer, ExploreBeforeCommitting(pages, options));
  if (!flags.json) {
    std::cout << "explore_time\taccuracy\terror\n";
    for (const ExplorationPoint& point : answer.points) {
      std::cout << fmt::format("{:.6g}\t{:.7f}\t{:.7f}\n", point.time, point.accuracy, point.error);
    }
    return {};
  }
  const nlohmann::ordered_json line = {{"horizon", options.horizon},
                                       {"rate", options.crawl_rate},
                                       {"pages", pages.size()},
                                       {"explore_time", Significant(answer.best.time, 6)},
                                       {"accuracy", Rounded(answer.best.accuracy, 7)},
                                       {"error", Rounded(answer.best.error, 7)},
                                       {"accuracy_of_known_rates", Rounded(answer.known, 7)},
                                       {"accuracy_of_exploration", Rounded(answer.uniform, 7)}};
  std::cout << line.dump() << '\n';
  return {};
}

Status RunPlan(std::istream& input, const PlanFlags& flags) {
  ASSIGN_OR_RETURN(const PlanTable table, ReadPlanTable(input));
  if (flags.method == kExploreCommit) return PrintExploration(flags, table.pages());
  ASSIGN_OR_RETURN(const PlanMethod method, ParsePlanMethod(flags.method));
  PlanOptions options = flags.options;
  options.parallel = ThreadedFor(flags.threads);
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const RatePlan plan, MakePlan(method, table.pages(), flags.rate, options));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (flags.json) {
    PrintJson(flags, table.pages(), plan,
              ComputePlanCosts(table.pages(), plan, CrawlTimesOf(method), options.parallel),
              seconds);
    return {};
  }
  std::cout << "id\trate\tprobability\n";
  for (size_t i = 0; i < table.ids.size(); ++i) {
    const double probability = plan.probability.empty() ? 0 : plan.probability[i];
    std::cout << table.ids[i] << fmt::format("\t{:.17g}\t{:.17g}\n", plan.rate[i], probability);
  }
  return {};
}

Status CheckPlanFlags(const PlanFlags& flags) {
  if (!(flags.options.epsilon >= 0 && flags.options.epsilon <= 1)) {
    return WrongFlag("--eps", flags.options.epsilon, "a number between 0 and 1");
  }
  if ((flags.method == kExploreCommit) != (flags.exploration.horizon != 0)) {
    return InvalidArgument("--horizon: must be given with --method {}, and only with that method",
                           kExploreCommit);
  }
  RETURN_IF_ERROR(ValidatePlanInput(PlanPages{}, flags.rate));
  return {};
}

}  // namespace

void AddPlanCommand(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "plan",
      "Compute the best crawl rate of each page, or its probability of a crawl after a signal");
  auto flags = std::make_shared<PlanFlags>();
  std::vector<std::string> names;
  for (const PlanMethod method : AllPlanMethods()) names.emplace_back(PlanMethodName(method));
  names.emplace_back(kExploreCommit);
  command->add_option("--method", flags->method, "Method of the plan")
      ->required()
      ->check(CLI::IsMember(names));
  command->add_option("--rate", flags->rate, "Crawls per unit of time for all pages together")
      ->required();
  command->add_flag("--json", flags->json,
                    "Print the cost of the plan as JSON, instead of the rates");
  command
      ->add_option("--eps", flags->options.epsilon,
                   "Smallest crawl rate of a page, as a fraction of the mean rate (only with "
                   "--method blc_eps)")
      ->capture_default_str();
  command
      ->add_option("--clusters", flags->options.clusters,
                   "Number of classes of similar pages (only with --method frontera_clustered)")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, size_t{100'000'000}));
  command->add_option("--horizon", flags->exploration.horizon,
                      "Time in which exploration should pay off; the command prints how long to "
                      "explore (only with --method explore_commit)");
  command
      ->add_option("--repeats", flags->exploration.repeats,
                   "Number of random simulations for each length of exploration that the command "
                   "tries (only with --method "
                   "explore_commit)")
      ->capture_default_str();
  command
      ->add_option("--seed", flags->exploration.seed,
                   "Random seed of the draws of --repeats (only with --method explore_commit)")
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "Number of threads; 0 for one per core")
      ->capture_default_str();
  command
      ->add_option("input", flags->input,
                   "Table with the columns id, importance, change_rate and complete (0 or 1), "
                   "separated by tabs; - is standard input")
      ->capture_default_str();
  command->callback([&action, flags] {
    action = [flags]() -> Status {
      RETURN_IF_ERROR(CheckPlanFlags(*flags));
      return WithInput(flags->input, [&](std::istream& input) { return RunPlan(input, *flags); });
    };
  });
}

}  // namespace freshet
