#include "tools/cli/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "freshet/version.h"
#include "tools/cli/commands.h"
#include "tools/cli/config_file.h"
#include "tools/cli/examples.h"
#include "tools/cli/parse.h"
#include "tools/cli/table.h"
#include "tools/common/command_line_fault.h"

namespace freshet::cli {
namespace {

constexpr const char* kVersion = "freshet " FRESHET_VERSION;
constexpr const char* kFooter =
    "Times are Unix seconds or ISO 8601, durations like 90s, 5m, 6h, 7d.\n"
    "Exit code: 0 all accepted, 1 some refused, 2 bad usage, 3 server not reachable,\n4 output not "
    "written.";

void AddGlobalOptions(CLI::App& app, Settings& settings) {
  app.add_option("--server", settings.server, "Address of the server")
      ->envname("FRESHET_SERVER")
      ->check(CheckServerAddress)
      ->capture_default_str();
  app.add_flag("--json,!--no-json", settings.json, "Print JSON, one object a line");
  app.add_option("--connect-timeout", settings.connect_seconds,
                 "Longest wait for a connection, in seconds")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--timeout", settings.call_seconds, "Longest wait for an answer, in seconds")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  AddSecurityOptions(app, settings.security);
  app.set_version_flag("--version", kVersion);
}

// Adds the command `version`, for users who do not know the option.
void AddVersion(CLI::App& app, Action& action) {
  app.add_subcommand("version", "Print the version")->callback([&action] {
    action = [](Session& session) {
      session.out() << (session.json() ? R"({"version":")" FRESHET_VERSION R"("})" : kVersion)
                    << '\n';
      return kAccepted;
    };
  });
}

// Flushes the output. Returns kOutputLost, with a line on standard error, if some output was lost,
// for example on a full disk.
ExitCode FinishOutput(const Io& io, ExitCode code) {
  io.out->flush();
  if (*io.out) return code;
  // The stream no longer has the error number. The output is broken anyway, so writing one more
  // byte finds the error again.
  errno = 0;
  io.out->clear();
  io.out->put('\n').flush();
  const char* reason = errno != 0 ? std::strerror(errno) : "writing failed";
  *io.err << "freshet: standard output: " << reason << '\n';
  return kOutputLost;
}

// The commands by purpose, in the order in which the help lists them.
struct Group {
  const char* name;
  std::vector<const char*> commands;
};

void GroupCommands(CLI::App& app) {
  static const std::vector<Group> kGroups = {
      {"Page commands",
       {"upsert", "remove", "recheck", "get", "list", "explain", "export", "import"}},
      {"Work commands", {"next", "report"}},
      {"Signal commands", {"signal", "sitemap", "sources", "trust"}},
      {"Operating commands",
       {"rate", "policy", "host", "politeness", "pause", "resume", "epoch", "crawls", "hosts",
        "checkpoint", "compact", "restore", "auth", "log-level"}},
      {"Watching commands", {"stats", "top", "health", "fleet", "audit"}},
      {"Other commands", {"completion", "version"}},
  };
  for (const Group& group : kGroups) {
    for (const char* name : group.commands) app.get_subcommand(name)->group(group.name);
  }
}

}  // namespace

ExitCode RunCommandLine(std::vector<std::string> arguments, const Io& io) {
  CLI::App app("The client of a Freshet server.", "freshet");
  Settings settings;
  Action action;
  app.require_subcommand(1);
  app.fallthrough();
  std::string config;
  AddGlobalOptions(app, settings);
  AddConfigOption(app, config);
  AddPageCommands(app, action);
  AddReadCommands(app, action);
  AddExportCommand(app, action);
  AddImportCommand(app, action);
  AddExplainCommand(app, action);
  AddCrawlCommands(app, action);
  AddSitemapCommand(app, action);
  AddOperatorCommands(app, action);
  AddLogCommands(app, action);
  AddTenantCommands(app, action);
  AddReportCommands(app, action);
  AddTopCommand(app, action);
  AddFleetCommand(app, action);
  AddHealthCommand(app, action);
  AddAuthCommands(app, action);
  AddRestoreCommand(app, action);
  AddCompletionCommand(app, action);
  AddVersion(app, action);
  GroupCommands(app);
  AddExamples(app, kFooter);
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes arguments from the back
    app.parse(std::move(arguments));
    const absl::Status configured = TakeConfig(app, config, settings);
    Session session(settings, io);
    if (!configured.ok()) return FinishOutput(io, session.Fail(configured));
    return FinishOutput(io, action(session));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error, *io.out, *io.err);  // help and version
      return FinishOutput(io, kAccepted);
    }
    *io.err << "freshet: " << CommandLineFault(app, error) << " (see --help)\n";
    return kBadUsage;
  } catch (const std::exception& error) {
    *io.err << "freshet: " << error.what() << '\n';
    return kRefused;
  }
}

}  // namespace freshet::cli
