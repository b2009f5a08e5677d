// What a shard has learned, as rows none of which outgrows a log: the record, and as many more rows
// as the models of its sites need. Internal to storage/.
//
// All rows of an epoch are written by one commit and carry its number. A store that was filled from
// a log only in part may have rows of two epochs: such an epoch counts, and its models do not.
#ifndef FRESHET_STORAGE_INTERNAL_EPOCH_ROWS_H_
#define FRESHET_STORAGE_INTERNAL_EPOCH_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/model/epoch.h"
#include "storage/format.h"

namespace freshet::storage {

// Of the text of one row.
inline constexpr size_t kEpochPartBytes = size_t{256} << 10;
static_assert(2 * kEpochPartBytes < kMaxRowBytes);

// Calls `put` for each row, all of them in the family kMeta. Returns the number of kEpochPart rows:
// those of higher numbers are to be deleted. Precondition: the record is valid. Thread-safe.
uint16_t EncodeEpochRows(
    const EpochRecord& epoch,
    const std::function<void(const std::string& key, const std::string& value)>& put);

// The record of a kEpoch row with the text of all of its rows. `read` gives the value of a row, and
// NotFound where there is none. `*whole` is false, and the text empty, where a row is missing or of
// another epoch. DataLoss: a row is damaged. Errors: those of `read`. Thread-safe.
using ReadEpochPart = std::function<StatusOr<std::string>(const std::string& key)>;
[[nodiscard]] Status DecodeEpochRows(std::string_view key, std::string_view value,
                                     const ReadEpochPart& read, EpochRecord* epoch, bool* whole);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_EPOCH_ROWS_H_
