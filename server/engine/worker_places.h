// The places of connected workers and of waiting calls, which clients share.
#ifndef FRESHET_SERVER_ENGINE_WORKER_PLACES_H_
#define FRESHET_SERVER_ENGINE_WORKER_PLACES_H_

#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/base/status.h"

namespace freshet {

// Counts the places. Waiters have at most three quarters of all places, and others have those that
// waiters leave. Each client has a share of both, as of connections (MayTakePlace).
// Thread-compatible.
class WorkerPlaces {
 public:
  // Takes one of `most` places in all. ResourceExhausted: none is left for this client.
  [[nodiscard]] Status Take(const std::string& client, bool waiter, bool admin, size_t most);
  // Precondition: Take returned OK for these.
  void GiveBack(const std::string& client, bool waiter);

 private:
  struct Held {
    size_t waiters = 0;
    size_t others = 0;
  };
  [[nodiscard]] Status Check(const Held& own, bool waiter, bool admin, size_t most) const;

  Held all_;
  absl::flat_hash_map<std::string, Held> of_client_;  // never empty ones
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_WORKER_PLACES_H_
