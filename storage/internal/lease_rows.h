// Rows of the lease log: the entries of one commit, packed into values. Internal to storage/.
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

// One entry about a lease. A later entry of the lease replaces it. Value type, thread-compatible.
struct LeaseEntry {
  enum class Kind : uint8_t {
    kLease = 0,    // the whole record, open or finished
    kDropped = 1,  // the lease no longer exists; the record has only an id
    kAssigned =
        2,  // the last assignment of a page, without its lease; the record has only page and time
  };
  LeaseRecord record;
  Kind kind = Kind::kLease;
  bool operator==(const LeaseEntry&) const = default;
};

// EncodeLeases replaces the contents of `value`. DecodeLeases appends entries in the order in which
// they were written. Preconditions and errors: from storage/internal/records.h.
void EncodeLeases(std::string_view key, std::span<const LeaseEntry> entries, std::string* value);
[[nodiscard]] Status DecodeLeases(std::string_view key, std::string_view value,
                                  std::vector<LeaseEntry>* entries);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_LEASE_ROWS_H_
