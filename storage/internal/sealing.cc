#include "storage/internal/sealing.h"

#include <xxhash.h>

#include <cstring>

#include "core/base/check.h"

namespace freshet::storage {
namespace {

constexpr size_t kMaxPrintedBytes = 200;

uint32_t Checksum(Family family, std::string_view key, std::string_view bytes) {
  const XXH64_hash_t seed =
      XXH3_64bits_withSeed(key.data(), key.size(), static_cast<XXH64_hash_t>(IndexOf(family)));
  return static_cast<uint32_t>(XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed));
}

}  // namespace

void BeginValue(uint8_t version, std::string* value) {
  value->assign(1, static_cast<char>(version));
}

void SealValue(Family family, std::string_view key, std::string* value) {
  CHECK(!value->empty());
  const uint32_t checksum = Checksum(family, key, *value);
  char bytes[kChecksumBytes];
  std::memcpy(bytes, &checksum, kChecksumBytes);
  value->append(bytes, kChecksumBytes);
}

StatusOr<std::string_view> OpenValue(Family family, std::string_view key, std::string_view value,
                                     uint8_t version) {
  if (value.size() < 1 + kChecksumBytes) return BadRow(family, key, "value is too short");
  const std::string_view body = value.substr(0, value.size() - kChecksumBytes);
  uint32_t stored = 0;
  std::memcpy(&stored, value.data() + body.size(), kChecksumBytes);
  if (stored != Checksum(family, key, body)) return BadRow(family, key, "checksum mismatch");
  const auto found = static_cast<uint8_t>(body[0]);
  if (found != version) {
    return BadRow(family, key,
                  fmt::format("record version {}, this release reads {}", found, version));
  }
  return body.substr(1);
}

Status BadRow(Family family, std::string_view key, std::string_view what) {
  return MakeStatus(absl::StatusCode::kDataLoss, "column family {}, key {}: {}", NameOf(family),
                    Printable(key), what);
}

Status BadRow(Family family, std::string_view key, const Status& why) {
  return BadRow(family, key, std::string_view(why.message().data(), why.message().size()));
}

std::string Printable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes.substr(0, kMaxPrintedBytes)) {
    if (c > ' ' && c <= '~' && c != '\\') {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (bytes.size() > kMaxPrintedBytes) text += "...";
  return text;
}

}  // namespace freshet::storage
