#include "lab/paper/paper_command.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "lab/paper/output.h"
#include "lab/paper/paper.h"
#include "lab/sim/progress_clock.h"

namespace freshet {
namespace {

struct PaperFlags {
  std::string name;
  PaperOptions options;
  std::string out;
  bool json = false;
  bool quiet = false;
};

void ListPaperExperiments() {
  const std::vector<PaperSummary> all = PaperExperiments();
  size_t width = 0;
  for (const PaperSummary& one : all) width = std::max(width, one.name.size());
  for (const PaperSummary& one : all) {
    std::cout << fmt::format("{:<{}}  {}\n", one.name, width, one.summary);
  }
}

// Returns the experiment with this name, or, if the name is that of a figure, the experiments of
// its panels, whose names have one more letter.
std::vector<std::string> PaperNames(const std::string& name) {
  std::vector<std::string> panels;
  for (const PaperSummary& one : PaperExperiments()) {
    const bool panel =
        one.name.size() == name.size() + 1 && one.name.compare(0, name.size(), name) == 0;
    if (panel && one.name.back() >= 'a' && one.name.back() <= 'z') panels.push_back(one.name);
  }
  return panels.empty() ? std::vector<std::string>{name} : panels;
}

Status PlayOnePaper(const std::string& name, const PaperFlags& flags) {
  ProgressClock clock;
  const auto progress = [&](const PaperProgress& so_far) {
    if (flags.quiet || so_far.done == so_far.parts) return;
    const auto left = clock.TimeLeftIfDue(so_far.share);
    if (!left) return;
    std::cerr << fmt::format("[{}/{}] {:.0f}%, {}\n", so_far.done, so_far.parts, 100 * so_far.share,
                             *left);
  };
  ASSIGN_OR_RETURN(const PaperResult result, PlayPaper(name, flags.options, progress));
  std::cout << (flags.json ? PaperJson(result, flags.options.seed) : PaperTable(result));
  if (flags.out.empty()) return {};
  return WritePaper(result, flags.out);
}

Status RunPaper(const PaperFlags& flags) {
  if (flags.name == "list") {
    ListPaperExperiments();
    return {};
  }
  const std::vector<std::string> names = PaperNames(flags.name);
  for (const std::string& name : names) {
    if (!flags.json && name != names.front()) std::cout << '\n';
    RETURN_IF_ERROR(PlayOnePaper(name, flags));
  }
  return {};
}

}  // namespace

void AddPaperCommand(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "paper", "Run the experiments of the research papers, and write tables and plots");
  auto flags = std::make_shared<PaperFlags>();
  PaperOptions& options = flags->options;
  command
      ->add_option("NAME", flags->name,
                   "Name of the experiment or figure; give 'list' to print all names")
      ->required();
  command->add_option("--out", flags->out, "Directory to write NAME.csv and NAME.svg to");
  command->add_option("--repeats", options.repeats, "Number of runs to average")
      ->capture_default_str();
  command->add_option("--seed", options.seed, "Random seed")->capture_default_str();
  command
      ->add_option("--pages", options.pages,
                   "Numbers of pages to run with (default: the numbers of the experiment)")
      ->delimiter(',');
  command->add_option("--horizon", options.horizon,
                      "Length of the simulation, in the unit of time of the change rates; 0 for "
                      "that of the experiment");
  command->add_option("--threads", options.threads, "Number of threads; 0 for one per core")
      ->capture_default_str();
  command->add_flag("--json", flags->json, "Print JSON instead of a table");
  command->add_flag("--quiet", flags->quiet, "Print no progress on standard error");
  command->callback([&action, flags] { action = [flags] { return RunPaper(*flags); }; });
}

}  // namespace freshet
