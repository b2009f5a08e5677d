// fleet: shows which node serves each division of a cluster, and moves divisions to other nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "core/base/wrong_value.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "tools/cli/admin_call.h"
#include "tools/cli/commands.h"
#include "tools/cli/confirm.h"
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

std::string StateOf(const v1::FleetStandby& standby) {
  if (!standby.has_behind()) {
    return fmt::format("reads the log, {} so far", ShowCounted(standby.rows(), "row"));
  }
  return fmt::format("{}{}, {} behind", standby.ready() ? "stands by" : "does not keep up",
                     standby.loaded() ? " with all pages loaded" : "",
                     ShowDuration(standby.behind()));
}

void AddRow(uint32_t division, const v1::FleetStandby& standby, Table* table) {
  table->Add({ShowCount(division), "-", "-", "-", "-", "-", ShowText(standby.node()),
              standby.address().empty() ? "-" : ShowText(standby.address()), StateOf(standby)});
}

// Returns the totals over the divisions that have answered. `all`: every division has answered.
std::string SumOf(const v1::GetFleetResponse& fleet, bool all) {
  uint64_t pages = 0;
  uint64_t out = 0;
  double granted = 0;
  for (const v1::FleetDivision& division : fleet.divisions()) {
    pages += division.pages();
    out += division.open_leases();
    granted += division.crawl_rate_per_second();
  }
  return fmt::format("{}: {}, {} out, {} of {} crawls a second granted\n",
                     all ? "all" : "the divisions that have answered", ShowCounted(pages, "page"),
                     ShowCount(out), ShowNumber(granted),
                     ShowNumber(fleet.crawl_rate_per_second()));
}

// Returns an error code if a division has not answered, so that scripts notice that the list is
// incomplete.
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
    for (const v1::FleetDivision& division : response.divisions()) {
      AddRow(division, &table);
      for (const v1::FleetStandby& standby : division.standbys()) {
        AddRow(division.division(), standby, &table);
      }
    }
    table.Flush();
    if (response.divisions_size() > 1) session.out() << SumOf(response, all);
    // Errors are printed below the table, because its cells are too narrow.
    for (const v1::FleetDivision& division : response.divisions()) {
      if (!division.has_unanswered()) continue;
      ComplainOfDivision(session, division.division(), division.unanswered());
    }
  }
  return all ? kAccepted : kRefused;
}

// A stopping server continues to serve until its standbys have the pages. This takes at most the
// largest allowed value of cluster.handover.
constexpr std::chrono::minutes kServesOn{10};
// The maximum time that a standby needs after that to begin serving.
constexpr std::chrono::seconds kHandOver{60};
constexpr std::chrono::milliseconds kLookEvery{500};

// Waits until other nodes serve these divisions, and prints those nodes. Returns kRefused if no
// other node takes over some division.
ExitCode AwaitOthers(Session& session, const std::string& node, std::set<uint32_t> divisions) {
  const auto stub = v1::AdminService::NewStub(session.channel());
  const auto begun = std::chrono::steady_clock::now();
  auto served = begun;  // when the node last served a division
  while (!divisions.empty() && std::chrono::steady_clock::now() - served < kHandOver) {
    std::this_thread::sleep_for(kLookEvery);
    v1::GetFleetResponse fleet;
    // The call fails while the server that would answer is itself stopping, so it is repeated.
    if (!Call(session, &Admin::GetFleet, *stub, v1::GetFleetRequest(), &fleet).ok()) continue;
    for (const v1::FleetDivision& its : fleet.divisions()) {
      if (its.has_unanswered() || !divisions.contains(its.division())) continue;
      if (its.node() == node) {
        const auto now = std::chrono::steady_clock::now();
        if (now - begun < kServesOn) served = now;
        continue;
      }
      divisions.erase(its.division());
      session.out() << fmt::format("division {}: {} serves\n", its.division(),
                                   ShowText(its.node()));
    }
  }
  for (const uint32_t division : divisions) {
    ComplainOfDivision(
        session, division,
        "the node has given it up, and no other node was seen to serve it yet: ask another server");
  }
  return divisions.empty() ? kAccepted : kRefused;
}

std::vector<std::string> NodesOf(const v1::GetFleetResponse& fleet) {
  std::vector<std::string> nodes;
  for (const v1::FleetDivision& division : fleet.divisions()) {
    nodes.push_back(division.node());
    for (const v1::FleetStandby& standby : division.standbys()) nodes.push_back(standby.node());
  }
  return nodes;
}

// Prints the divisions for which a node is the standby.
ExitCode ShowStandby(Session& session, const std::string& node) {
  v1::GetFleetResponse fleet;
  const ExitCode code = Fetch(session, &Admin::GetFleet, v1::GetFleetRequest(), &fleet);
  if (code != kAccepted) return code;
  std::set<uint32_t> divisions;
  for (const v1::FleetDivision& division : fleet.divisions()) {
    for (const v1::FleetStandby& standby : division.standbys()) {
      if (standby.node() == node) divisions.insert(division.division());
    }
  }
  if (divisions.empty()) {
    session.Complain(
        fmt::format("no server is named {} (servers without cluster.address are not seen){}",
                    ShowText(node), DidYouMean(node, NodesOf(fleet))));
    return kRefused;
  }
  session.Note(
      fmt::format("{} serves no division; it is a standby for division {}, so you may stop it",
                  ShowText(node), fmt::join(divisions, ", ")));
  return kAccepted;
}

struct DrainOptions {
  std::string node;
  bool yes = false;
};

ExitCode DrainNode(Session& session, const DrainOptions& options) {
  const std::string& node = options.node;
  const ExitCode meant =
      Confirm(session, options.yes,
              fmt::format("End the servers of node {} that serve, so that standbys take over",
                          ShowName(node)));
  if (meant != kAccepted) return meant;
  v1::DrainNodeRequest request;
  request.set_node(node);
  v1::DrainNodeResponse response;
  const ExitCode code = Fetch(session, &Admin::DrainNode, request, &response);
  if (code != kAccepted) return code;
  if (session.json()) session.out() << ToJsonLine(response) << '\n';
  ExitCode end = TellUnanswered(session, response);
  std::set<uint32_t> given_up;
  for (const v1::DrainedDivision& division : response.divisions()) {
    if (!division.has_refused()) {
      given_up.insert(division.division());
      continue;
    }
    ComplainOfDivision(session, division.division(), division.refused());
    end = kRefused;
  }
  if (!given_up.empty()) {
    if (session.json()) return end;
    const ExitCode seen = AwaitOthers(session, node, std::move(given_up));
    return end == kAccepted ? seen : end;
  }
  if (end != kAccepted) return end;
  return ShowStandby(session, node);
}

}  // namespace

void AddFleetCommand(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("fleet",
                                     "Show which node serves each division (part of the hosts) of "
                                     "a cluster; exit code 1 if a division has no node");
  // CLI11 calls this after the callbacks of the subcommands.
  command->callback([command, &action] {
    if (command->get_subcommands().empty()) action = ShowFleet;
  });
  auto* drain = command->add_subcommand(
      "drain",
      "Move the work of a node to its standby servers, and show which nodes serve it then");
  const auto options = std::make_shared<DrainOptions>();
  drain->add_option("NODE", options->node, "Name of the node, as freshet fleet shows it")
      ->required();
  AddYes(*drain, options->yes);
  drain->callback([options, &action] {
    action = [options](Session& session) { return DrainNode(session, *options); };
  });
}

}  // namespace freshet::cli
