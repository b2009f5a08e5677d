// The output of freshet-sim paper.
#ifndef FRESHET_LAB_PAPER_OUTPUT_H_
#define FRESHET_LAB_PAPER_OUTPUT_H_

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "lab/paper/paper.h"

namespace freshet {

// Returns a Markdown table of means and standard errors. If there is a reference, a second table
// has the differences from it. For a scatter plot, the table has the distance of each series from
// the diagonal.
[[nodiscard]] std::string PaperTable(const PaperResult& result);
// Returns the whole result as JSON, with its seed. Infinite numbers are null.
[[nodiscard]] std::string PaperJson(const PaperResult& result, uint64_t seed);
// Returns CSV: a header, and a line for each x and series. Without a reference, the columns above
// and above_error are empty. An infinite number is inf, and its error is nan.
[[nodiscard]] std::string PaperCsv(const PaperResult& result);
// Returns the plot, with error bars of one standard error.
[[nodiscard]] std::string PaperSvg(const PaperResult& result);

// Writes NAME.csv and NAME.svg into `folder`, which is created if it does not exist.
[[nodiscard]] Status WritePaper(const PaperResult& result, const std::string& folder);

}  // namespace freshet

#endif  // FRESHET_LAB_PAPER_OUTPUT_H_
