#include "lab/sim/compare_table.h"

#include <cmath>

#include "core/base/wrong_value.h"
#include "fmt/format.h"
#include "lab/common/rounded.h"
#include "nlohmann/json.hpp"

namespace freshet {
namespace {

// Formats a ratio as a gain or a loss in percent.
std::string PercentText(double ratio) {
  return std::isnan(ratio) ? "" : fmt::format("{:+.1f}%", 100 * (ratio - 1));
}

std::string StalerText(double ratio) {
  return fmt::format("{:.1f}% {} stale", std::abs(100 * (ratio - 1)), ratio < 1 ? "less" : "more");
}

std::string RowName(const ComparedRow& row) {
  if (row.is_world) return row.source;
  return fmt::format("{} at recall {:.4g} and {:.4g} crawls a day per 1,000 pages", row.source,
                     row.recall, row.crawls_per_day_per_1000);
}

std::string Cell(const MeanAndError& value) {
  if (value.error == 0) return fmt::format("{:.5f}", value.mean);
  return fmt::format("{:.5f} ±{:.5f}", value.mean, value.error);
}

std::string Sentence(const std::vector<ComparedRow>& rows, bool worlds, RatioKind kind,
                     const std::string& subject) {
  const RatioSummary summary = Summarise(rows, worlds, kind, subject);
  if (summary.rows == 0) return "";
  const bool best = kind == RatioKind::kBest;
  const char* where = !worlds ? "histories" : best ? "worlds" : "worlds after the warm-up";
  return fmt::format(
      "\nIn {}, {} is {} than {} on average (geometric mean of {} rows). In the worst row, {}, it "
      "is "
      "{}.\n",
      where, subject, StalerText(summary.geometric_mean),
      best ? "the best simple rule" : "hindsight", summary.rows, summary.worst_row,
      StalerText(summary.worst));
}

std::string Markdown(const std::vector<ComparedRow>& rows, const CompareOptions& options) {
  const std::string& subject = options.subject;
  std::string text = "| source | recall | crawls/day/1,000 |";
  std::string rule = "|---|---|---|";
  for (const std::string& policy : options.policies) {
    text += policy == subject ? fmt::format(" **{}** |", policy) : fmt::format(" {} |", policy);
    rule += "---|";
  }
  text += " against the best | against hindsight |\n" + rule + "---|---|\n";
  for (const ComparedRow& row : rows) {
    // The recall of a world is left empty, because each of its pages has a different one.
    text += fmt::format("| {} | {} | {:.4g} |", row.source,
                        row.is_world ? "" : fmt::format("{:.4g}", row.recall),
                        row.crawls_per_day_per_1000);
    const ComparedPolicy* best = row.BestRule(subject);
    for (const std::string& name : options.policies) {
      const ComparedPolicy* policy = row.Find(name);
      const std::string cell = policy == nullptr ? "" : Cell(policy->weighted_staleness);
      const char* mark = policy == nullptr ? ""
                         : name == subject ? "**"
                         : policy == best  ? "_"
                                           : "";
      text += fmt::format(" {0}{1}{0} |", mark, cell);
    }
    text += fmt::format(" {} | {} |\n", PercentText(row.AgainstBest(subject)),
                        PercentText(row.AgainstHindsight(subject)));
  }
  text += Sentence(rows, false, RatioKind::kHindsight, subject);
  text += Sentence(rows, true, RatioKind::kHindsight, subject);
  text += Sentence(rows, false, RatioKind::kBest, subject);
  text += Sentence(rows, true, RatioKind::kBest, subject);
  return text;
}

std::string Tsv(const std::vector<ComparedRow>& rows) {
  std::string text =
      "source\tkind\trecall\tcrawls_per_day_per_1000\tcrawls_per_day\tpolicy\tweighted_staleness\t"
      "weighted_staleness_error\tstaleness\tstaleness_error\tsettled_weighted_staleness\t"
      "settled_weighted_staleness_error\tcrawls\tseconds\n";
  for (const ComparedRow& row : rows) {
    for (const ComparedPolicy& policy : row.policies) {
      text += fmt::format(
          "{}\t{}\t{:.6g}\t{:.6g}\t{:.6g}\t{}\t{:.7f}\t{:.7f}\t{:.7f}\t{:.7f}\t{:.7f}\t{:.7f}\t"
          "{:.0f}\t{:.1f}\n",
          row.source, row.is_world ? "world" : "history", row.recall, row.crawls_per_day_per_1000,
          row.crawls_per_day, policy.policy, policy.weighted_staleness.mean,
          policy.weighted_staleness.error, policy.staleness.mean, policy.staleness.error,
          policy.settled_weighted_staleness.mean, policy.settled_weighted_staleness.error,
          policy.crawls, policy.seconds);
    }
  }
  return text;
}

nlohmann::ordered_json JsonOf(const MeanAndError& value) {
  return {{"mean", Rounded(value.mean, 7)}, {"error", Rounded(value.error, 7)}};
}

nlohmann::ordered_json JsonOf(const RatioSummary& summary) {
  if (summary.rows == 0) return nullptr;
  return {{"rows", summary.rows},
          {"geometric_mean", Rounded(summary.geometric_mean, 5)},
          {"worst", Rounded(summary.worst, 5)},
          {"worst_row", summary.worst_row}};
}

nlohmann::ordered_json JsonOf(const ComparedRow& row, const std::string& subject) {
  nlohmann::ordered_json policies = nlohmann::ordered_json::object();
  for (const ComparedPolicy& policy : row.policies) {
    policies[policy.policy] = {
        {"weighted_staleness", JsonOf(policy.weighted_staleness)},
        {"staleness", JsonOf(policy.staleness)},
        {"settled_weighted_staleness", JsonOf(policy.settled_weighted_staleness)},
        {"crawls", Rounded(policy.crawls, 1)},
        {"seconds", Rounded(policy.seconds, 2)}};
  }
  const ComparedPolicy* best = row.BestRule(subject);
  nlohmann::ordered_json line = {
      {"source", row.source},
      {"kind", row.is_world ? "world" : "history"},
      {"recall", row.is_world ? nlohmann::ordered_json() : nlohmann::ordered_json(row.recall)},
      {"crawls_per_day_per_1000", Significant(row.crawls_per_day_per_1000, 6)},
      {"crawls_per_day", Significant(row.crawls_per_day, 6)},
      {"policies", std::move(policies)}};
  line["best_rule"] =
      best == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(best->policy);
  line["against_best"] = Rounded(row.AgainstBest(subject), 5);
  line["against_hindsight"] = Rounded(row.AgainstHindsight(subject), 5);
  return line;
}

std::string Json(const std::vector<ComparedRow>& rows, const std::string& subject) {
  nlohmann::ordered_json all = {{"subject", subject}, {"rows", nlohmann::ordered_json::array()}};
  for (const ComparedRow& row : rows) all["rows"].push_back(JsonOf(row, subject));
  all["histories_against_hindsight"] =
      JsonOf(Summarise(rows, false, RatioKind::kHindsight, subject));
  all["histories_against_best"] = JsonOf(Summarise(rows, false, RatioKind::kBest, subject));
  all["worlds_against_best"] = JsonOf(Summarise(rows, true, RatioKind::kBest, subject));
  all["worlds_against_hindsight"] = JsonOf(Summarise(rows, true, RatioKind::kHindsight, subject));
  return all.dump(2) + '\n';
}

}  // namespace

StatusOr<TableFormat> ParseTableFormat(const std::string& name) {
  if (name == "markdown") return TableFormat::kMarkdown;
  if (name == "tsv") return TableFormat::kTsv;
  if (name == "json") return TableFormat::kJson;
  return InvalidArgument("--format: {}", WrongChoice(name, {"markdown", "tsv", "json"}));
}

RatioSummary Summarise(const std::vector<ComparedRow>& rows, bool worlds, RatioKind kind,
                       const std::string& subject) {
  RatioSummary summary;
  double logs = 0;
  for (const ComparedRow& row : rows) {
    if (row.is_world != worlds) continue;
    const double ratio =
        kind == RatioKind::kBest ? row.AgainstBest(subject) : row.AgainstHindsight(subject);
    if (std::isnan(ratio)) continue;
    ++summary.rows;
    logs += std::log(ratio);
    if (ratio <= summary.worst) continue;
    summary.worst = ratio;
    summary.worst_row = RowName(row);
  }
  if (summary.rows > 0) summary.geometric_mean = std::exp(logs / static_cast<double>(summary.rows));
  return summary;
}

std::string FormatTable(const std::vector<ComparedRow>& rows, const CompareOptions& options,
                        TableFormat format) {
  switch (format) {
    case TableFormat::kTsv:
      return Tsv(rows);
    case TableFormat::kJson:
      return Json(rows, options.subject);
    case TableFormat::kMarkdown:
      break;
  }
  return Markdown(rows, options);
}

}  // namespace freshet
