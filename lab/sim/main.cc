// freshet-sim: computes values, estimates, plans and simulations without a server. Only `what-if`
// can query a server, over the API.
#include <iostream>

#include "lab/paper/paper_command.h"
#include "lab/sim/commands.h"
#include "lab/sim/examples.h"
#include "lab/what_if/what_if_command.h"

namespace freshet {
namespace {

void AddCommands(CLI::App& app, CommandAction& action) {
  AddCompareCommand(app, action);
  AddEstimateCommand(app, action);
  AddFleetCommand(app, action);
  AddPaperCommand(app, action);
  AddPlanCommand(app, action);
  AddReplayCommand(app, action);
  AddRunCommand(app, action);
  AddValueCommand(app, action);
  AddWhatIfCommand(app, action);
  AddWorldsCommand(app, action);
}

}  // namespace
}  // namespace freshet

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  return freshet::RunCommandLine(
      "Simulates recrawl policies, estimates change rates, and computes crawl plans.",
      "freshet-sim", freshet::SimExamples(), freshet::AddCommands, argc, argv);
}
