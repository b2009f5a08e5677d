// What freshet-sim what-if reads from a file and prints.
#ifndef FRESHET_TOOLS_SIM_WHAT_IF_OUTPUT_H_
#define FRESHET_TOOLS_SIM_WHAT_IF_OUTPUT_H_

#include <istream>
#include <string>

#include "core/base/status.h"
#include "tools/sim/what_if.h"

namespace freshet {

// The table that `freshet-sim plan` takes, change_rate in changes a day; `complete`, without which
// no page has complete signals, is the same as a recall of 1. Further columns, each as one likes:
//   low, high               the 95% interval of change_rate; both or none; high may be inf
//   recall                  share of changes that are signalled, 0 .. 1
//   false_rate, precision   false signals a day, or the share of signals that are true, above 0 if
//                           recall is; not both
// InvalidArgument that names the row.
[[nodiscard]] Status ReadWhatIfPages(std::istream& input, PageSample* sample);

// Markdown tables and sentences.
[[nodiscard]] std::string WhatIfTable(const WhatIfAnswer& answer);
[[nodiscard]] std::string WhatIfJson(const WhatIfAnswer& answer);
// Freshness over the crawl rate, with and without signals.
[[nodiscard]] std::string WhatIfSvg(const WhatIfAnswer& answer);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_WHAT_IF_OUTPUT_H_
