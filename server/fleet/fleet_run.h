// Numbers the runs of all servers of a fleet.
#ifndef FRESHET_SERVER_FLEET_FLEET_RUN_H_
#define FRESHET_SERVER_FLEET_FLEET_RUN_H_

#include <cstdint>

#include "core/fleet/slot_division.h"

namespace freshet {

// Returns a number that identifies one run of a division's server in the whole fleet. `generation`:
// the generation that the division's store got when this run opened it. Later runs of a division
// have higher numbers. Precondition: `generation` is below 2^40.
[[nodiscard]] inline uint64_t FleetRunOf(const SlotDivision& division, uint64_t generation) {
  constexpr int kGenerationBits = 40;
  return uint64_t{division.division} << kGenerationBits | generation;
}

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_FLEET_RUN_H_
