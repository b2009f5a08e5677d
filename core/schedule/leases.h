// Open assignments. A lease id is a fencing token: the result of a lease that is no longer open is
// at most an observation of the page, and does not change its state.
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

// Layout of a lease id: generation of the run (20 bits), sequence number within the run (32 bits),
// slot (12 bits). So ids do not repeat in the life of a database, and show which shard owns them.
//
// Generations wrap around at this number, so ids could repeat only after a million runs.
inline constexpr uint32_t kLeaseGenerations = 1U << 20;

// The open leases of a shard, and about limits::kMaxRememberedLeases ended ones, which are kept to
// recognise repeated results. The transaction decides which of them are forgotten, because this
// must be stored. Owner thread only.
class Leases {
 public:
  struct Past {
    PageNumber page;
    bool reported = false;  // a result under the lease was taken
    // A hash of the name of the identity that held the lease, known only in the process that ended
    // it; 0 = none.
    uint64_t identity = 0;
  };

  explicit Leases(uint32_t generation) : given_out_(uint64_t{generation} << 32) {}

  // The id of a lease for a page of `slot`. `ahead` is the number of leases that will be issued
  // before it.
  [[nodiscard]] LeaseId NextId(Slot slot, uint32_t ahead) const;
  // Advances the sequence number by `count` leases that were issued.
  void GaveOut(uint32_t count);

  // Adds or replaces an open lease.
  void Put(const LeaseRecord& lease);
  // Ends a lease, open or not, and remembers it.
  void Close(const LeaseRecord& lease, bool reported);
  // Ends a lease without remembering it.
  void Drop(LeaseId id) { open_.Erase(id); }
  // Remembers a lease that ended before the start. Call SortRemembered after all of them: it sorts
  // them in the order of issue, which is about the order in which they ended.
  void Remember(const LeaseRecord& lease);
  void SortRemembered();
  // Forgets the oldest remembered lease.
  void ForgetOldest();
  // The n-th oldest remembered lease, counted from 0. Precondition: n < remembered().
  [[nodiscard]] LeaseId Remembered(size_t n) const { return past_order_[n]; }
  [[nodiscard]] size_t remembered() const { return past_order_.size(); }
  // Records that a result of an ended lease was accepted. No-op if the lease is not remembered.
  void MarkReported(LeaseId id);
  // nullptr = not remembered. Valid until the next Close, Remember or ForgetOldest.
  [[nodiscard]] const Past* FindPast(LeaseId id) const { return past_.Find(id); }
  // nullptr = not open. Valid until the next Put or Close.
  [[nodiscard]] const LeaseRecord* Find(LeaseId id) const { return open_.Find(id); }
  [[nodiscard]] size_t size() const { return open_.size(); }

 private:
  uint64_t given_out_;  // generation and sequence number of the last lease
  PartedMap<LeaseId, LeaseRecord> open_;
  PartedMap<LeaseId, Past> past_;
  std::deque<LeaseId> past_order_;  // oldest first
};

// The only identity that is allowed to end a lease of this client (LeaseRecord::client), as a hash
// of its name; 0 = others can end the lease too.
[[nodiscard]] uint64_t IdentityHashOf(std::string_view client);
// Returns true if `identity` is set and is not the hash of `reporter`.
[[nodiscard]] bool IsOfAnother(uint64_t identity, const Reporter& reporter);

// The slot whose shard owns the lease.
[[nodiscard]] Slot SlotOfLease(LeaseId id);

// OrdinalOfLease returns the id without its slot, which rises with time within a shard. MakeLeaseId
// builds an id from an ordinal and a slot.
[[nodiscard]] uint64_t OrdinalOfLease(LeaseId id);
[[nodiscard]] LeaseId MakeLeaseId(uint64_t ordinal, Slot slot);

// Returns true if `a` was issued before `b`. Precondition: one shard issued both.
[[nodiscard]] bool GivenOutBefore(LeaseId a, LeaseId b);

// The generation of the run that issued the lease.
[[nodiscard]] uint32_t GenerationOfLease(LeaseId id);

// Returns false if no run of this or an earlier generation can have issued the lease. True only
// means that one might have.
[[nodiscard]] bool MayHaveIssued(uint32_t generation, LeaseId id);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_LEASES_H_
