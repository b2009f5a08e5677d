#include "storage/internal/epoch_rows.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"

namespace freshet::storage {

uint16_t EncodeEpochRows(
    const EpochRecord& epoch,
    const std::function<void(const std::string& key, const std::string& value)>& put) {
  const std::string_view text = epoch.site_model;
  const size_t rows = std::max<size_t>(1, (text.size() + kEpochPartBytes - 1) / kEpochPartBytes);
  const size_t parts = rows - 1;
  CHECK(parts <= std::numeric_limits<uint16_t>::max(), "{} bytes were learned", text.size());
  const EpochRecord first{.shard = epoch.shard,
                          .number = epoch.number,
                          .finished = epoch.finished,
                          .site_model = std::string(text.substr(0, kEpochPartBytes))};
  std::string key = MetaKeyOf(MetaKey::kEpoch, epoch.shard);
  std::string value;
  EncodeEpoch(key, first, &value, static_cast<uint16_t>(parts));
  put(key, value);
  for (size_t part = 0; part < parts; ++part) {
    key = EpochPartKeyOf(epoch.shard, static_cast<uint16_t>(part));
    const size_t from = (part + 1) * kEpochPartBytes;
    EncodeEpochPart(key, epoch.number, text.substr(from, kEpochPartBytes), &value);
    put(key, value);
  }
  return static_cast<uint16_t>(parts);
}

Status DecodeEpochRows(std::string_view key, std::string_view value, const ReadEpochPart& read,
                       EpochRecord* epoch, bool* whole) {
  uint16_t parts = 0;
  RETURN_IF_ERROR(DecodeEpoch(key, value, epoch, &parts));
  *whole = true;
  for (uint16_t part = 0; part < parts && *whole; ++part) {
    const std::string part_key = EpochPartKeyOf(epoch->shard, part);
    const StatusOr<std::string> bytes = read(part_key);
    *whole = !absl::IsNotFound(bytes.status());
    if (!*whole) break;
    RETURN_IF_ERROR(bytes.status());
    EpochPart more;
    RETURN_IF_ERROR(DecodeEpochPart(part_key, *bytes, &more));
    *whole = more.number == epoch->number;
    epoch->site_model += more.text;
  }
  if (!*whole) epoch->site_model.clear();
  return absl::OkStatus();
}

}  // namespace freshet::storage
