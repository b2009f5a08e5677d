// Runs long work and reports its progress.
#ifndef FRESHET_SERVER_BASE_REPORTING_H_
#define FRESHET_SERVER_BASE_REPORTING_H_

#include <functional>
#include <vector>

#include "core/base/units.h"

namespace freshet {

inline constexpr Duration kReportInterval = Duration::Seconds(1);

// Runs each function of `work` on a separate thread, and returns when all have returned. Meanwhile
// calls `report`, which may be unset, on the caller's thread every `interval`. Thread-safe.
void RunReporting(const std::vector<std::function<void()>>& work, Duration interval,
                  const std::function<void()>& report);

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_REPORTING_H_
