// Open assignments. A lease id is a fencing token: a result that carries one which is no longer
// open may tell something about the page, but changes nothing.
#ifndef FRESHET_CORE_SCHEDULE_LEASES_H_
#define FRESHET_CORE_SCHEDULE_LEASES_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/model/page.h"

namespace freshet {

// Layout of a lease id: generation of the run (20 bits), sequence within it (32 bits), slot (12
// bits). So ids never repeat in the life of a database, and tell which shard owns them.
//
// Generations wrap at this.
inline constexpr uint32_t kLeaseGenerations = 1U << 20;

// Owner thread only.
class Leases {
 public:
  explicit Leases(uint32_t generation) : generation_(generation) {}

  // A new id for a page of `slot`.
  [[nodiscard]] LeaseId NextId(Slot slot);

  // Adds or replaces.
  void Put(const LeaseRecord& lease);
  // Returns whether it was open.
  bool Close(LeaseId id);
  // nullptr: not open. Valid until the next Put or Close.
  [[nodiscard]] const LeaseRecord* Find(LeaseId id) const;
  [[nodiscard]] size_t size() const { return open_.size(); }

 private:
  uint32_t generation_;
  uint32_t sequence_ = 0;
  absl::flat_hash_map<LeaseId, LeaseRecord> open_;
};

// The slot whose shard owns a lease.
[[nodiscard]] Slot SlotOfLease(LeaseId id);

// Whether a run of this generation, or one before it, can have given out the lease: false is
// certain, true means that it is not out of the question.
[[nodiscard]] bool MayHaveIssued(uint32_t generation, LeaseId id);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_LEASES_H_
