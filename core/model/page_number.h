// The durable number of a page, and its bit layout. The layout is frozen: every stored key of a
// page starts with the number.
#ifndef FRESHET_CORE_MODEL_PAGE_NUMBER_H_
#define FRESHET_CORE_MODEL_PAGE_NUMBER_H_

#include <cstdint>

#include "core/base/check.h"
#include "core/base/id_limits.h"
#include "core/base/units.h"

namespace freshet {

// The upper 16 bits are the slot of the page's host. The lower 48 bits are a serial number within
// the slot, from 1. Numbers therefore sort by slot.
using PageNumber = StrongId<struct PageNumberTag, uint64_t>;

inline constexpr int kSerialBits = 48;
inline constexpr uint64_t kMaxSerial = (uint64_t{1} << kSerialBits) - 1;
static_assert(limits::kMaxPageIds <= kMaxSerial);
static_assert(limits::kSlots <= 1 << (64 - kSerialBits));

[[nodiscard]] constexpr Slot SlotOf(PageNumber number) {
  return Slot(static_cast<uint16_t>(number.value() >> kSerialBits));
}
[[nodiscard]] constexpr uint64_t SerialOf(PageNumber number) { return number.value() & kMaxSerial; }

// Precondition: slot < limits::kSlots, serial in [1, kMaxSerial].
[[nodiscard]] inline PageNumber MakePageNumber(Slot slot, uint64_t serial) {
  CHECK(slot.value() < limits::kSlots, "slot {}", slot.value());
  CHECK(serial >= 1 && serial <= kMaxSerial, "serial {}", serial);
  return PageNumber(uint64_t{slot.value()} << kSerialBits | serial);
}

// The pages of a slot have the numbers in [FirstNumber(slot), FirstNumber(slot + 1)).
[[nodiscard]] constexpr PageNumber FirstNumber(uint32_t slot) {
  return PageNumber(uint64_t{slot} << kSerialBits);
}

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_PAGE_NUMBER_H_
