// The shared model of a fleet, on the server of one division. Before its shards learn, the server
// asks the servers of the other divisions for the statistics of their pages
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

// Collects the totals of the other divisions. Thread-safe.
class SharedModel {
 public:
  // From now on the shards of `context` learn from all divisions. `context` must outlive this
  // object.
  explicit SharedModel(const ServerContext& context);
  // Waits until no shard asks for the totals of other divisions any more.
  ~SharedModel();
  SharedModel(const SharedModel&) = delete;
  SharedModel& operator=(const SharedModel&) = delete;

  // The number of other divisions that have sent their totals in this run.
  [[nodiscard]] uint32_t heard() const FRESHET_EXCLUDES(mutex_);

 private:
  // Returns the totals of the other divisions. Asks these divisions now, unless another shard has
  // just done so. If a division does not answer within some seconds, or has no totals yet, its last
  // known totals are used.
  [[nodiscard]] DivisionTotals Ask() FRESHET_EXCLUDES(mutex_);
  void Take(uint32_t division, const StatusOr<grpc::ByteBuffer>& answer) FRESHET_REQUIRES(mutex_);

  const ServerContext& context_;
  mutable Mutex mutex_;
  std::optional<Instant> asked_ FRESHET_GUARDED_BY(mutex_);
  DivisionTotals totals_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_SHARED_MODEL_H_
