// The output of freshet-sim paper.
#ifndef FRESHET_LAB_PAPER_OUTPUT_H_
#define FRESHET_LAB_PAPER_OUTPUT_H_

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "lab/paper/paper.h"

namespace freshet {

// Returns a Markdown table of means and standard errors, and if there is a reference one of the
// differences from it; for a scatter plot the distance of each series from the diagonal.
[[nodiscard]] std::string PaperTable(const PaperResult& result);
// Returns the whole result, with its seed; infinite numbers are null.
[[nodiscard]] std::string PaperJson(const PaperResult& result, uint64_t seed);
// Returns a header, and a line for each x and series; columns above and above_error are empty
// without a reference. Infinite numbers are inf, with the error nan.
[[nodiscard]] std::string PaperCsv(const PaperResult& result);
// Returns the plot, with error bars of one standard error.
[[nodiscard]] std::string PaperSvg(const PaperResult& result);

// Writes NAME.csv and NAME.svg in `folder`, which is created if missing.
[[nodiscard]] Status WritePaper(const PaperResult& result, const std::string& folder);

}  // namespace freshet

#endif  // FRESHET_LAB_PAPER_OUTPUT_H_
