// The statuses of calls that a busy or stopping server refuses.
#ifndef FRESHET_SERVER_BASE_REFUSALS_H_
#define FRESHET_SERVER_BASE_REFUSALS_H_

#include "core/base/status.h"

namespace freshet {

[[nodiscard]] inline Status ServerIsStopping() {
  return MakeStatus(absl::StatusCode::kUnavailable, "the server is shutting down");
}

[[nodiscard]] inline Status ServerIsOverloaded() {
  return MakeStatus(absl::StatusCode::kResourceExhausted, "the server is overloaded: try again");
}

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_REFUSALS_H_
