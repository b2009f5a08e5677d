// freshet-bench: benchmarks at full size, one JSON object a line on standard output.
#include <cstdio>
#include <exception>
#include <iostream>

#include "bench/commands.h"

namespace freshet {
namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

int Run(int argc, char** argv) {
  CLI::App app("Benchmarks of Freshet's parts at full size.", "freshet-bench");
  app.require_subcommand(1);
  BenchAction action;
  AddIndexBench(app, action);
  AddIngestBench(app, action);
  AddPlanBench(app, action);
  AddStoreBench(app, action);
  AddRecoverBench(app, action);
  AddSwitchBench(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "freshet-bench: %s\n", error.what());
    return kBadUsage;
  }
  const Status status = action();
  std::cout.flush();
  if (status.ok()) return 0;
  std::cerr << "freshet-bench: " << status.message() << "\n";
  return status.code() == absl::StatusCode::kInvalidArgument ? kBadUsage : kFailed;
}

}  // namespace
}  // namespace freshet

int main(int argc, char** argv) {
  try {
    return freshet::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "freshet-bench: %s\n", error.what());
    return freshet::kFailed;
  }
}
