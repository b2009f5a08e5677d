// stats, trust and sources: show a server's figures, and its sources of signals.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "freshet/v1/admin.grpc.pb.h"
#include "tools/cli/admin_call.h"
#include "tools/cli/commands.h"
#include "tools/cli/json.h"
#include "tools/cli/table.h"

namespace freshet::cli {
namespace {

using Facts = std::vector<std::pair<std::string_view, std::string>>;

void PrintFacts(std::ostream& out, std::string_view title, const Facts& facts) {
  out << title << '\n';
  for (const auto& [name, value] : facts) out << fmt::format("  {:<26}{}\n", name, value);
}

Facts ServerFacts(const v1::ServerStatistics& s) {
  return {{"version", ShowText(s.version())},
          {"serving since", ShowTime(s.start_time(), s.has_start_time())},
          {"shards", ShowCount(s.shards())},
          {"workers", ShowCount(s.workers())},
          {"credit", ShowCount(s.worker_credit())}};
}

Facts PageFacts(const v1::PageStatistics& s) {
  return {{"pages", ShowCount(s.pages())},
          {"gone or moved", ShowCount(s.gone_pages())},
          {"hosts", ShowCount(s.hosts())},
          {"believed freshness", ShowShare(s.believed_freshness())},
          {"weighted by importance", ShowShare(s.weighted_believed_freshness())},
          {"epoch", ShowCount(s.epoch())},
          {"last epoch", ShowTime(s.last_epoch_time(), s.has_last_epoch_time())}};
}

Facts ScheduleFacts(const v1::ScheduleStatistics& s) {
  std::string rate = ShowNumber(s.crawl_rate_per_second()) + " per second";
  if (s.paused()) rate += ", paused";
  if (!s.pause_reason().empty()) rate += ": " + ShowText(s.pause_reason());
  std::string policy = ShowText(s.policy());
  if (!s.pending_policy().empty()) policy += ", changing to " + ShowText(s.pending_policy());
  return {{"crawl rate", rate},
          {"policy", policy},
          {"price", ShowNumber(s.price())},
          {"assignments", ShowCount(s.assignments())},
          {"ticks without credit", ShowCount(s.ticks_without_credit())},
          {"ticks without page", ShowCount(s.ticks_without_page())},
          {"ticks late", ShowCount(s.ticks_late())},
          {"open leases", ShowCount(s.open_leases())},
          {"expired leases", ShowCount(s.expired_leases())},
          {"returned leases", ShowCount(s.returned_leases())},
          {"pages given up", ShowCount(s.given_up_leases())}};
}

Facts IngestFacts(const v1::IngestStatistics& s) {
  return {{"results: changed", ShowCount(s.results_changed())},
          {"results: unchanged", ShowCount(s.results_unchanged())},
          {"results: error", ShowCount(s.results_error())},
          {"results: gone or moved", ShowCount(s.results_gone())},
          {"results: forbidden", ShowCount(s.results_robots_denied())},
          {"results: duplicate", ShowCount(s.results_duplicate())},
          {"results: observed only", ShowCount(s.results_observed_only())},
          {"results: refused", ShowCount(s.results_refused())},
          {"signals: applied", ShowCount(s.signals_applied())},
          {"signals: stale", ShowCount(s.signals_stale())},
          {"signals: duplicate", ShowCount(s.signals_duplicate())},
          {"signals: unknown page", ShowCount(s.signals_unknown_page())},
          {"signals: refused", ShowCount(s.signals_refused())},
          {"pages: added or changed", ShowCount(s.upserts_applied())},
          {"pages: refused", ShowCount(s.upserts_refused())}};
}

Facts StoreFacts(const v1::StoreStatistics& s) {
  Facts facts = {{"durability", ShowText(s.durability())},
                 {"size", ShowBytes(s.disk_bytes())},
                 {"commits", ShowCount(s.commits())},
                 {"syncs", ShowCount(s.syncs())}};
  if (!s.write_error().empty()) facts.emplace_back("WRITES REFUSED", ShowText(s.write_error()));
  return facts;
}

ExitCode Stats(Session& session) {
  v1::GetStatisticsResponse response;
  const ExitCode code =
      Fetch(session, &Admin::GetStatistics, v1::GetStatisticsRequest(), &response);
  if (code != kAccepted) return code;
  if (session.json()) {
    session.out() << ToJsonLine(response) << '\n';
    return TellUnanswered(session, response);
  }
  PrintFacts(session.out(), "server", ServerFacts(response.server()));
  PrintFacts(session.out(), "pages", PageFacts(response.pages()));
  PrintFacts(session.out(), "schedule", ScheduleFacts(response.schedule()));
  PrintFacts(session.out(), "ingest", IngestFacts(response.ingest()));
  PrintFacts(session.out(), "store", StoreFacts(response.store()));
  return TellUnanswered(session, response);
}

std::string ShowRange(const v1::Estimate& estimate) {
  return fmt::format("{} ({} to {})", ShowNumber(estimate.value()), ShowNumber(estimate.low()),
                     ShowNumber(estimate.high()));
}

void PrintHosts(const Session& session, const v1::GetTrustReportResponse& response) {
  if (response.hosts().empty()) return;
  session.out() << '\n';
  Table table(session.out(),
              {{"host"},
               {"source"},
               {"signals", Table::Align::kRight},
               {"recall", Table::Align::kRight},
               {"precision (95%)"},
               {"true of late", Table::Align::kRight},
               {"expected", Table::Align::kRight},
               {"in quarantine since"}},
              session.columns());
  const auto share = [](bool known, double value) {
    return known ? ShowNumber(value) : std::string("-");
  };
  for (const v1::HostTrust& trust : response.hosts()) {
    table.Add({ShowText(trust.host()), ShowText(trust.source()), ShowNumber(trust.signals()),
               ShowNumber(trust.recall()), ShowRange(trust.precision()),
               share(trust.has_recent_precision(), trust.recent_precision()),
               share(trust.has_believed_precision(), trust.believed_precision()),
               trust.has_quarantined_since() ? ShowTime(trust.quarantined_since()) : "-"});
  }
  table.Flush();
}

ExitCode Trust(Session& session, const v1::GetTrustReportRequest& request) {
  v1::GetTrustReportResponse response;
  const ExitCode code = Fetch(session, &Admin::GetTrustReport, request, &response);
  if (code != kAccepted) return code;
  if (session.json()) {
    for (const auto& trust : response.sources()) session.out() << ToJsonLine(trust) << '\n';
    for (const auto& trust : response.hosts()) session.out() << ToJsonLine(trust) << '\n';
    return TellUnanswered(session, response);
  }
  if (response.sources().empty() && response.hosts().empty()) {
    session.Note(
        "nothing has been learned of any source yet: it takes crawls of pages that were signalled, "
        "and the next learning round (freshet epoch)");
    return TellUnanswered(session, response);
  }
  Table table(session.out(),
              {{"source"},
               {"pages in poll"},
               {"signals", Table::Align::kRight},
               {"weight", Table::Align::kRight},
               {"recall", Table::Align::kRight},
               {"precision (95%)"}},
              session.columns());
  for (const v1::SourceTrust& trust : response.sources()) {
    table.Add({ShowText(trust.source()),
               ShowEnum(v1::BurstClass_Name(trust.burst_class()), "BURST_CLASS_"),
               ShowNumber(trust.signals()), ShowNumber(trust.signal_weight()),
               ShowNumber(trust.recall()), ShowRange(trust.precision())});
  }
  table.Flush();
  PrintHosts(session, response);
  return TellUnanswered(session, response);
}

void AddTrust(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("trust", "Show how reliable each source of signals is");
  struct Flags {
    std::string source;
    std::string host;
    uint32_t limit = 20;
  };
  const auto flags = std::make_shared<Flags>();
  command->add_option("--source", flags->source, "Show only this source");
  command->add_option("--host", flags->host, "Show only this host");
  command
      ->add_option(
          "--limit", flags->limit,
          "Maximum number of hosts and sources to list, the least reliable first; 0 for none")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->callback([flags, &action] {
    action = [flags](Session& session) {
      v1::GetTrustReportRequest request;
      request.set_source(flags->source);
      request.set_host(flags->host);
      request.set_limit(flags->limit);
      return Trust(session, request);
    };
  });
}

void PrintSources(const Session& session,
                  const google::protobuf::RepeatedPtrField<v1::Source>& sources) {
  if (session.json()) {
    for (const v1::Source& source : sources) session.out() << ToJsonLine(source) << '\n';
    return;
  }
  Table table(session.out(), {{"signals", Table::Align::kRight}, {"source"}}, session.columns());
  for (const v1::Source& source : sources) {
    table.Add({ShowCount(source.signals()), ShowText(source.source())});
  }
  table.Flush();
}

ExitCode RemoveSource(Session& session, const std::string& source) {
  v1::UnregisterSourceRequest request;
  request.set_source(source);
  v1::UnregisterSourceResponse response;
  const ExitCode code = Fetch(session, &Admin::UnregisterSource, request, &response);
  if (code != kAccepted) return code;
  if (session.json()) {
    session.out() << ToJsonLine(response) << '\n';
  } else {
    session.out() << ShowText(response.source().source()) << ": removed, its signals are refused\n";
  }
  return kAccepted;
}

ExitCode Sources(Session& session, const std::string& added) {
  if (added.empty()) {
    v1::ListSourcesResponse response;
    const ExitCode code = Fetch(session, &Admin::ListSources, v1::ListSourcesRequest(), &response);
    if (code != kAccepted) return code;
    PrintSources(session, response.sources());
    return TellUnanswered(session, response);
  }
  v1::RegisterSourceRequest request;
  request.set_source(added);
  v1::RegisterSourceResponse response;
  const ExitCode code = Fetch(session, &Admin::RegisterSource, request, &response);
  if (code != kAccepted) return code;
  if (session.json()) {
    session.out() << ToJsonLine(response) << '\n';
  } else {
    session.out() << ShowText(response.source().source())
                  << (response.created() ? ": added\n" : ": was known already\n");
  }
  return kAccepted;
}

void AddSources(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("sources", "List the sources of signals, add or remove one");
  const auto added = std::make_shared<std::string>();
  const auto removed = std::make_shared<std::string>();
  auto* add = command->add_option("--add", *added, "Name of a source to add");
  command
      ->add_option("--remove", *removed,
                   "Name of a source to remove; the server refuses its signals from then on")
      ->excludes(add);
  command->callback([added, removed, &action] {
    action = [added, removed](Session& session) {
      return removed->empty() ? Sources(session, *added) : RemoveSource(session, *removed);
    };
  });
}

}  // namespace

void AddReportCommands(CLI::App& app, Action& action) {
  app.add_subcommand("stats", "Show counters and the state of the server")->callback([&action] {
    action = Stats;
  });
  AddTrust(app, action);
  AddSources(app, action);
}

}  // namespace freshet::cli
