// Writes the table of figures in the text format of Prometheus. docs/metrics.md describes each
// figure.
#ifndef FRESHET_SERVER_OPS_METRICS_H_
#define FRESHET_SERVER_OPS_METRICS_H_

#include <string>

#include "server/api/status.h"

namespace freshet {

// Writes the figures. `starting`: writes only figures that exist before the server serves. The
// figures of the process are read again, not taken from `status`. Thread-safe.
[[nodiscard]] std::string RenderMetrics(ServerStatus status, bool starting = false);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_METRICS_H_
