// The part of /status.json that says how well the server does: freshness, lateness, sources, hosts,
// the index, queues, epochs.
#ifndef FRESHET_SERVER_OPS_FIGURES_JSON_H_
#define FRESHET_SERVER_OPS_FIGURES_JSON_H_

#include "nlohmann/json_fwd.hpp"
#include "server/api/status.h"

namespace freshet {

// Adds its members to the object; what cannot be said is null.
void AddFigures(const ServerStatus& status, nlohmann::json* out);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_FIGURES_JSON_H_
