// Rows of the lease log: what one commit says of leases, packed into values. Internal to
// storage/.
#ifndef FRESHET_STORAGE_INTERNAL_LEASE_ROWS_H_
#define FRESHET_STORAGE_INTERNAL_LEASE_ROWS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/model/lease.h"

namespace freshet::storage {

// One thing said of a lease; what is said later replaces it. Value type, thread-compatible.
struct LeaseEntry {
  enum class Kind : uint8_t {
    kLease = 0,     // the record, open or over
    kDropped = 1,   // there is no such lease any more; the record has an id alone
    kAssigned = 2,  // no lease: when the page was last assigned; the record has page and time alone
  };
  LeaseRecord record;
  Kind kind = Kind::kLease;
  bool operator==(const LeaseEntry&) const = default;
};

// Replaces the contents of `value`; DecodeLeases appends, in the order of writing. On the terms of
// storage/internal/records.h.
void EncodeLeases(std::string_view key, std::span<const LeaseEntry> entries, std::string* value);
[[nodiscard]] Status DecodeLeases(std::string_view key, std::string_view value,
                                  std::vector<LeaseEntry>* entries);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_LEASE_ROWS_H_
