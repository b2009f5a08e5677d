// The input file and the output of freshet-sim what-if.
#ifndef FRESHET_LAB_SIM_WHAT_IF_OUTPUT_H_
#define FRESHET_LAB_SIM_WHAT_IF_OUTPUT_H_

#include <istream>
#include <string>

#include "core/base/status.h"
#include "lab/sim/what_if.h"

namespace freshet {

// Reads the table of `freshet-sim plan`, with change_rate in changes a day. `complete` equals a
// recall of 1; without the column no page has complete signals. Further optional columns:
//   low, high               the 95% interval of change_rate; both or none; high may be inf
//   recall                  share of changes that are signalled, 0 .. 1
//   false_rate, precision   false signals a day, or the share of signals that are true, above 0 if
//                           recall is; not both
// InvalidArgument names the row.
[[nodiscard]] Status ReadWhatIfPages(std::istream& input, PageSample* sample);

// Formats the answer as Markdown tables and sentences.
[[nodiscard]] std::string WhatIfTable(const WhatIfAnswer& answer);
[[nodiscard]] std::string WhatIfJson(const WhatIfAnswer& answer);
// Draws freshness over the crawl rate, with and without signals.
[[nodiscard]] std::string WhatIfSvg(const WhatIfAnswer& answer);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_WHAT_IF_OUTPUT_H_
