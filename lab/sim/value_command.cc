// freshet-sim value: computes the crawl value of every row of a table.
#include <cmath>
#include <iostream>
#include <memory>
#include <vector>

#include "core/model/crawl_value.h"
#include "lab/methods/multi_source_value.h"
#include "lab/sim/commands.h"
#include "lab/sim/tsv.h"

namespace freshet {
namespace {

// One row: the page, its sources, and its state.
struct Row {
  Policy policy;
  double importance = 0;
  double change_rate = 0;
  double elapsed = 0;
  std::vector<PaperSource> sources;
  std::vector<double> signals;
};

StatusOr<Row> ParseRow(const TsvReader& table) {
  Row row;
  enum Column : size_t {
    kPolicy,
    kImportance,
    kChangeRate,
    kRecall,
    kFalseRate,
    kElapsed,
    kSignals
  };
  const StatusOr<Policy> policy = ParsePolicy(table.Text(kPolicy));
  if (!policy.ok()) return table.RowError(std::string(policy.status().message()));
  row.policy = *policy;
  ASSIGN_OR_RETURN(row.importance, table.NonNegative(kImportance));
  ASSIGN_OR_RETURN(row.change_rate, table.NonNegative(kChangeRate));
  ASSIGN_OR_RETURN(row.elapsed, table.NonNegative(kElapsed));
  ASSIGN_OR_RETURN(const std::vector<double> recalls, table.NonNegativeList(kRecall));
  ASSIGN_OR_RETURN(const std::vector<double> false_rates, table.NonNegativeList(kFalseRate));
  ASSIGN_OR_RETURN(row.signals, table.NonNegativeList(kSignals));
  if (recalls.size() != false_rates.size() || recalls.size() != row.signals.size()) {
    return table.RowError(
        fmt::format("recall, false_signal_rate and signals name {}, {} and {} sources",
                    recalls.size(), false_rates.size(), row.signals.size()));
  }
  for (size_t k = 0; k < recalls.size(); ++k) {
    row.sources.push_back({recalls[k], false_rates[k]});
    if (recalls[k] > 1) {
      return table.RowError(fmt::format("recall: {} is not from 0 to 1", recalls[k]));
    }
    if (row.signals[k] != std::floor(row.signals[k])) {
      return table.RowError(fmt::format("signals: {} is not a whole number", row.signals[k]));
    }
  }
  return row;
}

bool SumsOverSources(Policy policy) {
  return policy.kind == PolicyKind::kGreedyNcis || policy.kind == PolicyKind::kGreedyNcisDelay ||
         policy.kind == PolicyKind::kNcisApprox;
}

StatusOr<double> Value(const Row& row) {
  const MultiSourcePage page = MultiSourceFromPaper(row.importance, row.change_rate, row.sources);
  double staleness = page.unsignalled_rate * row.elapsed;
  bool signalled = false;
  for (size_t k = 0; k < row.signals.size(); ++k) {
    if (row.signals[k] == 0) continue;
    signalled = true;
    staleness += row.signals[k] * page.sources[k].signal_weight;
  }
  if (row.sources.size() > 1 && SumsOverSources(row.policy)) {
    const bool approximate = row.policy.kind == PolicyKind::kNcisApprox;
    return MultiSourceValue(page, staleness, approximate ? row.policy.terms : kAllTerms);
  }
  const PageRates rates = PooledRates(row.change_rate, row.sources);
  return CrawlValue(MakeValueParameters(row.policy, row.importance, rates),
                    PolicyExponent(row.policy, rates, staleness, row.elapsed, signalled));
}

Status PrintValues(std::istream& input) {
  ASSIGN_OR_RETURN(TsvReader table,
                   TsvReader::Open(input, {"policy", "importance", "change_rate", "recall",
                                           "false_signal_rate", "elapsed", "signals"}));
  std::cout << table.header() << "\tvalue\n";
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) return {};
    ASSIGN_OR_RETURN(const Row row, ParseRow(table));
    const StatusOr<double> value = Value(row);
    if (!value.ok()) return table.RowError(std::string(value.status().message()));
    std::cout << table.line() << '\t' << fmt::format("{:.17g}", *value) << '\n';
  }
}

}  // namespace

void AddValueCommand(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "value", "Compute the value of crawling each page of a table (one page per row)");
  auto input = std::make_shared<std::string>("-");
  command
      ->add_option("input", *input,
                   "Table with the columns policy, importance, change_rate, recall, "
                   "false_signal_rate, elapsed and signals, separated by tabs; values of several "
                   "sources are separated by commas; - is standard input")
      ->capture_default_str();
  command->callback(
      [&action, input] { action = [input] { return WithInput(*input, PrintValues); }; });
}

}  // namespace freshet
