// freshet-bench: benchmarks at full size. Each result is one line of JSON on standard output.
#include "lab/bench/commands.h"

namespace freshet {
namespace {

void AddBenchmarks(CLI::App& app, CommandAction& action) {
  AddEpochBench(app, action);
  AddFirstHourBench(app, action);
  AddIndexBench(app, action);
  AddPlanBench(app, action);
  AddPromisesBench(app, action);
  AddStoreBench(app, action);
  AddRecoverBench(app, action);
  AddServeBench(app, action);
  AddSwitchBench(app, action);
}

}  // namespace
}  // namespace freshet

int main(int argc, char** argv) {
  return freshet::RunCommandLine(
      "Benchmarks of the parts of Freshet; each prints one JSON object per line.", "freshet-bench",
      freshet::BenchExamples(), freshet::AddBenchmarks, argc, argv);
}
