// The hosts of a shard: the politeness of each, the hosts being deleted, and the number of free
// ones.
#ifndef FRESHET_CORE_SCHEDULE_HOST_BOOK_H_
#define FRESHET_CORE_SCHEDULE_HOST_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/host.h"
#include "core/schedule/host_census.h"
#include "core/schedule/host_gate.h"
#include "core/schedule/host_status.h"
#include "core/schedule/host_use.h"

namespace freshet {

struct HostBackoff;
struct ShardOptions;

// Owner thread only.
struct HostBook {
  // The options must outlive the book.
  explicit HostBook(const ShardOptions& shard_options);

  // The status of the host at `now`. Not OK: NotFound if the host has neither pages nor a rule.
  [[nodiscard]] StatusOr<HostStatus> Describe(const std::string& host, Instant now) const;
  [[nodiscard]] HostStatus Describe(HostId host, Instant now) const;
  // Appends at most `most` matching hosts with ids from `first` on. Scans at most limits::kHostScan
  // hosts. Returns the id to continue with; gate.id_limit() or more = the scan is complete. A host
  // that is added or removed between two calls can be missed. `now`: see HostStatus.
  [[nodiscard]] uint32_t List(const HostQuery& query, uint32_t first, size_t most, Instant now,
                              std::vector<HostStatus>* found) const;
  // Returns the host as stored, and sets `in_flight` to the number of its picks and leases. Not OK:
  // NotFound if the host is not known.
  [[nodiscard]] StatusOr<HostRecord> Find(const std::string& host, uint32_t* in_flight) const;
  [[nodiscard]] const HostBackoff& backoff() const;

  const ShardOptions& options;
  HostGate gate;
  HostUse use;
  HostCensus census;
  absl::flat_hash_set<HostId> deleted;  // hosts being deleted
  uint32_t following = UINT32_MAX;      // hosts from this id on have not yet followed new defaults
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_BOOK_H_
