#include "lab/sim/compare_docs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>

#include "lab/sim/tsv.h"
#include "lab/sim/write_file.h"

namespace freshet {
namespace {

// Reads a number from the table. NaN = the policy did not settle, or the number was not recorded.
StatusOr<double> RecordedNumber(const TsvReader& table, size_t column) {
  if (table.Text(column) == "nan") return std::numeric_limits<double>::quiet_NaN();
  return table.NonNegative(column);
}

StatusOr<MeanAndError> RecordedMean(const TsvReader& table, size_t column) {
  MeanAndError value;
  ASSIGN_OR_RETURN(value.mean, RecordedNumber(table, column));
  ASSIGN_OR_RETURN(value.error, RecordedNumber(table, column + 1));
  return value;
}

// The columns of TSV tables. They can have any order in the file.
enum Column : size_t {
  kSource,
  kKind,
  kRecall,
  kPer1000,
  kPerDay,
  kPolicy,
  kWeighted,
  kWeightedError,
  kPlain,
  kPlainError,
  kSettled,
  kSettledError,
  kCrawls,
  kSeconds,
};

StatusOr<ComparedRow> RecordedRow(const TsvReader& table) {
  const std::string_view kind = table.Text(kKind);
  if (kind != "world" && kind != "history") {
    return table.RowError("kind: neither world nor history");
  }
  ComparedRow row;
  row.source = table.Text(kSource);
  row.is_world = kind == "world";
  ASSIGN_OR_RETURN(row.recall, table.NonNegative(kRecall));
  ASSIGN_OR_RETURN(row.crawls_per_day_per_1000, table.NonNegative(kPer1000));
  ASSIGN_OR_RETURN(row.crawls_per_day, table.NonNegative(kPerDay));
  return row;
}

StatusOr<ComparedPolicy> RecordedPolicy(const TsvReader& table) {
  ComparedPolicy policy;
  policy.policy = table.Text(kPolicy);
  ASSIGN_OR_RETURN(policy.weighted_staleness, RecordedMean(table, kWeighted));
  ASSIGN_OR_RETURN(policy.staleness, RecordedMean(table, kPlain));
  ASSIGN_OR_RETURN(policy.settled_weighted_staleness, RecordedMean(table, kSettled));
  ASSIGN_OR_RETURN(policy.crawls, RecordedNumber(table, kCrawls));
  ASSIGN_OR_RETURN(policy.seconds, RecordedNumber(table, kSeconds));
  return policy;
}

bool IsSameRow(const ComparedRow& a, const ComparedRow& b) {
  return a.source == b.source && a.is_world == b.is_world && a.recall == b.recall &&
         a.crawls_per_day_per_1000 == b.crawls_per_day_per_1000;
}

}  // namespace

StatusOr<RecordedComparison> ReadComparison(std::istream& input) {
  ASSIGN_OR_RETURN(
      TsvReader table,
      TsvReader::Open(
          input,
          {"source", "kind", "recall", "crawls_per_day_per_1000", "crawls_per_day", "policy",
           "weighted_staleness", "weighted_staleness_error", "staleness", "staleness_error",
           "settled_weighted_staleness", "settled_weighted_staleness_error", "crawls", "seconds"}));
  RecordedComparison all;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) break;
    ASSIGN_OR_RETURN(ComparedRow row, RecordedRow(table));
    ASSIGN_OR_RETURN(ComparedPolicy policy, RecordedPolicy(table));
    if (std::find(all.policies.begin(), all.policies.end(), policy.policy) == all.policies.end()) {
      all.policies.push_back(policy.policy);
    }
    if (all.rows.empty() || !IsSameRow(all.rows.back(), row)) all.rows.push_back(std::move(row));
    all.rows.back().policies.push_back(std::move(policy));
  }
  if (all.rows.empty()) return InvalidArgument("no row of a comparison");
  return all;
}

StatusOr<std::string> ReplaceBlock(const std::string& page, const std::string& name,
                                   const std::string& text) {
  const std::string begin = fmt::format("<!-- freshet-sim compare: {} -->\n", name);
  const std::string end = fmt::format("<!-- end of {} -->\n", name);
  const size_t from = page.find(begin);
  const size_t to = page.find(end);
  if (from == std::string::npos || to == std::string::npos || to < from ||
      page.find(begin, from + 1) != std::string::npos ||
      page.find(end, to + 1) != std::string::npos) {
    return InvalidArgument(
        "{}: the file of --docs must have exactly one block with this name, between the lines '{}' "
        "and '{}'",
        name, begin.substr(0, begin.size() - 1), end.substr(0, end.size() - 1));
  }
  return page.substr(0, from + begin.size()) + text + page.substr(to);
}

Status ReplaceBlockOfFile(const std::string& path, const std::string& name,
                          const std::string& text) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return NotFound("{}: cannot be opened", path);
  std::ostringstream page;
  page << in.rdbuf();
  in.close();
  ASSIGN_OR_RETURN(const std::string replaced, ReplaceBlock(page.str(), name, text));
  // Replaces the file atomically, so that a full disk does not destroy the page.
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  const std::string beside = target.string() + ".new";
  const bool written = WriteFile(beside, replaced).ok();
  if (written && !error) std::filesystem::rename(beside, target, error);
  if (written && !error) return {};
  std::filesystem::remove(beside, error);
  return MakeStatus(absl::StatusCode::kDataLoss, "{}: cannot be written", path);
}

}  // namespace freshet
