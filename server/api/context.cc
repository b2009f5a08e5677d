#include "server/api/context.h"

#include "server/config.h"

namespace freshet {

size_t MostBytes(const ServerContext& context) {
  return static_cast<size_t>(context.config.max_message_bytes);
}

}  // namespace freshet
