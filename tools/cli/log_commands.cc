// log-level and audit: set and show what the server logs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "freshet/v1/admin.grpc.pb.h"
#include "tools/cli/admin_call.h"
#include "tools/cli/commands.h"
#include "tools/cli/json.h"
#include "tools/cli/parse.h"
#include "tools/cli/table.h"

namespace freshet::cli {
namespace {

template <typename Response>
ExitCode ShowLevels(Session& session, const Response& response) {
  if (session.json()) {
    session.out() << ToJsonLine(response) << '\n';
    return kAccepted;
  }
  Table table(session.out(), {{"module"}, {"level"}});
  for (const v1::ModuleLogLevel& module : response.modules()) {
    table.Add({ShowText(module.module()), ShowText(module.level())});
  }
  table.Flush();
  return kAccepted;
}

// If only one word is given, it is the level for all modules.
ExitCode LogLevel(Session& session, std::string module, std::string level) {
  if (module.empty()) {
    v1::GetLogLevelsResponse response;
    const ExitCode code =
        Fetch(session, &Admin::GetLogLevels, v1::GetLogLevelsRequest(), &response);
    return code == kAccepted ? ShowLevels(session, response) : code;
  }
  if (level.empty()) std::swap(module, level);
  v1::SetLogLevelRequest request;
  request.set_module(module);
  request.set_level(level);
  v1::SetLogLevelResponse response;
  const ExitCode code = Fetch(session, &Admin::SetLogLevel, request, &response);
  return code == kAccepted ? ShowLevels(session, response) : code;
}

// Returns for example "SetCrawlRate" for "/freshet.v1.AdminService/SetCrawlRate".
std::string ShowAction(const std::string& action) {
  return ShowText(action.substr(action.rfind('/') + 1));
}

std::string ShowEntry(const v1::AuditEntry& entry) {
  std::string line = fmt::format("{}  {}  {}", ShowTime(entry.at()), ShowText(entry.who()),
                                 ShowAction(entry.action()));
  if (entry.outcome() != "OK") line += "  " + ShowText(entry.outcome());
  if (entry.repeats() > 0) line += fmt::format("  repeated {} times", entry.repeats());
  for (const auto& [name, text] :
       {std::pair<const char*, const std::string&>{"request", entry.request()},
        {"before", entry.before()},
        {"after", entry.after()}}) {
    if (!text.empty()) line += fmt::format("\n    {:<8}{}", name, ShowText(text));
  }
  return line;
}

ExitCode Audit(Session& session, const std::string& limit, const std::string& since) {
  v1::ListAuditRequest request;
  absl::Status status;
  if (!limit.empty()) {
    status =
        Named("--limit", Assign(ParseCount(limit), [&request](auto count) {
                request.set_limit(static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX)));
              }));
  }
  if (status.ok() && !since.empty()) {
    status = Named("--since", Assign(ParseTime(since), [&request](const auto& time) {
                     *request.mutable_since() = time;
                   }));
  }
  if (!status.ok()) return session.Fail(status);
  v1::ListAuditResponse response;
  const ExitCode code = Fetch(session, &Admin::ListAudit, request, &response);
  if (code != kAccepted) return code;
  for (const v1::AuditEntry& entry : response.entries()) {
    session.out() << (session.json() ? ToJsonLine(entry) : ShowEntry(entry)) << '\n';
  }
  return kAccepted;
}

}  // namespace

void AddLogCommands(CLI::App& app, Action& action) {
  auto* level = app.add_subcommand("log-level", "Show or set what the server logs");
  const auto words = std::make_shared<std::pair<std::string, std::string>>();
  level->add_option("MODULE", words->first,
                    "A module of the server, such as engine (default: all)");
  level->add_option("LEVEL", words->second, "trace, debug, info, warn, error or off");
  level->callback([words, &action] {
    action = [words](Session& session) { return LogLevel(session, words->first, words->second); };
  });

  auto* audit = app.add_subcommand("audit", "Show which identity changed what, newest first");
  const auto options = std::make_shared<std::pair<std::string, std::string>>();
  audit->add_option("--limit", options->first,
                    "Maximum number of entries, 1 to 1000 (default 100)");
  audit->add_option("--since", options->second, "Show only entries since this time");
  audit->callback([options, &action] {
    action = [options](Session& session) {
      return Audit(session, options->first, options->second);
    };
  });
}

}  // namespace freshet::cli
