// The tables that freshet-sim compare prints.
#ifndef FRESHET_LAB_SIM_COMPARE_TABLE_H_
#define FRESHET_LAB_SIM_COMPARE_TABLE_H_

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "lab/sim/compare.h"

namespace freshet {

enum class TableFormat : uint8_t { kMarkdown, kTsv, kJson };

// Parses markdown, tsv or json. InvalidArgument: the text is something else.
[[nodiscard]] StatusOr<TableFormat> ParseTableFormat(const std::string& name);

// A summary of the ratios in some rows. Value type, thread-compatible.
struct RatioSummary {
  size_t rows = 0;  // rows with a ratio; without rows the numbers mean nothing
  double geometric_mean = 1;
  double worst = 0;
  std::string worst_row;
};
// The ratio to summarise: relative to the best simple rule, or to hindsight.
enum class RatioKind : uint8_t { kBest, kHindsight };
[[nodiscard]] RatioSummary Summarise(const std::vector<ComparedRow>& rows, bool worlds,
                                     RatioKind kind, const std::string& subject);

// Markdown: each row is one line with the weighted staleness of each policy, and its standard error
// if there are several seeds. The best simple rule is in italics, the subject in bold; summaries
// follow. TSV: one line per row and policy. JSON: all figures.
[[nodiscard]] std::string FormatTable(const std::vector<ComparedRow>& rows,
                                      const CompareOptions& options, TableFormat format);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_COMPARE_TABLE_H_
