#include "tools/common/command_line.h"

#include <cstdio>
#include <exception>
#include <iostream>

#include "freshet/version.h"

namespace freshet {
namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

}  // namespace

int RunCommandLine(const std::string& description, const std::string& program,
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
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return error.get_exit_code() == 0 ? app.exit(error) : fail(error.what(), kBadUsage);
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
