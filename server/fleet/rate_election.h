// The election of the leader: the server that splits the crawl rate of a fleet.
#ifndef FRESHET_SERVER_FLEET_RATE_ELECTION_H_
#define FRESHET_SERVER_FLEET_RATE_ELECTION_H_

#include <cstdint>
#include <optional>

#include "core/base/status.h"

namespace freshet {

// This server's part in the election. Thread-safe.
class RateElection {
 public:
  RateElection() = default;
  virtual ~RateElection() = default;  // leaves the election
  RateElection(const RateElection&) = delete;
  RateElection& operator=(const RateElection&) = delete;

  // See RateLeadership::Leads.
  [[nodiscard]] virtual std::optional<uint64_t> leads() const = 0;
  // The division whose server leads, or led last; nullopt = none yet. Unavailable: the answer
  // cannot be obtained now.
  [[nodiscard]] virtual StatusOr<std::optional<uint32_t>> Leader() = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_RATE_ELECTION_H_
