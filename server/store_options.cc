#include "server/store_options.h"

#include "core/base/check.h"
#include "server/config.h"
#include "server/logging.h"

namespace freshet {

StoreOptions StoreOptionsOf(const ServerConfig& config) {
  const StatusOr<Durability> durability = ParseDurability(config.durability);
  CHECK(durability.ok(), "durability '{}' was not validated", config.durability);
  StoreOptions options;
  options.durability = *durability;
  options.log = LogStoreLine;
  options.fingerprint_bits = config.fingerprint_bits;
  return options;
}

}  // namespace freshet
