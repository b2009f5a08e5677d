#include "lab/what_if/what_if_command.h"

#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>

#include "fmt/format.h"
#include "lab/sim/commands.h"
#include "lab/sim/progress_clock.h"
#include "lab/sim/what_if.h"
#include "lab/sim/what_if_output.h"
#include "lab/sim/write_file.h"
#include "lab/what_if/server_pages.h"
#include "tools/cli/session.h"

namespace freshet {
namespace {

struct WhatIfFlags {
  std::string pages;
  std::string server;
  ClientSecurity security;
  uint64_t limit = 1'000'000;
  size_t sample = 2000;
  WhatIfOptions options;
  std::string plot;
  bool json = false;
  bool quiet = false;
};

Status CheckFlags(const WhatIfFlags& flags) {
  if (flags.pages.empty() == flags.server.empty()) {
    return InvalidArgument("give either --pages or --server");
  }
  if (!flags.pages.empty() && flags.options.crawls_per_day == 0) {
    return InvalidArgument("--crawls-per-day: is missing; a file has no crawl rate of its own");
  }
  if (flags.sample < 1) return InvalidArgument("--sample: '0' is not a whole number above 0");
  if (flags.limit < 1) return InvalidArgument("--limit: '0' is not a whole number above 0");
  return {};
}

// Fills the sample, and the options that no flag sets.
Status ReadPages(const WhatIfFlags& flags, WhatIfOptions* options, PageSample* sample) {
  if (!flags.pages.empty()) {
    RETURN_IF_ERROR(WithInput(flags.pages,
                              [&](std::istream& input) { return ReadWhatIfPages(input, sample); }));
    options->all_pages = sample->seen();
    return {};
  }
  cli::Settings settings;
  settings.server = flags.server;
  settings.security = flags.security;
  cli::Session session(settings, {.input = STDIN_FILENO,
                                  .out = &std::cout,
                                  .err = &std::cerr,
                                  .terminal = isatty(STDERR_FILENO) == 1});
  ASSIGN_OR_RETURN(const ServerPages pages, ReadServerPages(session, flags.limit, sample));
  options->all_pages = pages.all_pages;
  if (options->crawls_per_day == 0) options->crawls_per_day = pages.crawls_per_day;
  if (options->crawls_per_day == 0) {
    return InvalidArgument(
        "--crawls-per-day: is missing: it is needed because the crawl rate of the server is 0");
  }
  return {};
}

Status RunWhatIf(const WhatIfFlags& flags) {
  RETURN_IF_ERROR(CheckFlags(flags));
  WhatIfOptions options = flags.options;
  PageSample sample(flags.sample, options.seed);
  RETURN_IF_ERROR(ReadPages(flags, &options, &sample));
  if (sample.seen() == 0) return InvalidArgument("the input has no pages");
  ProgressClock clock;
  const auto progress = [&](double share) {
    if (flags.quiet) return;
    const auto left = clock.TimeLeftIfDue(share);
    if (left) std::cerr << fmt::format("{:.0f}% computed, {}\n", 100 * share, *left);
  };
  ASSIGN_OR_RETURN(const WhatIfAnswer answer, AskWhatIf(sample.items(), options, progress));
  // Prints the answer before it draws the plot, so that minutes of computing are not lost if the
  // file of the plot cannot be written.
  std::cout << (flags.json ? WhatIfJson(answer) : WhatIfTable(answer));
  if (flags.plot.empty()) return {};
  return WriteFile(flags.plot, WhatIfSvg(answer));
}

}  // namespace

void AddWhatIfCommand(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "what-if", "Predict freshness at other crawl rates, policies and signal quality");
  auto flags = std::make_shared<WhatIfFlags>();
  WhatIfOptions& options = flags->options;
  command->add_option("--pages", flags->pages,
                      "Table of pages, in the format of the plan command, with columns for "
                      "intervals and signals if you know them; - is standard input");
  command->add_option("--server", flags->server, "Address of a running server, host:port");
  AddSecurityOptions(*command, flags->security);
  command->add_option(
      "--crawls-per-day", options.crawls_per_day,
      "Crawls a day for all pages together (default: the crawl rate of the server)");
  command
      ->add_option("--factors", options.factors,
                   "Crawl rates to compute, as multiples of --crawls-per-day")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--starve-days", options.starve_days,
                   "Count a page as starving if its crawls are further apart than this many days")
      ->capture_default_str();
  command
      ->add_option("--sample", flags->sample,
                   "Maximum number of pages to compute with; the command picks them at random")
      ->capture_default_str();
  command->add_option("--limit", flags->limit, "Maximum number of pages to read from a server")
      ->capture_default_str();
  command
      ->add_option(
          "--draws", options.draws,
          "How many times all change rates are drawn at random, for the confidence intervals")
      ->capture_default_str();
  command->add_option("--seed", options.seed, "Random seed of the draws and of the sample")
      ->capture_default_str();
  command->add_option("--threads", options.threads, "Number of threads; 0 for one per core")
      ->capture_default_str();
  command->add_option("--plot", flags->plot, "SVG file for a plot of freshness against crawl rate");
  command->add_flag("--json", flags->json, "Print JSON");
  command->add_flag("--quiet", flags->quiet, "Print no progress on standard error");
  command->callback([&action, flags] { action = [flags] { return RunWhatIf(*flags); }; });
}

}  // namespace freshet
