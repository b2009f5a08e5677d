// freshet-sim value: the crawl value of every row of a table.
#include <iostream>
#include <memory>

#include "core/model/crawl_value.h"
#include "tools/sim_commands.h"
#include "tools/tsv.h"

namespace freshet {
namespace {

enum Column : size_t { kPolicy, kImportance, kChangeRate, kRecall, kFalseRate, kElapsed, kSignals };

StatusOr<double> RowValue(const TsvReader& table) {
  const StatusOr<Policy> policy = ParsePolicy(table.Text(kPolicy));
  if (!policy.ok()) return table.RowError(std::string(policy.status().message()));
  PaperRates paper;
  ASSIGN_OR_RETURN(paper.importance, table.NonNegative(kImportance));
  ASSIGN_OR_RETURN(paper.change_rate, table.NonNegative(kChangeRate));
  ASSIGN_OR_RETURN(paper.recall, table.NonNegative(kRecall));
  ASSIGN_OR_RETURN(paper.false_signal_rate, table.NonNegative(kFalseRate));
  ASSIGN_OR_RETURN(const double elapsed, table.NonNegative(kElapsed));
  ASSIGN_OR_RETURN(const double signals, table.NonNegative(kSignals));
  if (const Status valid = ValidatePaperRates(paper); !valid.ok()) {
    return table.RowError(std::string(valid.message()));
  }
  const PageRates rates = RatesFromPaper(paper);
  const double jumps = signals == 0 ? 0 : signals * rates.signal_weight;
  const double s = PolicyExponent(*policy, rates, rates.unsignalled_rate * elapsed + jumps, elapsed,
                                  signals > 0);
  return CrawlValue(MakeValueParameters(*policy, paper.importance, rates), s);
}

Status PrintValues(std::istream& input) {
  ASSIGN_OR_RETURN(TsvReader table,
                   TsvReader::Open(input, {"policy", "importance", "change_rate", "recall",
                                           "false_signal_rate", "elapsed", "signals"}));
  std::cout << table.header() << "\tvalue\n";
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) return {};
    ASSIGN_OR_RETURN(const double value, RowValue(table));
    std::cout << table.line() << '\t' << fmt::format("{:.17g}", value) << '\n';
  }
}

}  // namespace

void AddValueCommand(CLI::App& app, SimAction& action) {
  CLI::App* command = app.add_subcommand("value", "Crawl value of every row of a table");
  auto input = std::make_shared<std::string>("-");
  command->add_option("input", *input, "Table to read; - is standard input")->capture_default_str();
  command->callback(
      [&action, input] { action = [input] { return WithInput(*input, PrintValues); }; });
}

}  // namespace freshet
