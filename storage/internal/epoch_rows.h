// The rows that hold what a shard has learned: one kEpoch row with the EpochRecord, and kEpochPart
// rows with the text of the models of its sites. Each row is small enough for a log. Internal to
// storage/.
//
// An epoch is one run of learning. One commit writes all rows of an epoch, and each row has the
// epoch's number. A store that was filled from only a part of a log can have rows of two epochs. In
// that case the record is used without the models.
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

// Maximum number of text bytes in one row.
inline constexpr size_t kEpochPartBytes = size_t{256} << 10;
static_assert(2 * kEpochPartBytes < kMaxRowBytes);

// Calls `put` for each row, all in the family kMeta. Returns the number of kEpochPart rows; the
// caller deletes rows with higher numbers. Precondition: the record is valid. Thread-safe.
uint16_t EncodeEpochRows(
    const EpochRecord& epoch,
    const std::function<void(const std::string& key, const std::string& value)>& put);

// Decodes the record of a kEpoch row, and adds the text from all further rows. `read` returns the
// value of a row, or NotFound. If a row is missing or from another epoch, `*whole` is set to false
// and the text is empty. DataLoss: a row is damaged. Errors: from `read`. Thread-safe.
using ReadEpochPart = std::function<StatusOr<std::string>(const std::string& key)>;
[[nodiscard]] Status DecodeEpochRows(std::string_view key, std::string_view value,
                                     const ReadEpochPart& read, EpochRecord* epoch, bool* whole);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_EPOCH_ROWS_H_
