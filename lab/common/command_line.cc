#include "lab/common/command_line.h"

#include <cstdio>
#include <exception>
#include <iostream>

#include "freshet/version.h"
#include "tools/common/command_line_fault.h"

namespace freshet {
namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
constexpr const char* kFooter = "Exit code: 0 done, 1 failed, 2 bad usage or bad input.";

}  // namespace

int RunCommandLine(const std::string& description, const std::string& program,
                   std::span<const CommandExample> examples,
                   const std::function<void(CLI::App&, CommandAction&)>& add, int argc,
                   char** argv) {
  const auto fail = [&program](const std::string& why, int code) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), why.c_str());
    return code;
  };
  try {
    CLI::App app(description, program);
    app.require_subcommand(1);
    app.set_version_flag("--version", program + " " FRESHET_VERSION);
    CommandAction action;
    add(app, action);
    FinishHelp(app, examples, kFooter);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
      return fail(CommandLineFault(app, error) + " (see --help)", kBadUsage);
    }
    const Status status = action();
    std::cout.flush();
    if (status.ok() && !std::cout) return fail("standard output could not be written", kFailed);
    if (status.ok()) return 0;
    const bool usage = status.code() == absl::StatusCode::kInvalidArgument;
    return fail(std::string(status.message()), usage ? kBadUsage : kFailed);
  } catch (const std::exception& error) {
    return fail(error.what(), kFailed);
  }
}

}  // namespace freshet
