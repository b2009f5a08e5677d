#include "server/api/context.h"

#include "server/config.h"

namespace freshet {

size_t MostBytes(const CallParts& parts) {
  return static_cast<size_t>(parts.config.max_message_bytes);
}

}  // namespace freshet
