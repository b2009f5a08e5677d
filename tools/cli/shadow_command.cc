// crawls shadow: shows what a crawl id in shadow mode would gain if it were scheduled.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "freshet/v1/admin.grpc.pb.h"
#include "tools/cli/admin_call.h"
#include "tools/cli/commands.h"
#include "tools/cli/json.h"
#include "tools/cli/table.h"

namespace freshet::cli {
namespace {

struct ShadowOptions {
  std::string crawl_id;
  uint64_t limit = 0;  // 0 = the server's default
  uint32_t examples = 10;
};

std::string ShowSeen(const v1::ReportShadowResponse& report) {
  std::string text =
      fmt::format("{}: {}", ShowText(report.crawl_id()), ShowCounted(report.pages(), "page"));
  if (report.pages_read() < report.pages()) {
    text += fmt::format(", of which {} read", ShowCount(report.pages_read()));
  }
  text += fmt::format("; {} gone, {} never crawled, {} compared\n", ShowCount(report.gone_pages()),
                      ShowCount(report.never_crawled_pages()), ShowCount(report.compared_pages()));
  text += ShowCounted(report.crawls(), "crawl") + " seen";
  if (report.compared_crawls() > 0) {
    text += fmt::format("; {} of the last {} that were compared found a change ({})",
                        ShowCount(report.changes()), ShowCount(report.compared_crawls()),
                        ShowShare(static_cast<double>(report.changes()) /
                                  static_cast<double>(report.compared_crawls())));
  }
  return text +
         fmt::format("\nbelieved to be fresh now: {}\n", ShowShare(report.believed_freshness()));
}

std::string ShowComparison(const v1::ShadowComparison& comparison) {
  std::string text = fmt::format(
      "With the dates of its clients, {} crawls a day keep {} of requests fresh.\n"
      "With Freshet's choice the same number would keep {} fresh, or {} without signals.\n",
      ShowNumber(comparison.crawls_per_day()), ShowShare(comparison.freshness()),
      ShowShare(comparison.best_freshness()),
      ShowShare(comparison.best_freshness_without_signals()));
  text += fmt::format(
      "With Freshet's choice {} crawls a day ({} of today's) would keep as many fresh as today.\n",
      ShowNumber(comparison.crawls_per_day_for_same()),
      ShowShare(comparison.crawls_per_day_for_same() / comparison.crawls_per_day()));
  return text + fmt::format("Computed from {}, with their estimated change rates.\n",
                            ShowCounted(comparison.sampled_pages(), "page"));
}

template <typename Pages>
void PrintExamples(const Session& session, const char* title, const Pages& pages) {
  if (pages.empty()) return;
  session.out() << '\n' << title << '\n';
  Table table(session.out(), {{"crawls a day", Table::Align::kRight},
                              {"of Freshet's choice", Table::Align::kRight},
                              {"changes a day", Table::Align::kRight},
                              {"importance", Table::Align::kRight},
                              {"url"}});
  for (const v1::ShadowPage& page : pages) {
    table.Add({ShowNumber(page.crawls_per_day()), ShowNumber(page.best_crawls_per_day()),
               ShowNumber(page.change_rate_per_day()), ShowNumber(page.importance()),
               ShowText(page.url())});
  }
  table.Flush();
}

void PrintReport(const Session& session, const v1::ReportShadowResponse& report) {
  session.out() << ShowSeen(report);
  if (!report.has_comparison()) {
    session.out() << "nothing to compare: " << ShowText(report.why_not()) << '\n';
    return;
  }
  session.out() << ShowComparison(report.comparison());
  PrintExamples(session, "Crawled too often:", report.too_often());
  PrintExamples(session, "Crawled too rarely:", report.too_rarely());
}

ExitCode ReportShadow(Session& session, const ShadowOptions& options) {
  v1::ReportShadowRequest request;
  request.set_crawl_id(options.crawl_id);
  if (options.limit > 0) request.set_limit(options.limit);
  request.set_examples(options.examples);
  const absl::Status connected = session.Connect();
  if (!connected.ok()) return session.Fail(connected);
  const auto stub = v1::AdminService::NewStub(session.channel());
  v1::ReportShadowResponse response;
  const grpc::Status status =
      CallPatiently(session, "reading pages", &Admin::ReportShadow, *stub, request, &response);
  if (!status.ok()) return session.Fail(status);
  if (session.json()) {
    session.out() << ToJsonLine(response) << '\n';
  } else {
    PrintReport(session, response);
  }
  return kAccepted;
}

}  // namespace

void AddShadowCommand(CLI::App& crawls, Action& action) {
  auto* command = crawls.add_subcommand(
      "shadow", "Show what a crawl id in shadow mode would gain if Freshet scheduled it");
  const auto options = std::make_shared<ShadowOptions>();
  command->add_option("CRAWL_ID", options->crawl_id, "The crawl id")->required();
  command->add_option("--limit", options->limit,
                      "Maximum number of pages to read (default 200,000)");
  command
      ->add_option(
          "--examples", options->examples,
          "Maximum number of example pages of each kind: crawled too often, and crawled too rarely")
      ->capture_default_str();
  command->callback([options, &action] {
    action = [options](Session& session) { return ReportShadow(session, *options); };
  });
}

}  // namespace freshet::cli
