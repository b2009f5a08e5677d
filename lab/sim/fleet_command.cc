// freshet-sim fleet: simulates one crawl rate over many nodes, and compares it with one index over
// all pages.
#include <iostream>
#include <memory>

#include "fmt/format.h"
#include "lab/sim/commands.h"
#include "lab/sim/fleet.h"
#include "lab/sim/progress_clock.h"
#include "nlohmann/json.hpp"

namespace freshet {
namespace {

struct FleetFlags {
  FleetOptions options;
  bool json = false;
  bool quiet = false;
};

nlohmann::ordered_json JsonOf(const FleetOptions& options, const FleetResult& result) {
  return {{"nodes", options.nodes},
          {"least_nodes", result.least_nodes},
          {"most_nodes", result.most_nodes},
          {"partitions", result.partitions},
          {"pages", result.pages},
          {"largest_node", result.largest_node},
          {"crawls_per_second", result.rate.per_second()},
          {"one_index_freshness", result.one_index},
          {"fleet_freshness", result.fleet},
          {"loss", result.loss()},
          {"one_index_crawls", result.one_index_crawls},
          {"fleet_crawls", result.fleet_crawls},
          {"mean_price_gap", result.mean_price_gap},
          {"largest_price_gap", result.largest_price_gap},
          {"used_rate", result.used_rate},
          {"largest_sum_of_grants", result.largest_sum_of_grants},
          {"largest_excess", result.largest_excess}};
}

void PrintTable(const FleetOptions& options, const FleetResult& result) {
  const auto line = [](const char* name, const std::string& value) {
    std::cout << fmt::format("{:<44}{}\n", name, value);
  };
  line("nodes, least and most", fmt::format("{} .. {}", result.least_nodes, result.most_nodes));
  line("partitions", std::to_string(result.partitions));
  line("pages", std::to_string(result.pages));
  line("largest node, of the mean one's pages", fmt::format("{:.2f}", result.largest_node));
  line("cut off, joining, changes of leader",
       fmt::format("{}, {}, {}", options.deaths, options.joins, options.leader_changes));
  line("crawl rate R, a second", fmt::format("{:.4f}", result.rate.per_second()));
  line("weighted freshness, one index", fmt::format("{:.5f}", result.one_index));
  line("weighted freshness, fleet", fmt::format("{:.5f}", result.fleet));
  line("lost by the fleet", fmt::format("{:.3f}%", 100 * result.loss()));
  line("crawls, one index", std::to_string(result.one_index_crawls));
  line("crawls, fleet", std::to_string(result.fleet_crawls));
  line("gap of prices, mean", fmt::format("{:.2f}%", 100 * result.mean_price_gap));
  line("gap of prices, largest", fmt::format("{:.2f}%", 100 * result.largest_price_gap));
  line("sum of grants over R, mean", fmt::format("{:.5f}", result.used_rate));
  line("sum of grants over R, largest", fmt::format("{:.9f}", result.largest_sum_of_grants));
  line("crawls beyond R in any window, largest", fmt::format("{:.2f}", result.largest_excess));
}

Status Run(const FleetFlags& flags) {
  ProgressClock clock;
  const auto progress = [&](double share) {
    if (flags.quiet || share <= 0) return;
    if (const auto left = clock.TimeLeftIfDue(share)) {
      std::cerr << fmt::format("{:.0f}%, {}\n", 100 * share, *left);
    }
  };
  ASSIGN_OR_RETURN(const FleetResult result, PlayFleet(flags.options, progress));
  if (flags.json) {
    std::cout << JsonOf(flags.options, result).dump() << '\n';
  } else {
    PrintTable(flags.options, result);
  }
  return {};
}

}  // namespace

void AddFleetCommand(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("fleet",
                                         "Simulate many nodes that share one crawl rate, and "
                                         "compare them with one node that has all pages");
  auto flags = std::make_shared<FleetFlags>();
  FleetOptions& options = flags->options;
  const auto number = [command](const char* name, auto& value, const char* text) {
    command->add_option(name, value, text)->capture_default_str();
  };
  number("--nodes", options.nodes, "Number of nodes at the start, 1 to 1,000");
  number("--partitions", options.partitions,
         "Number of partitions of the hosts; 0 for two per node");
  number("--pages", options.world.pages, "Number of pages of all hosts together");
  number("--hosts", options.world.hosts, "Number of hosts");
  number(
      "--skew", options.world.skew,
      "How unequal hosts are: the host of rank k has a number of pages in proportion to k^-skew");
  number("--policy", options.policy,
         "Crawl policy (only those that rank pages), such as default or greedy_ncis");
  number("--crawls-per-page-per-day", options.crawls_per_page_per_day, "Crawls per page and day");
  number("--days", options.days, "Number of days to simulate");
  command->add_flag("--learn", options.learn,
                    "Let the nodes learn change rates; without this flag they know the true rates");
  number("--epoch-days", options.epoch_days,
         "Days between two epochs; each epoch estimates the change rates of all pages anew");
  number(
      "--round-seconds", options.round_seconds,
      "Seconds between two messages that give a node its share of the rate (1 in a real server)");
  number("--gain", options.gain,
         "How strongly the rate of a node follows the value of the page that it picked last");
  command->add_flag("--by-pages", options.by_pages,
                    "For comparison, split the rate by the nodes' numbers of pages, not by the "
                    "value of their crawls");
  number("--loss", options.loss, "Probability that a message between node and leader is lost");
  number("--late", options.late,
         "Probability that a message is late, by up to the time for which a share of the rate is "
         "valid");
  number("--deaths", options.deaths, "Number of nodes that fail for good, at random times");
  number("--joins", options.joins, "Number of nodes that join, at random times");
  number("--leader-changes", options.leader_changes,
         "How often the leader, which shares out the rate, fails and loses its state");
  number("--seed", options.seed,
         "Random seed of nodes that fail, nodes that join, and messages that are late or lost");
  number("--world-seed", options.world.seed, "Random seed of hosts and pages");
  command->add_flag("--json", flags->json, "Print one line of JSON instead of a table");
  command->add_flag("--quiet", flags->quiet, "Print no progress on standard error");
  command->callback([&action, flags] { action = [flags] { return Run(*flags); }; });
}

}  // namespace freshet
