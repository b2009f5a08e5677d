#include "core/schedule/leases.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/fingerprint.h"
#include "core/base/id_limits.h"

namespace freshet {
namespace {

constexpr int kSlotBits = 12;
constexpr int kSequenceBits = 32;
constexpr int kGenerationBits = 20;
static_assert(limits::kSlots == 1 << kSlotBits);
static_assert(kSlotBits + kSequenceBits + kGenerationBits == 64);
static_assert(kLeaseGenerations == uint32_t{1} << kGenerationBits);

}  // namespace

LeaseId Leases::NextId(Slot slot, uint32_t ahead) const {
  // If a run issues more than four billion leases, its ids continue into the next generation.
  return MakeLeaseId(given_out_ + 1 + ahead, slot);
}

void Leases::GaveOut(uint32_t count) { given_out_ += count; }

void Leases::Put(const LeaseRecord& lease) {
  CHECK(!lease.over, "lease {:x} is over", lease.id.value());
  open_.Set(lease.id, lease);
}

void Leases::Close(const LeaseRecord& lease, bool reported) {
  open_.Erase(lease.id);
  const Past past = {lease.page, reported, IdentityHashOf(lease.client)};
  if (past_.Set(lease.id, past)) past_order_.push_back(lease.id);
}

void Leases::Remember(const LeaseRecord& lease) {
  CHECK(lease.over, "lease {:x} is open", lease.id.value());
  Close(lease, lease.reported);
}

void Leases::SortRemembered() { std::sort(past_order_.begin(), past_order_.end(), GivenOutBefore); }

void Leases::ForgetOldest() {
  CHECK(!past_order_.empty());
  CHECK(past_.Erase(past_order_.front()), "lease {:x} is not remembered",
        past_order_.front().value());
  past_order_.pop_front();
}

void Leases::MarkReported(LeaseId id) {
  if (Past* const past = past_.Find(id)) past->reported = true;
}

uint64_t IdentityHashOf(std::string_view client) {
  if (!client.starts_with(kIdentityClient)) return 0;
  return HashOfTexts(kIdentityClient, client.substr(kIdentityClient.size())) | 1;
}

bool IsOfAnother(uint64_t identity, const Reporter& reporter) {
  return identity != 0 && reporter != nullptr &&
         identity != (HashOfTexts(kIdentityClient, *reporter) | 1);
}

Slot SlotOfLease(LeaseId id) { return Slot(static_cast<uint16_t>(id.value() % limits::kSlots)); }

uint64_t OrdinalOfLease(LeaseId id) { return id.value() >> kSlotBits; }

LeaseId MakeLeaseId(uint64_t ordinal, Slot slot) {
  return LeaseId(ordinal << kSlotBits | slot.value());
}

bool GivenOutBefore(LeaseId a, LeaseId b) { return OrdinalOfLease(a) < OrdinalOfLease(b); }

uint32_t GenerationOfLease(LeaseId id) {
  return static_cast<uint32_t>(OrdinalOfLease(id) >> kSequenceBits);
}

bool MayHaveIssued(uint32_t generation, LeaseId id) {
  // Once the generations have wrapped around, every generation has been used.
  if (generation >= kLeaseGenerations) return true;
  const uint64_t issued_in = GenerationOfLease(id);
  const uint64_t sequence = OrdinalOfLease(id) & ((uint64_t{1} << kSequenceBits) - 1);
  return issued_in >= 1 && issued_in <= generation && sequence >= 1;
}

}  // namespace freshet
