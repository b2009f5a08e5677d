// freshet-sim worlds: lists the generated worlds, and writes one as a history file.
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "fmt/format.h"
#include "lab/sim/commands.h"
#include "lab/sim/worlds.h"

namespace freshet {
namespace {

struct WorldsFlags {
  std::string world;
  std::string out;
  uint64_t seed = 1;
};

void PrintGallery() {
  std::cout << "name\tcrawls_per_day\tdays\tdescription\n";
  for (const WorldPlan& plan : WorldPlans()) {
    std::cout << fmt::format("{}\t{}\t{}\t{}\n", plan.name, plan.crawls_per_day, plan.days,
                             plan.description);
  }
}

std::string HistoryRow(const ReplayPage& page) {
  constexpr int64_t kMicros = 1'000'000;
  std::string row =
      fmt::format("{}\t{}\t{}\t", page.url, page.importance, page.first_seen.micros() / kMicros);
  for (const ReplayPage::Touch& touch : page.touches) {
    if (row.back() != '\t') row += ',';
    row += fmt::format("{}:{}", touch.at.micros() / kMicros, touch.changed ? 'c' : 'm');
  }
  return row + '\n';
}

Status RunWorlds(const WorldsFlags& flags) {
  if (flags.world.empty() != flags.out.empty()) {
    return InvalidArgument("--world and --out must be given together");
  }
  if (flags.world.empty()) {
    PrintGallery();
    return {};
  }
  ASSIGN_OR_RETURN(const World world, MakeWorld(flags.world, flags.seed));
  std::ofstream file(flags.out, std::ios::binary);
  if (!file) return NotFound("{}: cannot be opened", flags.out);
  for (const ReplayPage& page : world.pages) file << HistoryRow(page);
  file.close();
  if (!file) return MakeStatus(absl::StatusCode::kDataLoss, "{}: cannot be written", flags.out);
  return {};
}

}  // namespace

void AddWorldsCommand(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "worlds",
      "List the generated worlds (sets of invented pages), or write one as a history file");
  auto flags = std::make_shared<WorldsFlags>();
  command->add_option("--world", flags->world, "Generated world to write");
  command->add_option("--out", flags->out,
                      "History file to write. It does not record which changes sent no signal, how "
                      "late signals came, and when pages were deleted");
  command->add_option("--seed", flags->seed, "Random seed of the world")->capture_default_str();
  command->callback([&action, flags] { action = [flags] { return RunWorlds(*flags); }; });
}

}  // namespace freshet
