// The one model of a fleet, on a server of one division. Before its shards learn, the server asks
// those of the other divisions for what their pages showed (core/estimate/epoch_sums.h).
#ifndef FRESHET_SERVER_FLEET_SHARED_MODEL_H_
#define FRESHET_SERVER_FLEET_SHARED_MODEL_H_

#include <cstdint>
#include <optional>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/estimate/epoch_sums.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/api/context.h"
#include "sync/mutex.h"

namespace freshet {

// Collects the totals of the other divisions. Thread-safe.
class SharedModel {
 public:
  // From now on the shards of `context` learn from all divisions. The context outlives this.
  explicit SharedModel(const ServerContext& context);
  // Waits until no shard learns from others any more.
  ~SharedModel();
  SharedModel(const SharedModel&) = delete;
  SharedModel& operator=(const SharedModel&) = delete;

  // The number of other divisions that have sent their totals in this run.
  [[nodiscard]] uint32_t heard() const FRESHET_EXCLUDES(mutex_);

 private:
  // The totals of the other divisions: asked for now, unless another shard has just done so. A
  // division without an answer within some seconds, or without totals yet, counts with its last
  // ones.
  [[nodiscard]] DivisionTotals Ask() FRESHET_EXCLUDES(mutex_);
  void Take(uint32_t division, const StatusOr<grpc::ByteBuffer>& answer) FRESHET_REQUIRES(mutex_);

  const ServerContext& context_;
  mutable Mutex mutex_;
  std::optional<Instant> asked_ FRESHET_GUARDED_BY(mutex_);
  DivisionTotals totals_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_SHARED_MODEL_H_
