// sitemap: polls sitemaps and feeds of sites, once or repeatedly.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "freshet/version.h"
#include "tools/cli/commands.h"
#include "tools/cli/json.h"
#include "tools/cli/parse.h"
#include "tools/cli/sitemap_sender.h"
#include "tools/cli/table.h"
#include "tools/cli/url_argument.h"
#include "tools/sitemap/polls.h"

namespace freshet::cli {
namespace {

using sitemap::DocumentReport;
using sitemap::PollState;

struct SitemapOptions {
  std::vector<std::string> arguments;
  NewsOptions news;
  std::string state;
  std::string user_agent = "freshet/" FRESHET_VERSION;
  std::string ca_file;
  // Both are durations in the form that ParseDuration reads.
  std::string fetch_timeout;
  std::string site_timeout;
  std::string every;
  std::string min_interval;
  std::string max_interval;
  uint64_t site_pages = sitemap::PollerOptions().site_pages;
  size_t sites_at_once = sitemap::PollsOptions().at_once;
  bool watch = false;
  bool robots = false;
  bool other_hosts = false;
  bool dry_run = false;
};

Instant Now() {
  return Instant::FromMicros(std::chrono::duration_cast<std::chrono::microseconds>(
                                 std::chrono::system_clock::now().time_since_epoch())
                                 .count());
}

// Defers SIGINT and SIGTERM for the rest of the process, so that the work in progress is completed.
// Thread-compatible.
class StopSignals {
 public:
  // Must be called before other threads start, because they inherit the deferred signals.
  StopSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    // Nobody reads from the descriptor, so it stays readable after a signal.
    descriptor_ = signalfd(-1, &signals, SFD_CLOEXEC);
  }
  ~StopSignals() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Whether a signal has arrived. Thread-safe.
  [[nodiscard]] static bool Came() {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
  }
  // A descriptor that becomes readable when a signal arrives, and stays so.
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

// Waits until one of two descriptors is readable, or until `time` has passed. -1 = there is no
// first descriptor. Returns true if the first descriptor is readable.
bool WaitFor(int stop, int other, Duration time) {
  constexpr int64_t kLongest = 86'400'000;  // milliseconds; longer waits take several calls
  const int64_t millis = time.micros() / 1000 + (time.micros() % 1000 > 0 ? 1 : 0);
  pollfd events[] = {{stop, POLLIN, 0}, {other, POLLIN, 0}};
  const int found = poll(events, 2, static_cast<int>(std::clamp<int64_t>(millis, 0, kLongest)));
  return found > 0 && events[0].revents != 0;
}

absl::Status TakeDuration(const char* option, const std::string& text, Duration* duration) {
  if (text.empty()) return absl::OkStatus();
  const auto parsed = ParseDuration(text);
  if (!parsed.ok()) return Named(option, parsed.status());
  *duration = Duration::Micros(parsed->seconds() * 1'000'000 + parsed->nanos() / 1000);
  if (*duration >= Duration::Seconds(1)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: '{}' is not a duration of at least 1 second", option, text));
}

absl::Status FillOptions(const SitemapOptions& options, sitemap::PollsOptions* polls) {
  sitemap::PollerOptions* const poller = &polls->poller;
  poller->fetch.user_agent = options.user_agent;
  poller->fetch.ca_file = options.ca_file;
  poller->robots = options.robots;
  poller->other_hosts = options.other_hosts;
  poller->site_pages = options.site_pages;
  poller->dry_run = options.dry_run;
  polls->watch = options.watch || !options.every.empty();
  polls->at_once = options.sites_at_once;
  poller->only_due = polls->watch;
  sitemap::IntervalRule& rule = poller->intervals;
  absl::Status status =
      TakeDuration("--fetch-timeout", options.fetch_timeout, &poller->fetch.timeout);
  if (status.ok()) {
    status = TakeDuration("--site-timeout", options.site_timeout, &poller->site_timeout);
  }
  if (status.ok()) status = TakeDuration("--every", options.every, &rule.first);
  if (options.min_interval.empty()) rule.least = std::min(rule.least, rule.first);
  if (options.max_interval.empty()) rule.most = std::max(rule.most, rule.first);
  if (status.ok()) status = TakeDuration("--min-interval", options.min_interval, &rule.least);
  if (status.ok()) status = TakeDuration("--max-interval", options.max_interval, &rule.most);
  if (status.ok() && rule.least > rule.most) {
    status = absl::InvalidArgumentError("--min-interval is longer than --max-interval");
  }
  const bool input = std::count(options.arguments.begin(), options.arguments.end(), "-") > 0;
  if (status.ok() && poller->only_due && input) {
    status = absl::InvalidArgumentError("standard input cannot be watched");
  }
  return status;
}

// A missing file is a mistake in the command line.
absl::Status CheckDocuments(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::error_code error;
    if (arguments[i] == "-" || LooksLikeUrl(arguments[i])) continue;
    if (std::filesystem::exists(arguments[i], error) || error) continue;
    return absl::InvalidArgumentError(
        fmt::format("argument {}: {}", i + 1, NeitherUrlNorFile(arguments[i])));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> StatePath(const SitemapOptions& options) {
  if (!options.state.empty()) return options.state;
  if (options.news.source.find('/') != std::string::npos || options.news.source.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("--source: '{}' is not a name of a source", options.news.source));
  }
  const std::string name = fmt::format("/freshet/sitemap-{}.db", options.news.source);
  const char* folder = std::getenv("XDG_STATE_HOME");
  if (folder != nullptr && *folder == '/') return folder + name;
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return std::string(home) + "/.local/state" + name;
  return absl::InvalidArgumentError("--state: is missing, and there is no default without HOME");
}

std::string_view NameOf(DocumentReport::Result result) {
  switch (result) {
    case DocumentReport::Result::kRead:
      return "read";
    case DocumentReport::Result::kUnchanged:
      return "unchanged";
    case DocumentReport::Result::kFailed:
      break;
  }
  return "failed";
}

void PrintJson(const Session& session, const DocumentReport& report) {
  nlohmann::ordered_json object = {
      {"document", report.document}, {"kind", report.kind}, {"result", NameOf(report.result)}};
  if (!report.why.empty()) object["error"] = report.why;
  object["entries"] = report.entries;
  object["new_pages"] = report.new_pages;
  object["signals"] = report.signals;
  object["refused"] = report.refused;
  object["undated"] = report.undated;
  object["unreadable_dates"] = report.unreadable;
  object["future_dates"] = report.future;
  object["other_hosts"] = report.other_hosts;
  object["bad_urls"] = report.bad_urls;
  object["without_url"] = report.without_url;
  if (!report.left_out.empty()) object["left_out"] = report.left_out;
  object["mended"] = report.mended;
  session.out() << JsonText(object) << std::endl;
}

std::string Counted(uint64_t count, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", ShowCount(count), count == 1 ? one : more);
}

void PrintLine(const Session& session, const DocumentReport& report) {
  std::string text = ShowName(report.document) + ": ";
  if (report.result == DocumentReport::Result::kUnchanged) {
    session.out() << text << "unchanged" << std::endl;
    return;
  }
  const bool names_pages = report.kind != "index" && report.kind != "robots";
  text += report.kind + ", ";
  if (names_pages) {
    text += fmt::format("{}: {}, {}", Counted(report.entries, "entry", "entries"),
                        Counted(report.new_pages, "new page", "new pages"),
                        Counted(report.signals, "signal", "signals"));
  } else {
    text += Counted(report.entries, "sitemap", "sitemaps");
  }
  const auto add = [&text](uint64_t count, std::string_view what) {
    if (count > 0) text += fmt::format(", {} {}", ShowCount(count), what);
  };
  add(report.refused, "refused");
  add(report.undated, "without a date");
  add(report.unreadable, "with a date that cannot be read");
  add(report.future, "with a date in the future");
  add(report.other_hosts, "of other hosts left out");
  add(report.bad_urls, "with a URL that cannot be used left out");
  add(report.without_url, "without a URL left out");
  add(report.mended, report.mended == 1 ? "fault mended" : "faults mended");
  session.out() << text << std::endl;
}

// Prints the reports of the run, and determines its exit code. Thread-compatible.
class Reports {
 public:
  explicit Reports(const Session& session) : session_(session) {}

  void Take(const DocumentReport& report) {
    if (report.result == DocumentReport::Result::kFailed || report.refused > 0 ||
        report.Useless()) {
      code_ = kRefused;
    }
    if (!report.untold) {
      for (const std::string& one : report.Complaints()) {
        session_.Complain(fmt::format("{}: {}", ShowName(report.document), one));
      }
    }
    if (session_.json()) {
      PrintJson(session_, report);
    } else if (report.result != DocumentReport::Result::kFailed && !report.unlisted) {
      PrintLine(session_, report);
    }
  }
  // Prints the counts of documents and lines that a poll of this argument did not print.
  void TakeUntold(const std::string& argument, const sitemap::PollTally& tally) const {
    const std::string name = ShowName(argument);
    if (tally.unlisted > 0 && !session_.json()) {
      session_.out() << fmt::format("{}: {}: {}, {}", name,
                                    Counted(tally.unlisted, "more document", "more documents"),
                                    Counted(tally.new_pages, "new page", "new pages"),
                                    Counted(tally.signals, "signal", "signals"))
                     << std::endl;
    }
    if (tally.untold > 0) {
      session_.Complain(fmt::format("{}: {} about this site's documents left out", name,
                                    Counted(tally.untold, "more line", "more lines")));
    }
  }
  [[nodiscard]] ExitCode code() const { return code_; }

 private:
  const Session& session_;
  ExitCode code_ = kAccepted;
};

ExitCode Sitemap(Session& session, const SitemapOptions& options) {
  sitemap::PollsOptions polling;
  absl::Status status = FillOptions(options, &polling);
  // A missing file is an error only if documents are not watched, because otherwise it can appear
  // later.
  if (status.ok() && !polling.watch) status = CheckDocuments(options.arguments);
  if (!status.ok()) return session.Fail(status);
  const absl::StatusOr<std::string> path = StatePath(options);
  if (!path.ok()) return session.Fail(path.status());
  std::unique_ptr<StopSignals> stop;
  if (polling.watch) {
    stop = std::make_unique<StopSignals>();
    polling.poller.fetch.cancelled = StopSignals::Came;
  }
  // A dry run can read a state file that another process uses.
  const auto state = options.dry_run ? PollState::OpenCopy(*path, options.news.crawl_id)
                                     : PollState::Open(*path, options.news.crawl_id);
  if (!state.ok()) {
    session.Complain(std::string(state.status().message()));
    return kBadUsage;
  }
  if (!options.dry_run) {
    status = session.Connect();
    if (!status.ok()) return session.Fail(status);
  }
  const auto make_sender = [&](uint64_t signals) -> std::unique_ptr<sitemap::Sender> {
    if (options.dry_run) return std::make_unique<NewsPrinter>(session, options.news);
    return std::make_unique<NewsSender>(session, options.news, signals);
  };
  Reports reports(session);
  polling.poller.untold = [&reports](const std::string& argument, const sitemap::PollTally& tally) {
    reports.TakeUntold(argument, tally);
  };
  const int stopped = stop ? stop->descriptor() : -1;
  status = sitemap::RunPolls(
      polling, options.arguments, session.input(), **state, make_sender, Now,
      [&reports](const DocumentReport& report) { reports.Take(report); },
      [stopped](Duration time, int other) { return WaitFor(stopped, other, time); });
  if (status.ok()) return reports.code();
  if (stop && absl::IsCancelled(status)) return kAccepted;
  // The report of the document has already said that the server does not answer.
  if (!absl::IsUnavailable(status)) session.Complain(std::string(status.message()));
  return absl::IsUnavailable(status) ? kUnreachable : kRefused;
}

void AddFetchOptions(CLI::App& command, SitemapOptions& options) {
  command.add_flag("--robots", options.robots,
                   "For each URL read the sitemaps named in the robots.txt of its site, as for a "
                   "URL without a path");
  command.add_flag("--other-hosts", options.other_hosts,
                   "Also accept pages and sitemaps of hosts other than the document's own");
  command
      .add_option(
          "--ca", options.ca_file,
          "CA certificates (PEM) to check the certificates of sites with, instead of the system's")
      ->check(CLI::ExistingFile);
  command.add_option("--user-agent", options.user_agent, "User-Agent header of the requests")
      ->capture_default_str();
  command.add_option("--fetch-timeout", options.fetch_timeout,
                     "Time limit for fetching one document (default 60s)");
  command.add_option("--site-timeout", options.site_timeout,
                     "Time limit for one poll of a site, all its documents together (default 1h)");
  command
      .add_option(
          "--site-pages", options.site_pages,
          "Maximum number of new pages and signals in one poll of a site, all its documents "
          "together; a URL longer than 256 bytes counts as several pages")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  command
      .add_option("--sites-at-once", options.sites_at_once,
                  "Maximum number of sites that are polled at the same time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
}

void AddWatchOptions(CLI::App& command, SitemapOptions& options) {
  auto* watch = command.add_flag(
      "--watch", options.watch,
      "Keep running and poll again; documents that change often are polled more often than others");
  auto* every = command.add_option(
      "--every", options.every,
      "Keep running like --watch; this sets the first interval between polls (default 1h)");
  command.add_option("--min-interval", options.min_interval,
                     "Shortest time between polls (default 5m)");
  command.add_option("--max-interval", options.max_interval,
                     "Longest time between polls (default 1d)");
  command
      .add_flag("--dry-run", options.dry_run,
                "Print what the command would send; send and remember nothing")
      ->excludes(watch)
      ->excludes(every);
}

}  // namespace

void AddSitemapCommand(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "sitemap", "Poll sitemaps and feeds: new URLs become pages, newer dates become signals");
  const auto options = std::make_shared<SitemapOptions>();
  command
      ->add_option("DOCUMENTS", options->arguments,
                   "URLs or files (- is standard input) of sitemaps, sitemap indexes, RSS or Atom "
                   "feeds, or lists of URLs, plain or gzip. A URL without a path means a site: the "
                   "command reads the sitemaps that its robots.txt names")
      ->required();
  command->add_option("--source", options->news.source, "Source of the signals")
      ->capture_default_str();
  command->add_option("--crawl-id", options->news.crawl_id,
                      "Crawl id (namespace) of the pages; default: DEFAULT");
  command->add_option("--state", options->state,
                      "File in which the command remembers what it sent (default: "
                      "freshet/sitemap-SOURCE.db in $XDG_STATE_HOME or ~/.local/state)");
  command->add_flag("--priority", options->news.priority,
                    "Set the importance of a new page to twice its priority in the sitemap");
  AddFetchOptions(*command, *options);
  AddWatchOptions(*command, *options);
  command->callback([options, &action] {
    action = [options](Session& session) { return Sitemap(session, *options); };
  });
}

}  // namespace freshet::cli
