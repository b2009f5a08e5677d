// Limits the numbers of connected workers and of waiting calls, and divides them among clients.
#ifndef FRESHET_SERVER_ENGINE_WORKER_PLACES_H_
#define FRESHET_SERVER_ENGINE_WORKER_PLACES_H_

#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/base/status.h"

namespace freshet {

// Counts the places that are taken. Waiting calls can take at most three quarters of all places.
// Workers on streams can take all places that waiting calls do not use. Each client has a share of
// both kinds, by the same rule as for connections (MayTakePlace). Thread-compatible.
class WorkerPlaces {
 public:
  // Takes a place; `most`: the number of all places. ResourceExhausted: no place is left for this
  // client.
  [[nodiscard]] Status Take(const std::string& client, bool waiter, bool admin, size_t most);
  // Gives a place back. Precondition: Take has returned OK for this client and `waiter`.
  void GiveBack(const std::string& client, bool waiter);

 private:
  struct Held {
    size_t waiters = 0;
    size_t others = 0;
  };
  [[nodiscard]] Status Check(const Held& own, bool waiter, bool admin, size_t most) const;

  Held all_;
  absl::flat_hash_map<std::string, Held> of_client_;  // only clients with a place
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_WORKER_PLACES_H_
