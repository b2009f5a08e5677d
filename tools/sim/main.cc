// freshet-sim: values, estimates, plans and simulations without a server. It links core only.
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>

#include "tools/sim/commands.h"

namespace freshet {

Status WithInput(const std::string& path, const std::function<Status(std::istream&)>& body) {
  if (path == "-") return body(std::cin);
  std::ifstream file(path);
  if (!file) return NotFound("{}: cannot be opened", path);
  return body(file);
}

namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

int Run(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  CLI::App app("Values, estimates, plans and simulations of recrawl policies.", "freshet-sim");
  app.require_subcommand(1);
  SimAction action;
  AddEstimateCommand(app, action);
  AddPlanCommand(app, action);
  AddReplayCommand(app, action);
  AddRunCommand(app, action);
  AddValueCommand(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "freshet-sim: %s\n", error.what());
    return kBadUsage;
  }
  const Status status = action();
  std::cout.flush();
  if (status.ok()) return 0;
  std::cerr << "freshet-sim: " << status.message() << "\n";
  return status.code() == absl::StatusCode::kInvalidArgument ? kBadUsage : kFailed;
}

}  // namespace
}  // namespace freshet

int main(int argc, char** argv) {
  try {
    return freshet::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "freshet-sim: %s\n", error.what());
    return freshet::kFailed;
  }
}
