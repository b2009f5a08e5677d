// How a fleet shares the slots of all hosts out: in equal ranges, the divisions, each of which has
// a server, a log and a rate of its own.
#ifndef FRESHET_CORE_FLEET_SLOT_DIVISION_H_
#define FRESHET_CORE_FLEET_SLOT_DIVISION_H_

#include <cstdint>

#include "core/base/id_limits.h"
#include "core/base/units.h"

namespace freshet {

// The slots of one division, and of how many it is one. By default that of a server that has them
// all. Value type, thread-compatible.
struct SlotDivision {
  uint32_t divisions = 1;  // 1..kSlots
  uint32_t division = 0;   // below that

  // The division that has the slot.
  [[nodiscard]] constexpr uint32_t Of(Slot slot) const {
    return slot.value() * divisions / limits::kSlots;
  }
  [[nodiscard]] constexpr bool Has(Slot slot) const { return Of(slot) == division; }

  bool operator==(const SlotDivision&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_SLOT_DIVISION_H_
