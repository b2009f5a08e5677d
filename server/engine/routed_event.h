// An event on its way to the shard that owns its slot.
#ifndef FRESHET_SERVER_ENGINE_ROUTED_EVENT_H_
#define FRESHET_SERVER_ENGINE_ROUTED_EVENT_H_

#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/schedule/event.h"

namespace freshet {

// The event. Value type, thread-compatible.
struct RoutedEvent {
  Slot slot;
  Event event;
  // Notes on values that the server changed on receipt (Reply::notes).
  std::vector<std::string> notes;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_ROUTED_EVENT_H_
