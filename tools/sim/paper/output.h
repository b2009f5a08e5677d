// What freshet-sim paper prints and writes.
#ifndef FRESHET_TOOLS_SIM_PAPER_OUTPUT_H_
#define FRESHET_TOOLS_SIM_PAPER_OUTPUT_H_

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "tools/sim/paper/paper.h"

namespace freshet {

// A Markdown table of means and standard errors, and one of what the series are above the
// reference, if there is one; of a scatter plot how far each series is from the diagonal.
[[nodiscard]] std::string PaperTable(const PaperResult& result);
// All of it, with the seed that made it; what is infinite is null.
[[nodiscard]] std::string PaperJson(const PaperResult& result, uint64_t seed);
// A header and a line for each x and series; columns above and above_error are empty without a
// reference. What is infinite is inf, and its error nan.
[[nodiscard]] std::string PaperCsv(const PaperResult& result);
// The plot, error bars of one standard error.
[[nodiscard]] std::string PaperSvg(const PaperResult& result);

// NAME.csv and NAME.svg in `folder`, which is made if it is missing.
[[nodiscard]] Status WritePaper(const PaperResult& result, const std::string& folder);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_PAPER_OUTPUT_H_
