// crawls and hosts: list and delete crawl ids and hosts, and change the settings of crawl ids.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/base/nearest.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "tools/cli/admin_call.h"
#include "tools/cli/commands.h"
#include "tools/cli/confirm.h"
#include "tools/cli/host_text.h"
#include "tools/cli/json.h"
#include "tools/cli/parse.h"
#include "tools/cli/table.h"

namespace freshet::cli {
namespace {

// The number of items that one call asks for.
constexpr uint32_t kPageSize = 1000;

// Repeats the call until there is no next page. Passes each page of the result to `show`.
template <typename Request, typename Response, typename Show>
ExitCode AskForPages(Session& session,
                     grpc::Status (Admin::*method)(grpc::ClientContext*, const Request&, Response*),
                     Request request, Show show) {
  request.set_page_size(kPageSize);
  ExitCode all = kAccepted;
  while (true) {
    Response response;
    const ExitCode code = Fetch(session, method, request, &response);
    if (code != kAccepted) return code;
    show(response);
    if (TellUnanswered(session, response) != kAccepted) all = kRefused;
    if (response.next_page_token().empty()) return all;
    request.set_page_token(response.next_page_token());
  }
}

// --- Crawl ids

// Returns for example "scheduled".
std::string ShowMode(v1::FrontierMode mode) {
  return ShowEnum(v1::FrontierMode_Name(mode), "FRONTIER_MODE_");
}

std::string ShowSettings(const v1::CrawlSettings& settings) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (settings.has_share()) add(ShowShare(settings.share()) + " of the rate");
  if (settings.has_max_rate_per_second()) {
    add(fmt::format("at most {} crawls per second", ShowNumber(settings.max_rate_per_second())));
  }
  if (settings.has_max_pages()) {
    add(fmt::format("at most {} pages", ShowCount(settings.max_pages())));
  }
  if (settings.has_min_delay()) {
    add(ShowDuration(settings.min_delay()) + " between crawls of a host");
  }
  if (settings.has_max_in_flight()) {
    add(fmt::format("{} in flight for each host", ShowLimit(settings.max_in_flight())));
  }
  if (settings.has_min_page_interval()) {
    add(ShowDuration(settings.min_page_interval()) + " between crawls of a page");
  }
  if (settings.frontier_mode() != v1::FRONTIER_MODE_UNSPECIFIED) {
    add("frontier mode " + ShowMode(settings.frontier_mode()));
  }
  return text.empty() ? "nothing set" : text;
}

std::string ShowCrawl(const v1::Crawl& crawl) {
  std::string text = fmt::format(
      "{}: {}\n{} of {}, {} out\nsince the server started, with what was imported: {}; {}, of "
      "which "
      "{} found a change; {} failed, {} found the page gone, {} forbidden by robots.txt",
      ShowText(crawl.crawl_id()), ShowSettings(crawl.settings()),
      ShowCounted(crawl.pages(), "page"), ShowCounted(crawl.hosts(), "host"),
      ShowCount(crawl.out()), ShowCounted(crawl.assignments(), "assignment"),
      ShowCounted(crawl.crawls(), "crawl"), ShowCount(crawl.changes()), ShowCount(crawl.errors()),
      ShowCount(crawl.gone()), ShowCount(crawl.robots_denied()));
  const bool by_dates = crawl.frontier_mode() == v1::FRONTIER_MODE_DATES;
  if (!by_dates && crawl.settings().frontier_mode() == v1::FRONTIER_MODE_UNSPECIFIED) {
    text += "\nfrontier mode " + ShowMode(crawl.frontier_mode()) + ", as the server is configured";
  }
  if (crawl.deleting()) text += "\nbeing deleted: the pages above are left";
  return text;
}

void PrintCrawl(const Session& session, const v1::Crawl& crawl) {
  session.out() << (session.json() ? ToJsonLine(crawl) : ShowCrawl(crawl)) << '\n';
}

ExitCode ListCrawls(Session& session) {
  Table table(session.out(),
              {{"pages", Table::Align::kRight},
               {"hosts", Table::Align::kRight},
               {"out", Table::Align::kRight},
               {"crawls", Table::Align::kRight},
               {"changes", Table::Align::kRight},
               {"errors", Table::Align::kRight},
               {"share", Table::Align::kRight},
               {"crawl id"}},
              session.columns());
  const auto show = [&session, &table](const v1::ListCrawlsResponse& part) {
    for (const v1::Crawl& crawl : part.crawls()) {
      if (session.json()) {
        session.out() << ToJsonLine(crawl) << '\n';
        continue;
      }
      table.Add({ShowCount(crawl.pages()), ShowCount(crawl.hosts()), ShowCount(crawl.out()),
                 ShowCount(crawl.crawls()), ShowCount(crawl.changes()), ShowCount(crawl.errors()),
                 crawl.settings().has_share() ? ShowShare(crawl.settings().share()) : "-",
                 ShowText(crawl.crawl_id()) + (crawl.deleting() ? " (being deleted)" : "")});
    }
    if (!session.json() && !part.crawls().empty()) table.Flush();
  };
  return AskForPages(session, &Admin::ListCrawls, v1::ListCrawlsRequest(), show);
}

// After a refusal, suggests the crawl id that the user probably meant, among those that the user
// may see.
void SuggestCrawl(Session& session, const std::string& crawl_id) {
  v1::ListCrawlsRequest request;
  request.set_page_size(kPageSize);
  v1::ListCrawlsResponse all;
  const auto stub = v1::AdminService::NewStub(session.channel());
  if (!Call(session, &Admin::ListCrawls, *stub, request, &all).ok()) return;
  std::vector<std::string> names;
  for (const v1::Crawl& crawl : all.crawls()) names.push_back(crawl.crawl_id());
  const std::string nearest = Nearest(crawl_id, names);
  if (!nearest.empty()) session.Note(fmt::format("did you mean {}?", ShowName(nearest)));
}

ExitCode ShowOneCrawl(Session& session, const std::string& crawl_id) {
  v1::ListCrawlsRequest request;
  request.set_crawl_id(crawl_id);
  v1::ListCrawlsResponse response;
  const ExitCode code = Fetch(session, &Admin::ListCrawls, request, &response);
  if (code == kRefused) SuggestCrawl(session, crawl_id);
  if (code != kAccepted) return code;
  PrintCrawl(session, response.crawls(0));
  return TellUnanswered(session, response);
}

// A name, and whether the user has confirmed the deletion.
struct DeleteOptions {
  std::string name;
  bool yes = false;
};

ExitCode DeleteCrawl(Session& session, const DeleteOptions& options) {
  const std::string& crawl_id = options.name;
  const ExitCode meant =
      Confirm(session, options.yes,
              fmt::format("Remove all pages of crawl id {}, and its settings", ShowName(crawl_id)));
  if (meant != kAccepted) return meant;
  v1::DeleteCrawlRequest request;
  request.set_crawl_id(crawl_id);
  v1::DeleteCrawlResponse response;
  const ExitCode code = Fetch(session, &Admin::DeleteCrawl, request, &response);
  if (code == kRefused) SuggestCrawl(session, crawl_id);
  if (code == kAccepted) PrintCrawl(session, response.crawl());
  return code;
}

struct CrawlOptions {
  std::string crawl_id;
  std::string share;
  std::string max_rate;
  std::string max_pages;
  std::string min_delay;
  std::string max_in_flight;
  std::string min_page_interval;
  std::string frontier_mode;
  bool reset = false;
};

// Sets the field unless the text is empty.
template <typename Parse, typename Set>
absl::Status FillOption(const char* option, const std::string& text, Parse parse, Set set) {
  if (text.empty()) return absl::OkStatus();
  return Named(option, Assign(parse(text), set));
}

absl::Status FillCrawl(const CrawlOptions& options, v1::SetCrawlRequest* request) {
  request->set_crawl_id(options.crawl_id);
  request->set_reset(options.reset);
  absl::Status status = FillOption("--share", options.share, ParseNonNegative,
                                   [request](double x) { request->set_share(x); });
  status.Update(FillOption("--max-rate", options.max_rate, ParseNonNegative,
                           [request](double x) { request->set_max_rate_per_second(x); }));
  status.Update(FillOption("--max-pages", options.max_pages, ParseCount,
                           [request](uint64_t x) { request->set_max_pages(x); }));
  status.Update(FillOption("--min-delay", options.min_delay, ParseDuration,
                           [request](const auto& x) { *request->mutable_min_delay() = x; }));
  status.Update(
      FillOption("--max-in-flight", options.max_in_flight, ParseCount, [request](uint64_t x) {
        request->set_max_in_flight(static_cast<uint32_t>(std::min<uint64_t>(x, UINT32_MAX)));
      }));
  status.Update(
      FillOption("--min-page-interval", options.min_page_interval, ParseDuration,
                 [request](const auto& x) { *request->mutable_min_page_interval() = x; }));
  if (options.frontier_mode == "dates") request->set_frontier_mode(v1::FRONTIER_MODE_DATES);
  if (options.frontier_mode == "shadow") request->set_frontier_mode(v1::FRONTIER_MODE_SHADOW);
  if (options.frontier_mode == "scheduled") {
    request->set_frontier_mode(v1::FRONTIER_MODE_SCHEDULED);
  }
  return status;
}

ExitCode SetCrawl(Session& session, const CrawlOptions& options) {
  v1::SetCrawlRequest request;
  const absl::Status status = FillCrawl(options, &request);
  if (!status.ok()) return session.Fail(status);
  v1::SetCrawlResponse response;
  const ExitCode code = Fetch(session, &Admin::SetCrawl, request, &response);
  if (code == kAccepted) PrintCrawl(session, response.crawl());
  return code;
}

// Adds a command whose only argument is a name.
void AddNamed(CLI::App& parent, Action& action, const char* name, const char* help,
              const char* argument, const char* argument_help,
              ExitCode (*run)(Session&, const std::string&)) {
  auto* command = parent.add_subcommand(name, help);
  const auto value = std::make_shared<std::string>();
  command->add_option(argument, *value, argument_help)->required();
  command->callback([value, run, &action] {
    action = [value, run](Session& session) { return run(session, *value); };
  });
}

void AddDelete(CLI::App& parent, Action& action, const char* help, const char* argument,
               const char* argument_help, ExitCode (*run)(Session&, const DeleteOptions&)) {
  auto* command = parent.add_subcommand("delete", help);
  const auto options = std::make_shared<DeleteOptions>();
  command->add_option(argument, options->name, argument_help)->required();
  AddYes(*command, options->yes);
  command->callback([options, run, &action] {
    action = [options, run](Session& session) { return run(session, *options); };
  });
}

void AddSetCrawl(CLI::App& parent, Action& action) {
  auto* command = parent.add_subcommand("set", "Change the settings of a crawl id");
  const auto options = std::make_shared<CrawlOptions>();
  command->add_option("CRAWL_ID", options->crawl_id, "The crawl id")->required();
  command->add_option(
      "--share", options->share,
      "Share (0 to 1) of the crawl rate that the crawl id gets; 0 for no share of its own");
  command->add_option("--max-rate", options->max_rate,
                      "Maximum number of crawls per second; 0 for no maximum");
  command->add_option("--max-pages", options->max_pages,
                      "Maximum number of pages; 0 for no maximum");
  command->add_option("--min-delay", options->min_delay,
                      "Shortest time between two crawls of a host, for pages of the crawl id");
  command->add_option("--max-in-flight", options->max_in_flight,
                      "Maximum number of crawls of a host at the same time, for pages of the crawl "
                      "id; 0 for no limit");
  command->add_option("--min-page-interval", options->min_page_interval,
                      "Shortest time between two crawls of a page");
  command
      ->add_option("--frontier-mode", options->frontier_mode,
                   "How the crawl-frontier API (of URLFrontier) hands out URLs of the crawl id")
      ->check(CLI::IsMember({"dates", "shadow", "scheduled"}));
  command->add_flag("--reset", options->reset,
                    "Remove all earlier settings of the crawl id before setting those given here");
  command->callback([options, &action] {
    action = [options](Session& session) { return SetCrawl(session, *options); };
  });
}

// --- Hosts

struct HostSearch {
  std::string prefix;
  std::string contains;
};

ExitCode ListHosts(Session& session, const HostSearch& search) {
  v1::ListHostsRequest request;
  request.set_prefix(search.prefix);
  request.set_contains(search.contains);
  Table table(session.out(),
              {{"pages", Table::Align::kRight},
               {"in flight", Table::Align::kRight},
               {"min delay", Table::Align::kRight},
               {"host"}},
              session.columns());
  const auto show = [&session, &table](const v1::ListHostsResponse& part) {
    for (const v1::HostState& host : part.hosts()) {
      if (session.json()) {
        session.out() << ToJsonLine(host) << '\n';
        continue;
      }
      table.Add({ShowCount(host.pages()), ShowCount(host.in_flight()),
                 ShowDuration(host.min_delay()),
                 ShowText(host.host()) + (host.deleting() ? " (being deleted)" : "")});
    }
    if (!session.json() && !part.hosts().empty()) table.Flush();
  };
  return AskForPages(session, &Admin::ListHosts, request, show);
}

// Whether a host argument is the URL of a page. The argument then names only that page.
bool NamesPage(std::string_view host) {
  const size_t scheme = host.find("://");
  if (scheme != std::string_view::npos) host.remove_prefix(scheme + 3);
  return host.find_first_of("/?#") != std::string_view::npos;
}

ExitCode DeleteHost(Session& session, const DeleteOptions& options) {
  const std::string& host = options.name;
  if (NamesPage(host)) {
    return session.Fail(absl::InvalidArgumentError(
        fmt::format("HOST: {} is the URL of a page: give the host alone, or remove the page with "
                    "`freshet remove`",
                    ShowName(host))));
  }
  const ExitCode meant =
      Confirm(session, options.yes,
              fmt::format("Remove all pages of host {} in all crawl ids, and its settings",
                          ShowName(host)));
  if (meant != kAccepted) return meant;
  v1::DeleteHostRequest request;
  request.set_host(host);
  v1::DeleteHostResponse response;
  const ExitCode code = Fetch(session, &Admin::DeleteHost, request, &response);
  if (code != kAccepted) return code;
  session.out() << (session.json() ? ToJsonLine(response.host_state())
                                   : fmt::format("{}: being deleted, {} {} left",
                                                 ShowText(response.host_state().host()),
                                                 ShowCounted(response.host_state().pages(), "page"),
                                                 response.host_state().pages() == 1 ? "is" : "are"))
                << '\n';
  return kAccepted;
}

}  // namespace

