// freshet-sim compare: plays every policy on every history and world, and prints one table.
#include <iostream>
#include <memory>
#include <string>

#include "lab/common/wrong_flag.h"
#include "lab/sim/commands.h"
#include "lab/sim/compare.h"
#include "lab/sim/compare_docs.h"
#include "lab/sim/compare_plot.h"
#include "lab/sim/compare_table.h"
#include "lab/sim/worlds.h"

namespace freshet {
namespace {

struct CompareFlags {
  CompareOptions options;
  std::vector<std::string> histories;
  std::string format = "markdown";
  std::string rows;  // a table to read, so that nothing is played
  std::string plot;  // file to write
  // Draws the crawl rates that reach this freshness, in percent; 0 = draws staleness over rates.
  double fresh = 0;
  std::string docs;   // page to update
  std::string block;  // block of `docs` for the table
  bool json = false;
  bool quiet = false;
};

Status ParseHistories(const CompareFlags& flags, CompareOptions* options) {
  for (const std::string& text : flags.histories) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size() ||
        text.find('\t') < equals) {
      return WrongFlag("--history", text, "of the form NAME=FILE");
    }
    options->histories.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return {};
}

// Reads the rows from a file, and adds the policies that they name to the options.
StatusOr<std::vector<ComparedRow>> ReadRows(const std::string& file, CompareOptions* options) {
  std::vector<ComparedRow> rows;
  RETURN_IF_ERROR(WithInput(file, [&](std::istream& input) -> Status {
    ASSIGN_OR_RETURN(RecordedComparison recorded, ReadComparison(input));
    rows = std::move(recorded.rows);
    options->policies = std::move(recorded.policies);
    return {};
  }));
  return rows;
}

// Plays or reads the rows that the flags request.
StatusOr<std::vector<ComparedRow>> MakeRows(const CompareFlags& flags, CompareOptions* options) {
  if (!flags.rows.empty()) {
    if (!flags.histories.empty() || !options->worlds.empty()) {
      return InvalidArgument("--rows: runs no simulation: leave out --history and --world");
    }
    return ReadRows(flags.rows, options);
  }
  RETURN_IF_ERROR(ParseHistories(flags, options));
  if (options->worlds == std::vector<std::string>{"all"}) {
    options->worlds.clear();
    for (const WorldPlan& plan : WorldPlans()) options->worlds.emplace_back(plan.name);
  }
  const auto progress = [&](const std::string& line) {
    if (!flags.quiet) std::cerr << line + "\n";
  };
  return Compare(*options, progress);
}

std::vector<ComparePlot> MakePlots(const CompareFlags& flags, const CompareOptions& options,
                                   const std::vector<ComparedRow>& rows) {
  if (flags.fresh > 0) return NeededPlots(rows, options, 1 - flags.fresh / 100);
  return ComparePlots(rows, options);
}

Status RunCompare(const CompareFlags& flags) {
  CompareOptions options = flags.options;
  ASSIGN_OR_RETURN(const TableFormat format, ParseTableFormat(flags.json ? "json" : flags.format));
  if (flags.docs.empty() != flags.block.empty()) {
    return InvalidArgument("--docs and --block must be given together");
  }
  ASSIGN_OR_RETURN(const std::vector<ComparedRow> rows, MakeRows(flags, &options));
  if (flags.fresh > 0 && flags.plot.empty()) {
    return InvalidArgument("--fresh needs --plot");
  }
  if (!flags.plot.empty()) RETURN_IF_ERROR(WritePlots(MakePlots(flags, options, rows), flags.plot));
  if (!flags.docs.empty()) {
    return ReplaceBlockOfFile(flags.docs, flags.block,
                              FormatTable(rows, options, TableFormat::kMarkdown));
  }
  std::cout << FormatTable(rows, options, format);
  return {};
}

void AddOutputOptions(CLI::App* command, CompareFlags* flags) {
  command->add_option("--format", flags->format, "Output format: markdown, tsv or json")
      ->capture_default_str();
  command->add_flag("--json", flags->json, "Same as --format json");
  command->add_option("--plot", flags->plot,
                      "SVG file for a plot of staleness against crawl rate; with several histories "
                      "or recalls one file for each, whose name ends in that history or recall");
  command
      ->add_option("--fresh", flags->fresh,
                   "With --plot: draw the crawl rate that each policy needs to keep this "
                   "percentage of requests fresh")
      ->check(CLI::Range(0.0, 99.9999));
  command->add_option(
      "--rows", flags->rows,
      "Run no simulation; read the rows from a file saved earlier with --format tsv");
  command->add_option(
      "--docs", flags->docs,
      "Markdown page into which the command writes the table, instead of standard output");
  command->add_option("--block", flags->block,
                      "Name of the block on the --docs page that the table replaces: <!-- "
                      "freshet-sim compare: NAME -->");
  command->add_flag("--quiet", flags->quiet, "Print no progress on standard error");
}

}  // namespace

void AddCompareCommand(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "compare",
      "Simulate several policies on histories and generated worlds, and compare them in a table");
  auto flags = std::make_shared<CompareFlags>();
  CompareOptions& options = flags->options;
  options.policies = {"default", "uniform",    "importance", "pings_first", "nutch_adaptive",
                      "greedy",  "greedy_cis", "hindsight",  "clairvoyant", kBound};
  options.rates = {0.5, 2, 5, 20};
  options.recalls = {1, 0.5, 0.2};
  command->add_option("--history", flags->histories,
                      "File with a history of changes, and the name to print for it, as NAME=FILE; "
                      "you can repeat this flag");
  command->add_option("--world", options.worlds, "Names of generated worlds, or all")
      ->delimiter(',');
  command
      ->add_option("--policies", options.policies,
                   "Policies to simulate, named as for the replay command; bound is a limit that "
                   "no policy can exceed")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--subject", options.subject, "Policy with which the others are compared")
      ->capture_default_str();
  command->add_option("--rates", options.rates, "Crawls a day per 1,000 pages of a history")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option(
          "--recalls", options.recalls,
          "Recalls to simulate: shares (0 to 1) of the changes of a history that signals announce")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--seeds", options.seeds, "Number of runs to average, with seeds 1, 2, ...")
      ->capture_default_str();
  command
      ->add_option(
          "--epoch-days", options.epoch_days,
          "Days between two epochs; each epoch estimates the change rates of all pages anew")
      ->capture_default_str();
  command
      ->add_option("--warm-up-crawls-per-page", options.warm_up_crawls_per_page,
                   "Crawls per page in a generated world before the measurement begins")
      ->capture_default_str();
  command->add_option("--jobs", options.jobs, "Number of threads; 0 for one per core")
      ->capture_default_str();
  command->add_option("--out", options.out,
                      "File that keeps results; the command skips what the file has results of");
  command
      ->add_option("--again", options.again,
                   "Policies to simulate again, even if the --out file has their results")
      ->delimiter(',');
  AddOutputOptions(command, flags.get());
  command->callback([&action, flags] { action = [flags] { return RunCompare(*flags); }; });
}

}  // namespace freshet
