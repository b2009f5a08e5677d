// Open assignments. A lease id is a fencing token: a result of a lease that is no longer open may
// tell something about the page, but changes nothing.
#ifndef FRESHET_CORE_SCHEDULE_LEASES_H_
#define FRESHET_CORE_SCHEDULE_LEASES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include "core/base/parted_map.h"
#include "core/base/units.h"
#include "core/model/lease.h"
#include "core/schedule/event.h"

namespace freshet {

// Layout of a lease id: generation of the run (20 bits), sequence within it (32 bits), slot (12
// bits). So ids never repeat in the life of a database, and show which shard owns them.
//
// Generations wrap at this.
inline constexpr uint32_t kLeaseGenerations = 1U << 20;

// The open leases of a shard, and the latest ended ones, some limits::kMaxRememberedLeases, to
// recognise repeated results. The transaction says which ones are forgotten, because that must be
// stored. Owner thread only.
class Leases {
 public:
  struct Past {
    PageNumber page;
    bool reported = false;  // a result under the lease was taken
    // A hash of the name of the identity that held the lease, while this process lives; 0 = none.
    uint64_t identity = 0;
  };

  explicit Leases(uint32_t generation) : given_out_(uint64_t{generation} << 32) {}

  // The id of the next lease, for a page of `slot`, after `ahead` more.
  [[nodiscard]] LeaseId NextId(Slot slot, uint32_t ahead) const;
  // Counts leases that were given out.
  void GaveOut(uint32_t count);

  // Adds or replaces.
  void Put(const LeaseRecord& lease);
  // Ends a lease, open or not, and remembers it.
  void Close(const LeaseRecord& lease, bool reported);
  // Ends a lease without a trace.
  void Drop(LeaseId id) { open_.Erase(id); }
  // Takes over a lease that ended before the start. SortRemembered then sorts all by id, which is
  // about the order in which they ended.
  void Remember(const LeaseRecord& lease);
  void SortRemembered();
  // Forgets the oldest remembered lease.
  void ForgetOldest();
  // The n-th oldest remembered lease, from 0. Precondition: n < remembered().
  [[nodiscard]] LeaseId Remembered(size_t n) const { return past_order_[n]; }
  [[nodiscard]] size_t remembered() const { return past_order_.size(); }
  // Records that a result of an ended lease was taken. No-op if the lease is not remembered.
  void MarkReported(LeaseId id);
  // nullptr = not remembered. Valid until the next Close, Remember or ForgetOldest.
  [[nodiscard]] const Past* FindPast(LeaseId id) const { return past_.Find(id); }
  // nullptr = not open. Valid until the next Put or Close.
  [[nodiscard]] const LeaseRecord* Find(LeaseId id) const { return open_.Find(id); }
  [[nodiscard]] size_t size() const { return open_.size(); }

 private:
  uint64_t given_out_;  // generation and sequence of the last lease
  PartedMap<LeaseId, LeaseRecord> open_;
  PartedMap<LeaseId, Past> past_;
  std::deque<LeaseId> past_order_;  // the oldest first
};

// The identity that alone may end a lease of this client (LeaseRecord::client), as a hash of its
// name; 0 = others may end it too.
[[nodiscard]] uint64_t IdentityHashOf(std::string_view client);
// Whether `reporter` is another identity than the one with that hash.
[[nodiscard]] bool IsOfAnother(uint64_t identity, const Reporter& reporter);

// The slot whose shard owns a lease.
[[nodiscard]] Slot SlotOfLease(LeaseId id);

// The id without its slot, which rises with time within a shard, and the id of ordinal and slot.
[[nodiscard]] uint64_t OrdinalOfLease(LeaseId id);
[[nodiscard]] LeaseId MakeLeaseId(uint64_t ordinal, Slot slot);

// Whether `a` was given out before `b`, both by one shard.
[[nodiscard]] bool GivenOutBefore(LeaseId a, LeaseId b);

// The generation of the run that gave the lease out.
[[nodiscard]] uint32_t GenerationOfLease(LeaseId id);

// Whether a run of this generation or an earlier one may have given out the lease: false is
// certain, true is not.
[[nodiscard]] bool MayHaveIssued(uint32_t generation, LeaseId id);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_LEASES_H_