void AddTenantCommands(CLI::App& app, Action& action) {
  auto* crawls = app.add_subcommand("crawls", "List, show, set, compare or delete crawl ids");
  crawls->require_subcommand(1);
  crawls->add_subcommand("list", "List the crawl ids, with their numbers of pages and crawls")
      ->callback([&action] { action = ListCrawls; });
  AddNamed(*crawls, action, "show", "Show the settings and counters of a crawl id", "CRAWL_ID",
           "The crawl id", ShowOneCrawl);
  AddSetCrawl(*crawls, action);
  AddShadowCommand(*crawls, action);
  AddDelete(*crawls, action, "Remove all pages of a crawl id, and its settings", "CRAWL_ID",
            "The crawl id", DeleteCrawl);

  auto* hosts = app.add_subcommand("hosts", "List, search or delete hosts");
  hosts->require_subcommand(1);
  auto* list = hosts->add_subcommand("list", "List hosts, in no particular order");
  const auto search = std::make_shared<HostSearch>();
  list->add_option("--prefix", search->prefix, "Only hosts whose name starts with this");
  list->add_option("--contains", search->contains, "Only hosts whose name contains this");
  list->callback([search, &action] {
    action = [search](Session& session) { return ListHosts(session, *search); };
  });
  AddDelete(*hosts, action, "Remove all pages of a host in all crawl ids, and its settings", "HOST",
            "Name of the host, without a path", DeleteHost);
}

}  // namespace freshet::cli
