#include "tools/cli/run.h"

#include <algorithm>
#include <exception>

#include "tools/cli/commands.h"

namespace freshet::cli {
namespace {

constexpr const char* kFooter =
    "Times are Unix seconds or ISO 8601, durations like 90s, 5m, 6h, 7d.\n"
    "Exit code: 0 all accepted, 1 some refused, 2 bad usage, 3 server not reachable.";

void AddGlobalOptions(CLI::App& app, Settings& settings) {
  app.add_option("--server", settings.server, "Address of the server")
      ->envname("FRESHET_SERVER")
      ->capture_default_str();
  app.add_flag("--json", settings.json, "Print JSON, one object a line");
  app.add_option("--connect-timeout", settings.connect_seconds,
                 "Longest wait for a connection, in seconds")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--timeout", settings.call_seconds, "Longest wait for an answer, in seconds")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  app.set_version_flag("--version", "freshet " FRESHET_VERSION);
}

}  // namespace

ExitCode RunCommandLine(std::vector<std::string> arguments, const Io& io) {
  CLI::App app("Talks to a Freshet server.", "freshet");
  Settings settings;
  Action action;
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(kFooter);
  AddGlobalOptions(app, settings);
  AddPageCommands(app, action);
  AddReadCommands(app, action);
  AddCrawlCommands(app, action);
  AddOperatorCommands(app, action);
  AddReportCommands(app, action);
  AddRestoreCommand(app, action);
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(std::move(arguments));
    Session session(settings, io);
    const ExitCode code = action(session);
    io.out->flush();
    return code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error, *io.out, *io.err);  // help and version
      return kAccepted;
    }
    // Without a command CLI11 does not look at what stands in its place.
    const bool no_command = app.get_subcommands().empty();
    *io.err << "freshet: " << (no_command ? "no command, or an unknown one" : error.what())
            << " (see --help)\n";
    return kBadUsage;
  } catch (const std::exception& error) {
    *io.err << "freshet: " << error.what() << '\n';
    return kRefused;
  }
}

}  // namespace freshet::cli
