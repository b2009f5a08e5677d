// Open assignments. A lease id is a fencing token: a result that carries one which is no longer
// open may tell something about the page, but changes nothing.
#ifndef FRESHET_CORE_SCHEDULE_LEASES_H_
#define FRESHET_CORE_SCHEDULE_LEASES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/model/lease.h"
#include "core/schedule/event.h"

namespace freshet {

// Layout of a lease id: generation of the run (20 bits), sequence within it (32 bits), slot (12
// bits). So ids never repeat in the life of a database, and tell which shard owns them.
//
// Generations wrap at this.
inline constexpr uint32_t kLeaseGenerations = 1U << 20;

// Owner thread only. Of leases that are over some limits::kMaxRememberedLeases, the latest, are
// remembered, so that a repeated result is known for what it is. Which ones are forgotten is said
// by the transaction, since it must be stored.
class Leases {
 public:
  struct Past {
    PageNumber page;
    bool reported = false;  // a result under the lease was taken
    // A hash of the name of the identity that held it, as long as this process lives; 0: of none.
    uint64_t identity = 0;
  };

  explicit Leases(uint32_t generation) : given_out_(uint64_t{generation} << 32) {}

  // The id of the next lease, of a page of `slot`, once `ahead` more have been given out.
  [[nodiscard]] LeaseId NextId(Slot slot, uint32_t ahead) const;
  // So many have been.
  void GaveOut(uint32_t count);

  // Adds or replaces.
  void Put(const LeaseRecord& lease);
  // Ends a lease, open or not, and remembers it.
  void Close(const LeaseRecord& lease, bool reported);
  // Ends a lease without a trace.
  void Drop(LeaseId id) { open_.erase(id); }
  // Takes over one that was over before the start; once all are there, in the order of their ids,
  // which is about the order in which they ended.
  void Remember(const LeaseRecord& lease);
  void SortRemembered();
  // Forgets the one that was remembered first.
  void ForgetOldest();
  // The one of the remembered that comes n-th, from 0, in that order. Precondition: n < remembered.
  [[nodiscard]] LeaseId Remembered(size_t n) const { return past_order_[n]; }
  [[nodiscard]] size_t remembered() const { return past_order_.size(); }
  // A result of a lease that is over was taken; does nothing for one that is not remembered.
  void MarkReported(LeaseId id);
  // nullptr: not remembered. Valid until the next Close, Remember or ForgetOldest.
  [[nodiscard]] const Past* FindPast(LeaseId id) const;
  // nullptr: not open. Valid until the next Put or Close.
  [[nodiscard]] const LeaseRecord* Find(LeaseId id) const;
  [[nodiscard]] size_t size() const { return open_.size(); }

 private:
  uint64_t given_out_;  // the last: generation and sequence
  absl::flat_hash_map<LeaseId, LeaseRecord> open_;
  absl::flat_hash_map<LeaseId, Past> past_;
  std::deque<LeaseId> past_order_;  // the oldest first
};

// Whether a lease of this client, as LeaseRecord has it, may be ended by others than that client:
// 0, or else the hash of the name of the identity that alone may end it.
[[nodiscard]] uint64_t IdentityHashOf(std::string_view client);
// Whether `reporter` is another identity than the one with that hash.
[[nodiscard]] bool IsOfAnother(uint64_t identity, const Reporter& reporter);

// The slot whose shard owns a lease.
[[nodiscard]] Slot SlotOfLease(LeaseId id);

// The id without its slot, which alone rises with time within a shard, and the id of both.
[[nodiscard]] uint64_t OrdinalOfLease(LeaseId id);
[[nodiscard]] LeaseId MakeLeaseId(uint64_t ordinal, Slot slot);

// Whether `a` was given out before `b`; both by one shard.
[[nodiscard]] bool GivenOutBefore(LeaseId a, LeaseId b);

// The run that gave it out.
[[nodiscard]] uint32_t GenerationOfLease(LeaseId id);

// Whether a run of this generation, or one before it, can have given out the lease: false is
// certain, true means that it is not out of the question.
[[nodiscard]] bool MayHaveIssued(uint32_t generation, LeaseId id);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_LEASES_H_
