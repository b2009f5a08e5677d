// What is said to those whom a server that stops leaves without an answer.
#ifndef FRESHET_SERVER_BASE_STOPPING_H_
#define FRESHET_SERVER_BASE_STOPPING_H_

#include "core/base/status.h"

namespace freshet {

[[nodiscard]] inline Status ServerIsStopping() {
  return MakeStatus(absl::StatusCode::kUnavailable, "the server is shutting down");
}

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_STOPPING_H_
