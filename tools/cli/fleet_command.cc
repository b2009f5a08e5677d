// fleet: who serves each division of a cluster, and what it does.
#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "freshet/v1/admin.grpc.pb.h"
#include "tools/cli/admin_call.h"
#include "tools/cli/commands.h"
#include "tools/cli/json.h"
#include "tools/cli/table.h"

namespace freshet::cli {
namespace {

std::string StateOf(const v1::FleetDivision& division) {
  if (!division.sure()) return "not sure of its turn";
  std::string state = division.paused() ? "paused" : "serves";
  if (division.leads()) state += ", shares the rate out";
  const uint32_t waiting = division.waiting_partitions();
  if (waiting > 0) {
    state += fmt::format(", {} {} for Kafka", ShowCounted(waiting, "partition"),
                         waiting == 1 ? "waits" : "wait");
  }
  return state;
}

void AddRow(const v1::FleetDivision& division, Table* table) {
  const std::string number = ShowCount(division.division());
  if (division.has_unanswered()) {
    return table->Add({number, "-", "-", "-", "-", "-", "-", "-", "no answer"});
  }
  table->Add({number, ShowCount(division.pages()), ShowCount(division.open_leases()),
              ShowNumber(division.crawl_rate_per_second()),
              division.has_price() ? ShowNumber(division.price()) : "-",
              ShowTime(division.serves_since(), division.has_serves_since()),
              ShowText(division.node()),
              division.has_address() ? ShowText(division.address()) : "-", StateOf(division)});
}

// Fails when somebody has not answered: whoever asks wants to know of all.
ExitCode ShowFleet(Session& session) {
  v1::GetFleetResponse response;
  const ExitCode code = Fetch(session, &Admin::GetFleet, v1::GetFleetRequest(), &response);
  if (code != kAccepted) return code;
  bool all = true;
  for (const v1::FleetDivision& division : response.divisions()) {
    all = all && !division.has_unanswered();
  }
  if (session.json()) {
    session.out() << ToJsonLine(response) << '\n';
  } else {
    Table table(session.out(),
                {{"division", Table::Align::kRight},
                 {"pages", Table::Align::kRight},
                 {"out", Table::Align::kRight},
                 {"rate", Table::Align::kRight},
                 {"price", Table::Align::kRight},
                 {"serves since"},
                 {"node"},
                 {"address"},
                 {"state"}},
                session.columns());
    for (const v1::FleetDivision& division : response.divisions()) AddRow(division, &table);
    table.Flush();
    // Below it, where there is room for them.
    for (const v1::FleetDivision& division : response.divisions()) {
      if (!division.has_unanswered()) continue;
      session.Complain(
          fmt::format("division {}: {}", division.division(), ShowText(division.unanswered())));
    }
  }
  return all ? kAccepted : kRefused;
}

}  // namespace

void AddFleetCommand(CLI::App& app, Action& action) {
  app.add_subcommand("fleet",
                     "Show who serves each division of a cluster: exit code 1 if one is missing")
      ->callback([&action] { action = ShowFleet; });
}

}  // namespace freshet::cli
