// freshet-sim: values, estimates, plans and simulations without a server. Of all that only
// `what-if` may ask one, over the API.
#include <iostream>

#include "tools/sim/commands.h"
#include "tools/sim/examples.h"
#include "tools/what_if/what_if_command.h"

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
