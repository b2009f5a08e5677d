// The frame around every value: a version byte before it and a checksum after it
// (storage/internal/records.h).
#ifndef FRESHET_STORAGE_INTERNAL_SEALING_H_
#define FRESHET_STORAGE_INTERNAL_SEALING_H_

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "storage/format.h"

namespace freshet::storage {

// Starts a value: clears it and writes the version. Thread-safe.
void BeginValue(uint8_t version, std::string* value);

// Ends a value: appends the checksum over the family, the key and the bytes of `value`.
// Thread-safe.
void SealValue(Family family, std::string_view key, std::string* value);

// The payload of a value. Not OK: DataLoss if the value is too short, the checksum is wrong, or the
// version is not `version`. Thread-safe.
[[nodiscard]] StatusOr<std::string_view> OpenValue(Family family, std::string_view key,
                                                   std::string_view value, uint8_t version);

// A DataLoss status that names a row by family and key. Printable bytes of the key are shown as
// they are, other bytes as \xHH. Thread-safe.
[[nodiscard]] Status BadRow(Family family, std::string_view key, std::string_view what);
[[nodiscard]] Status BadRow(Family family, std::string_view key, const Status& why);

// A key as text for messages, cut at 200 bytes. Thread-safe.
[[nodiscard]] std::string Printable(std::string_view bytes);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_SEALING_H_
