// Divides the slots of all hosts in a fleet into equal ranges, called divisions. Each division has
// a server, a log and a crawl rate.
#ifndef FRESHET_CORE_FLEET_SLOT_DIVISION_H_
#define FRESHET_CORE_FLEET_SLOT_DIVISION_H_

#include <cstdint>

#include "core/base/id_limits.h"
#include "core/base/units.h"

namespace freshet {

// A division, and the number of divisions. The default is a single division that has all slots.
// Value type, thread-compatible.
struct SlotDivision {
  uint32_t divisions = 1;  // 1..kSlots
  uint32_t division = 0;   // below `divisions`

  // The division that has the slot.
  [[nodiscard]] constexpr uint32_t Of(Slot slot) const {
    return slot.value() * divisions / limits::kSlots;
  }
  [[nodiscard]] constexpr bool Has(Slot slot) const { return Of(slot) == division; }

  // The division whose server keeps the things that a fleet has only once: the crawl rate, the
  // settings and the crawl frontier.
  static constexpr uint32_t kKeeper = 0;
  [[nodiscard]] constexpr bool keeps() const { return division == kKeeper; }

  bool operator==(const SlotDivision&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_SLOT_DIVISION_H_
