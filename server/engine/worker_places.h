// Limits the numbers of connected workers, of waiting calls, and of different sets of crawl ids
// that workers take, and divides them among clients.
#ifndef FRESHET_SERVER_ENGINE_WORKER_PLACES_H_
#define FRESHET_SERVER_ENGINE_WORKER_PLACES_H_

#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/base/status.h"
#include "core/schedule/crawl_terms.h"
#include "server/engine/assignment_sink.h"

namespace freshet {

// Counts the places that are taken. Waiting calls can take at most three quarters of all places.
// Workers on streams can take all places that waiting calls do not use. Each client has a share of
// both kinds, by the same rule as for connections (MayTakePlace).
//
// The cost of choosing a worker for a page grows with the number of different sets of classes that
// workers take (turn_queue.h), so clients share limits::kMaxWorkerSets sets (core/base/shares.h). A
// set counts once for each client whose workers take it. The set of all classes does not count.
// Thread-compatible.
class WorkerPlaces {
 public:
  // Takes a place for a worker; `most`: the number of all places. ResourceExhausted: no place is
  // left for this client, or none for its set of classes.
  [[nodiscard]] Status Take(const WorkerTerms& terms, size_t most);
  // Frees a place. Precondition: Take has returned OK for these terms.
  void GiveBack(const WorkerTerms& terms);

 private:
  struct Held {
    size_t waiters = 0;
    size_t others = 0;
  };
  struct Client {
    Held held;
    absl::flat_hash_map<ClassSet, size_t> sets;  // the number of workers that take each set
  };
  [[nodiscard]] Status Check(const Held& own, const WorkerTerms& terms, size_t most) const;
  [[nodiscard]] Status CheckSet(const Client& client, const WorkerTerms& terms) const;

  Held all_;
  size_t sets_ = 0;                                     // of all clients
  absl::flat_hash_map<std::string, Client> of_client_;  // only clients with a place
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_WORKER_PLACES_H_
