// What the store keeps of an epoch. Value type, thread-compatible.
#ifndef FRESHET_CORE_MODEL_EPOCH_H_
#define FRESHET_CORE_MODEL_EPOCH_H_

#include <cstdint>
#include <string>

#include "core/base/units.h"

namespace freshet {

// What the last finished epoch of a shard learned, so that a restart goes on with it. After a
// change of the number of shards it is learned anew; only the number stays.
struct EpochRecord {
  uint16_t shard = 0;
  uint64_t number = 0;
  Instant finished;
  std::string site_model;  // Estimator::SerialiseModel(), opaque to the store; empty: none
  bool operator==(const EpochRecord&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_EPOCH_H_
