#include "tools/cli/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "core/base/nearest.h"
#include "freshet/version.h"
#include "tools/cli/commands.h"
#include "tools/cli/config_file.h"
#include "tools/cli/examples.h"
#include "tools/cli/parse.h"
#include "tools/cli/table.h"

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

// What people type who do not know that it is an option.
void AddVersion(CLI::App& app, Action& action) {
  app.add_subcommand("version", "Print the version")->callback([&action] {
    action = [](Session& session) {
      session.out() << (session.json() ? R"({"version":")" FRESHET_VERSION R"("})" : kVersion)
                    << '\n';
      return kAccepted;
    };
  });
}

// Writes what is still held back. kOutputLost, with a line on standard error, if not all of the
// output got through, for example to a full disk.
ExitCode FinishOutput(const Io& io, ExitCode code) {
  io.out->flush();
  if (*io.out) return code;
  // The reason is gone; one byte more, of an output that is broken anyway, meets it again.
  errno = 0;
  io.out->clear();
  io.out->put('\n').flush();
  const char* reason = errno != 0 ? std::strerror(errno) : "writing failed";
  *io.err << "freshet: standard output: " << reason << '\n';
  return kOutputLost;
}

std::string WithNearest(std::string complaint, std::string_view word,
                        const std::vector<std::string>& names) {
  const std::string nearest = Nearest(word, names);
  return nearest.empty() ? complaint : complaint + fmt::format(", did you mean {}?", nearest);
}

// The innermost command that was named; the program itself if there is none.
const CLI::App& LastCommand(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  return *command;
}

std::string UnknownCommand(const CLI::App& command, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands(nullptr)) names.push_back(one->get_name());
  return WithNearest(fmt::format("'{}' is no command", ShowName(word)), word, names);
}

// Those of a command and of the program are taken anywhere.
std::string UnknownFlag(const CLI::App& app, const CLI::App& command, std::string_view word) {
  const std::string flag(word.substr(0, word.find('=')));
  std::vector<std::string> names;
  for (const CLI::App* of : {&command, &app}) {
    for (const CLI::Option* option : of->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return WithNearest(fmt::format("unknown flag {}", ShowName(flag)), flag, names);
}

// CLI11 looks for a command before it looks at what stands in its place, and names all that is left
// over at once, values of a wrong flag among them.
std::string Complaint(const CLI::App& app, const CLI::ParseError& error) {
  const bool no_command = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const CLI::App& command = LastCommand(app);
  const bool needs_command = no_command && command.get_require_subcommand_min() > 0;
  if (!needs_command && !extra) return error.what();
  const std::vector<std::string> words = app.remaining(true);
  for (const std::string& word : words) {
    if (extra && word.starts_with('-')) return UnknownFlag(app, command, word);
  }
  if (extra) return error.what();
  for (const std::string& word : words) {
    if (!word.starts_with('-')) return UnknownCommand(command, word);
  }
  return "no command";
}

}  // namespace

ExitCode RunCommandLine(std::vector<std::string> arguments, const Io& io) {
  CLI::App app("Talks to a Freshet server.", "freshet");
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
  AddExamples(app, kFooter);
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
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
    *io.err << "freshet: " << Complaint(app, error) << " (see --help)\n";
    return kBadUsage;
  } catch (const std::exception& error) {
    *io.err << "freshet: " << error.what() << '\n';
    return kRefused;
  }
}

}  // namespace freshet::cli
