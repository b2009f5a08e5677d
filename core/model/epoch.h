// The record of an epoch in the store. Value type, thread-compatible.
#ifndef FRESHET_CORE_MODEL_EPOCH_H_
#define FRESHET_CORE_MODEL_EPOCH_H_

#include <cstdint>
#include <string>

#include "core/base/units.h"

namespace freshet {

// The models that the last finished epoch of a shard learned. After a restart the server continues
// with them. If the number of shards has changed, only `number` is kept, and the server learns from
// scratch.
struct EpochRecord {
  uint16_t shard = 0;
  uint64_t number = 0;
  Instant finished;
  std::string site_model;  // Estimator::SerialiseModel(), opaque to the store; empty = none
  bool operator==(const EpochRecord&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_EPOCH_H_
