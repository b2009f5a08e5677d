// The one model of a fleet, on a server of one of its divisions: before its shards learn, the
// servers of the other divisions are asked for what their pages showed
// (core/estimate/epoch_sums.h).
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

// Thread-safe.
class SharedModel {
 public:
  // From here on the shards of `context` learn from all divisions. It outlives this.
  explicit SharedModel(const ServerContext& context);
  // Waits until nobody learns from others any more.
  ~SharedModel();
  SharedModel(const SharedModel&) = delete;
  SharedModel& operator=(const SharedModel&) = delete;

  // How many other divisions have said in this run what their pages showed.
  [[nodiscard]] uint32_t heard() const FRESHET_EXCLUDES(mutex_);

 private:
  // What they showed when they were asked last, which is now unless another shard has just done so.
  // A division that does not answer within some seconds, or has nothing to tell yet, counts as it
  // did before.
  [[nodiscard]] DivisionTotals Ask() FRESHET_EXCLUDES(mutex_);
  void Take(uint32_t division, const StatusOr<grpc::ByteBuffer>& answer) FRESHET_REQUIRES(mutex_);

  const ServerContext& context_;
  mutable Mutex mutex_;
  std::optional<Instant> asked_ FRESHET_GUARDED_BY(mutex_);
  DivisionTotals totals_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_SHARED_MODEL_H_
