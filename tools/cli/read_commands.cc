// get and list: read pages.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "freshet/v1/pages.grpc.pb.h"
#include "tools/cli/commands.h"
#include "tools/cli/host_text.h"
#include "tools/cli/json.h"
#include "tools/cli/page_list.h"
#include "tools/cli/page_text.h"
#include "tools/cli/parse.h"
#include "tools/cli/table.h"

namespace freshet::cli {
namespace {

// Prints `name   value` lines of a report.
class FactPrinter {
 public:
  // The column at which values begin.
  static constexpr size_t kIndent = 24;

  explicit FactPrinter(std::ostream& out) : out_(out) {}
  void Say(std::string_view name, std::string_view value) {
    out_ << fmt::format("  {:<{}}{}\n", name, kIndent - 2, value);
  }

 private:
  std::ostream& out_;
};

std::string ShowEstimate(const v1::Estimate& estimate) {
  return fmt::format("{} (95%: {} to {})", ShowNumber(estimate.value()), ShowNumber(estimate.low()),
                     ShowNumber(estimate.high()));
}

std::string ShowBurst(v1::BurstClass burst) {
  return ShowEnum(v1::BurstClass_Name(burst), "BURST_CLASS_");
}

void PrintSettings(const v1::Page& page, FactPrinter& facts) {
  facts.Say("crawl id", ShowText(page.crawl_id()));
  facts.Say("importance", ShowNumber(page.importance()));
  if (page.has_min_interval()) facts.Say("min interval", ShowDuration(page.min_interval()));
  if (page.has_max_interval()) facts.Say("max interval", ShowDuration(page.max_interval()));
  if (page.has_not_before()) facts.Say("not before", ShowTime(page.not_before()));
  if (page.has_known_change_rate_per_day()) {
    facts.Say("known changes per day", ShowNumber(page.known_change_rate_per_day()));
  }
  if (page.complete_signals()) facts.Say("complete signals", "yes");
}

void PrintCrawls(const v1::Page& page, FactPrinter& facts) {
  facts.Say("first seen", ShowTime(page.first_seen_time(), page.has_first_seen_time()));
  facts.Say("last crawl", ShowTime(page.last_crawl_time(), page.has_last_crawl_time()));
  if (page.last_outcome() != v1::CRAWL_OUTCOME_UNSPECIFIED) {
    std::string outcome = ShowEnum(v1::CrawlOutcome_Name(page.last_outcome()), "CRAWL_OUTCOME_");
    if (page.has_http_status()) outcome += fmt::format(", HTTP {}", page.http_status());
    facts.Say("last outcome", outcome);
  }
  facts.Say("last change", ShowTime(page.last_change_time(), page.has_last_change_time()));
  // The first crawl cannot find a change, and has no change time even if the crawler reported it as
  // changed. The note says so in both cases.
  facts.Say("crawls", page.crawls() == 1 && !page.has_last_change_time()
                          ? "1; the second will be the first that can find a change"
                          : fmt::format("{}, of which {} found a change", ShowCount(page.crawls()),
                                        ShowCount(page.changes())));
  if (page.consecutive_errors() > 0) {
    facts.Say("errors in a row", ShowCount(page.consecutive_errors()));
  }
  for (const v1::PendingSignals& pending : page.pending_signals()) {
    facts.Say("signals since",
              fmt::format("{} of {}, in polls of {}", pending.signals(), ShowText(pending.source()),
                          ShowBurst(pending.burst_class())));
  }
  if (page.has_lease()) {
    facts.Say("lease",
              fmt::format("{} of {}, until {}", page.lease().lease_id(),
                          ShowText(page.lease().worker()), ShowTime(page.lease().deadline())));
  }
  if (page.recheck_pending()) facts.Say("recheck", "waiting");
  if (!page.moved_to().empty()) facts.Say("moved to", ShowText(page.moved_to()));
  if (page.unanswered_leases() > 0) {
    facts.Say("unanswered leases", ShowCount(page.unanswered_leases()) + " in a row");
  }
}

void PrintEstimates(const v1::PageEstimates& estimates, FactPrinter& facts) {
  facts.Say(
      "changes per day",
      fmt::format("{}, {}, from {} between crawls", ShowEstimate(estimates.change_rate_per_day()),
                  ShowEnum(v1::EstimateBasis_Name(estimates.basis()), "ESTIMATE_BASIS_"),
                  ShowIntervals(estimates.observations())));
  facts.Say("signals per day",
            fmt::format("{}, weight of one {}", ShowNumber(estimates.signal_rate_per_day()),
                        ShowNumber(estimates.signal_weight())));
}

void PrintExplanation(const v1::Explanation& why, bool crawled, FactPrinter& facts) {
  facts.Say("decision", ShowEnum(v1::Decision_Name(why.decision()), "DECISION_"));
  // The unit of a value is importance x seconds. The glossary explains it.
  facts.Say("value", fmt::format("{} importance x seconds, price {} ({})", ShowNumber(why.value()),
                                 ShowNumber(why.price()), ShowText(why.policy())));
  if (why.value_share() < 0.9995) {
    facts.Say("value share", fmt::format("{}: it may be gone, or can wait for others",
                                         ShowShare(why.value_share())));
  }
  if (crawled) {
    facts.Say("probability fresh",
              fmt::format("{}, staleness {}", ShowShare(why.probability_fresh()),
                          ShowNumber(why.staleness())));
    facts.Say("effective elapsed",
              why.has_effective_elapsed() ? ShowDuration(why.effective_elapsed()) : "infinite");
  } else {
    facts.Say("probability fresh", "never crawled: there is no copy yet");
  }
  PrintEstimates(why.estimates(), facts);
  facts.Say("next crawl expected",
            why.decision() == v1::DECISION_PAUSED
                ? "not while nothing is assigned"
                : ShowTime(why.next_expected_crawl_time(), why.has_next_expected_crawl_time()));
  facts.Say("host", ShowHost(why.host_state(), FactPrinter::kIndent));
}

void PrintPage(const Session& session, const v1::GetPageResponse& response) {
  if (session.json()) {
    session.out() << ToJsonLine(response) << '\n';
    return;
  }
  session.out() << ShowText(response.page().url()) << '\n'
                << "  " << ShowText(response.explanation().why()) << "\n";
  FactPrinter facts(session.out());
  PrintSettings(response.page(), facts);
  PrintCrawls(response.page(), facts);
  PrintExplanation(response.explanation(), response.page().has_last_crawl_time(), facts);
}

struct GetOptions {
  std::vector<std::string> arguments;
  std::string crawl_id;
};

ExitCode Get(Session& session, const GetOptions& options) {
  static const RowFormat kFormat = {{"url", "crawl_id"}, {}, {"url"}};
  const absl::Status connected = session.Connect();
  if (!connected.ok()) return session.Fail(connected);
  const auto stub = v1::PagesService::NewStub(session.channel());
  TellInput(session, options.arguments);
  const auto rows = RowsOfArguments(options.arguments, kFormat, LooksLikeUrl, session.input());
  ExitCode code = kAccepted;
  Row row;
  while (true) {
    const absl::StatusOr<bool> more = rows->Next(&row);
    if (!more.ok()) return session.Fail(more.status());
    if (!*more) return code;
    const std::string* url = row.Find("url");
    const std::string* crawl_id = row.Find("crawl_id");
    v1::GetPageRequest request;
    request.set_url(url == nullptr ? "" : *url);
    request.set_crawl_id(crawl_id == nullptr ? options.crawl_id : *crawl_id);
    v1::GetPageResponse response;
    const grpc::Status status =
        Call(session, &v1::PagesService::Stub::GetPage, *stub, request, &response);
    if (status.ok()) {
      PrintPage(session, response);
      continue;
    }
    code = FailOfPage(session, status, request.url());
    if (code == kUnreachable) return code;
  }
}

void AddGet(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("get", "Show pages, and why they are or are not crawled now");
  const auto options = std::make_shared<GetOptions>();
  command->add_option("URLS", options->arguments,
                      "URLs or files; without arguments the command reads standard input");
  command->add_option("--crawl-id", options->crawl_id,
                      "Crawl id (namespace) of the pages; default: DEFAULT");
  command->callback([options, &action] {
    action = [options](Session& session) { return Get(session, *options); };
  });
}

ExitCode List(Session& session, const ListOptions& options) {
  v1::ListPagesRequest request;
  absl::Status status = FillList(options, &request);
  if (status.ok()) status = session.Connect();
  if (!status.ok()) return session.Fail(status);
  const auto stub = v1::PagesService::NewStub(session.channel());
  grpc::ClientContext context;
  const auto stream = stub->ListPages(&context, request);
  Table table(session.out(),
              {{"importance", Table::Align::kRight},
               {"last crawl"},
               {"outcome"},
               {"crawls", Table::Align::kRight},
               {"changes", Table::Align::kRight},
               {"crawl id"},
               {"url"}},
              session.columns());
  const ExitCode code = PrintStream<v1::ListPagesResponse>(
      session, options, context, *stream, [&](const v1::ListPagesResponse& part) {
        for (const v1::Page& page : part.pages()) {
          if (session.json()) {
            session.out() << ToJsonLine(page) << '\n';
            continue;
          }
          const bool crawled = page.last_outcome() != v1::CRAWL_OUTCOME_UNSPECIFIED;
          table.Add({ShowNumber(page.importance()),
                     ShowTime(page.last_crawl_time(), page.has_last_crawl_time()),
                     crawled
                         ? ShowEnum(v1::CrawlOutcome_Name(page.last_outcome()), "CRAWL_OUTCOME_")
                         : "-",
                     ShowCount(page.crawls()), ShowCount(page.changes()), ShowText(page.crawl_id()),
                     page.moved_to().empty()
                         ? ShowText(page.url())
                         : ShowText(page.url()) + " -> " + ShowText(page.moved_to())});
        }
        if (!session.json() && !part.pages().empty()) table.Flush();
      });
  return code;
}

void AddList(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("list", "List pages");
  const auto options = AddListOptions(*command);
  command->callback([options, &action] {
    action = [options](Session& session) { return List(session, *options); };
  });
}

}  // namespace

void AddReadCommands(CLI::App& app, Action& action) {
  AddGet(app, action);
  AddList(app, action);
}

}  // namespace freshet::cli
