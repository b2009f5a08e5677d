#include "storage/internal/lease_rows.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/id_limits.h"
#include "core/schedule/leases.h"
#include "storage/format.h"
#include "storage/internal/codec.h"
#include "storage/internal/sealing.h"
#include "storage/internal/validate.h"

namespace freshet::storage {
namespace {

// An entry is a head byte and the parts that the head names. Ids, times, lengths and workers are
// stored as differences from the previous entry, because entries of one commit are similar. Frozen.
//
// Low bits of the head: the kind of entry.
enum Head : uint8_t {
  kOpen = 0,
  kOverUnreported = 1,
  kOverReported = 2,
  kGone = 3,
  kAssignment = 4,
};
constexpr uint8_t kWhat = 7;
// Bits of open leases: the worker differs from the previous entry; the length differs; signals came
// during the lease.
constexpr uint8_t kOtherWorker = 8;
constexpr uint8_t kOtherLength = 16;
constexpr uint8_t kSignals = 32;
// From kHeldLeaseVersion on: the client differs from the previous entry.
constexpr uint8_t kOtherClient = 64;
// From kOrphanLeaseVersion on: the page was removed, and the entry names its host.
constexpr uint8_t kOrphan = 128;

// The values of the previous entry. An entry leaves out values that are the same.
struct Before {
  int64_t ordinal = 0;  // ordinal of the id
  int64_t assigned = 0;
  uint64_t length = 0;
  std::string worker;
  std::string client;
};

Head HeadOf(const LeaseEntry& entry) {
  if (entry.kind == LeaseEntry::Kind::kDropped) return kGone;
  if (entry.kind == LeaseEntry::Kind::kAssigned) return kAssignment;
  if (!entry.record.over) return kOpen;
  return entry.record.reported ? kOverReported : kOverUnreported;
}

void WriteEntry(const LeaseEntry& entry, Before& before, Writer& writer) {
  const LeaseRecord& lease = entry.record;
  const Head what = HeadOf(entry);
  const auto length = static_cast<uint64_t>((lease.deadline - lease.assigned).micros());
  uint8_t head = what;
  if (what == kOpen) {
    CHECK(lease.assigned <= lease.deadline, "lease {:x} ends before it begins", lease.id.value());
    head |= lease.worker == before.worker ? 0 : kOtherWorker;
    head |= length == before.length ? 0 : kOtherLength;
    head |= lease.signals.empty() ? 0 : kSignals;
    head |= lease.client == before.client ? 0 : kOtherClient;
    head |= lease.host.empty() ? 0 : kOrphan;
  }
  writer.U8(head);
  writer.Varint(what == kGone ? SlotOfLease(lease.id).value() : SlotOf(lease.page).value());
  if (what != kGone) writer.Varint(SerialOf(lease.page));
  if (what != kAssignment) {
    const auto ordinal = static_cast<int64_t>(OrdinalOfLease(lease.id));
    writer.Signed(WrappingSubtract(ordinal, before.ordinal));
    before.ordinal = ordinal;
  }
  if (what == kOpen || what == kAssignment) {
    writer.Signed(WrappingSubtract(lease.assigned.micros(), before.assigned));
    before.assigned = lease.assigned.micros();
  }
  if ((head & kOtherLength) != 0) writer.Varint(before.length = length);
  if ((head & kOtherWorker) != 0) writer.Text(before.worker = lease.worker);
  if ((head & kOtherClient) != 0) writer.Text(before.client = lease.client);
  if ((head & kOrphan) != 0) writer.Text(lease.host);
  if ((head & kSignals) == 0) return;
  writer.U8(static_cast<uint8_t>(lease.signals.size()));
  for (const LeaseSignal& signal : lease.signals) {
    writer.Time(signal.time);
    writer.U8(signal.source_class.packed());
  }
}

void ReadOpen(Reader& reader, uint8_t head, Before& before, LeaseRecord& lease) {
  if ((head & kOtherLength) != 0) before.length = reader.Varint();
  if ((head & kOtherWorker) != 0) before.worker = reader.Text();
  lease.worker = before.worker;
  if ((head & kOtherClient) != 0) before.client = reader.Text();
  lease.client = before.client;
  if ((head & kOrphan) != 0) lease.host = reader.Text();
  lease.deadline = Instant::FromMicros(
      WrappingAdd(lease.assigned.micros(), static_cast<int64_t>(before.length)));
  if ((head & kSignals) == 0) return;
  for (uint8_t left = reader.U8(); left > 0 && reader.ok(); --left) {
    const Instant time = reader.Time();
    lease.signals.push_back({time, SourceClass(reader.U8())});
  }
}

// Returns false for bytes that WriteEntry does not write. `known`: bits that the head may have.
bool ReadEntry(Reader& reader, uint8_t known, Before& before, LeaseEntry& entry) {
  LeaseRecord& lease = entry.record;
  const uint8_t head = reader.U8();
  if ((head & ~known) != 0) return false;
  const uint8_t what = head & kWhat;
  if (what > kAssignment) return false;
  const uint64_t slot = reader.Varint();
  const uint64_t serial = what == kGone ? 1 : reader.Varint();
  if (slot >= limits::kSlots || serial < 1 || serial > kMaxSerial) return false;
  const Slot of(static_cast<uint16_t>(slot));
  if (what != kGone) lease.page = MakePageNumber(of, serial);
  if (what != kAssignment) {
    before.ordinal = WrappingAdd(before.ordinal, reader.Signed());
    lease.id = MakeLeaseId(static_cast<uint64_t>(before.ordinal), of);
  }
  if (what == kOpen || what == kAssignment) {
    before.assigned = WrappingAdd(before.assigned, reader.Signed());
    lease.assigned = Instant::FromMicros(before.assigned);
  }
  if (what == kOpen) ReadOpen(reader, head, before, lease);
  lease.over = what == kOverUnreported || what == kOverReported;
  lease.reported = what == kOverReported;
  entry.kind = what == kGone         ? LeaseEntry::Kind::kDropped
               : what == kAssignment ? LeaseEntry::Kind::kAssigned
                                     : LeaseEntry::Kind::kLease;
  return reader.ok();
}

// The oldest version that can hold the entries.
uint8_t VersionFor(std::span<const LeaseEntry> entries) {
  uint8_t version = kLeaseVersion;
  for (const LeaseEntry& entry : entries) {
    if (HeadOf(entry) != kOpen) continue;
    if (!entry.record.host.empty()) return kOrphanLeaseVersion;
    if (!entry.record.client.empty()) version = kHeldLeaseVersion;
  }
  return version;
}

// Returns the version of the value. If this release does not know the version, returns the first
// version, with which decoding fails.
uint8_t VersionOf(std::string_view value) {
  const uint8_t version = value.empty() ? 0 : static_cast<uint8_t>(value.front());
  return version <= kOrphanLeaseVersion ? std::max(version, kLeaseVersion) : kLeaseVersion;
}

}  // namespace

void EncodeLeases(std::string_view key, std::span<const LeaseEntry> entries, std::string* value) {
  BeginValue(VersionFor(entries), value);
  Writer writer(value);
  Before before;
  for (const LeaseEntry& entry : entries) WriteEntry(entry, before, writer);
  SealValue(Family::kLeases, key, value);
}

Status DecodeLeases(std::string_view key, std::string_view value,
                    std::vector<LeaseEntry>* entries) {
  const uint8_t version = VersionOf(value);
  ASSIGN_OR_RETURN(const std::string_view payload, OpenValue(Family::kLeases, key, value, version));
  const uint8_t known = version == kLeaseVersion       ? 0x3F
                        : version == kHeldLeaseVersion ? 0x7F
                                                       : 0xFF;
  Reader reader(payload);
  Before before;
  while (!reader.rest().empty()) {
    LeaseEntry& entry = entries->emplace_back();
    if (!ReadEntry(reader, known, before, entry)) return BadRow(Family::kLeases, key, "malformed");
    if (entry.kind != LeaseEntry::Kind::kLease) continue;
    const Status valid = ValidateLease(entry.record);
    if (!valid.ok()) return BadRow(Family::kLeases, key, valid);
  }
  return absl::OkStatus();
}

}  // namespace freshet::storage
