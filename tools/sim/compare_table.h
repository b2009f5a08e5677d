// What freshet-sim compare prints.
#ifndef FRESHET_TOOLS_SIM_COMPARE_TABLE_H_
#define FRESHET_TOOLS_SIM_COMPARE_TABLE_H_

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tools/sim/compare.h"

namespace freshet {

enum class TableFormat : uint8_t { kMarkdown, kTsv, kJson };

// markdown, tsv or json; InvalidArgument for any other text.
[[nodiscard]] StatusOr<TableFormat> ParseTableFormat(const std::string& name);

// The ratios of some rows together. Value type, thread-compatible.
struct RatioSummary {
  size_t rows = 0;  // that have a ratio; without any the numbers mean nothing
  double geometric_mean = 1;
  double worst = 0;
  std::string worst_row;
};
// Of rows of worlds or of histories: against the best simple rule, or against hindsight.
enum class RatioKind : uint8_t { kBest, kHindsight };
[[nodiscard]] RatioSummary Summarise(const std::vector<ComparedRow>& rows, bool worlds,
                                     RatioKind kind, const std::string& subject);

// Markdown: a line a row, each policy's weighted staleness with its standard error where there are
// several seeds, the best simple rule in italics, the subject in bold; then the summaries. TSV: a
// line a row and policy. JSON: all of it.
[[nodiscard]] std::string FormatTable(const std::vector<ComparedRow>& rows,
                                      const CompareOptions& options, TableFormat format);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_COMPARE_TABLE_H_
