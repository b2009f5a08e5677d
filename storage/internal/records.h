// Encodes and decodes the values of all column families. Every value is
//
//   version:1  payload  checksum:4
//
// and the checksum, the lower half of XXH3-64 (seed: XXH3-64 of the key, seed: the family), covers
// family, key, version and payload. So the checksum detects a row under a wrong key, and not only
// flipped bits.
//
// Encode* replace the contents of `value`. Precondition: the record is valid
// (storage/internal/validate.h). Decode* return DataLoss, with the family and the key, for all
// bytes that Encode* do not write for a valid record. They are safe for arbitrary bytes. All
// functions are thread-safe.
#ifndef FRESHET_STORAGE_INTERNAL_RECORDS_H_
#define FRESHET_STORAGE_INTERNAL_RECORDS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/fingerprint.h"
#include "core/base/status.h"
#include "core/model/crawl.h"
#include "core/model/epoch.h"
#include "core/model/host.h"
#include "core/model/page.h"
#include "core/model/settings.h"
#include "core/model/source.h"
#include "storage/format.h"

namespace freshet::storage {

// The part of a page that start-up reads. `host_serial` names a host within the slot; the texts are
// views into the value.
struct PageHead {
  uint32_t host_serial = 0;
  std::string_view crawl_id;
  std::string_view url;
  PageSpec spec;
  PageState state;
};

// The host's name is in the key.
struct HostRow {
  uint32_t serial = 0;
  HostRecord record;
  bool operator==(const HostRow&) const = default;
};

void EncodePage(std::string_view key, uint32_t host_serial, const PageRecord& page,
                std::string* value);
[[nodiscard]] Status DecodePage(std::string_view key, std::string_view value, PageRecord* page);
// Reads no more bytes than necessary, and does not check texts.
[[nodiscard]] Status DecodePageHead(std::string_view key, std::string_view value, PageHead* head);

void EncodeHost(std::string_view key, uint32_t serial, const HostRecord& record,
                std::string* value);
[[nodiscard]] Status DecodeHost(std::string_view key, std::string_view value, HostRow* row);

void EncodeSource(std::string_view key, const SourceRecord& record, std::string* value);
[[nodiscard]] Status DecodeSource(std::string_view key, std::string_view value,
                                  SourceRecord* record);

void EncodeSettings(std::string_view key, const Settings& settings, std::string* value);
[[nodiscard]] Status DecodeSettings(std::string_view key, std::string_view value,
                                    Settings* settings);

// The crawl id is in the key.
void EncodeCrawl(std::string_view key, const CrawlRecord& crawl, std::string* value);
[[nodiscard]] Status DecodeCrawl(std::string_view key, std::string_view value, CrawlRecord* crawl);

// `parts`: number of rows with the rest of what was learned (storage/internal/epoch_rows.h).
void EncodeEpoch(std::string_view key, const EpochRecord& epoch, std::string* value,
                 uint16_t parts = 0);
[[nodiscard]] Status DecodeEpoch(std::string_view key, std::string_view value, EpochRecord* epoch,
                                 uint16_t* parts = nullptr);

// A part of what the epoch with this number has learned.
struct EpochPart {
  uint64_t number = 0;
  std::string text;
};
void EncodeEpochPart(std::string_view key, uint64_t number, std::string_view text,
                     std::string* value);
[[nodiscard]] Status DecodeEpochPart(std::string_view key, std::string_view value, EpochPart* part);

void EncodeSecret(std::string_view key, const FingerprintSecret& secret, std::string* value);
[[nodiscard]] Status DecodeSecret(std::string_view key, std::string_view value,
                                  FingerprintSecret* secret);

// A number in `meta`: format, generation, layout, next serial.
void EncodeNumber(std::string_view key, uint64_t number, std::string* value);
[[nodiscard]] Status DecodeNumber(std::string_view key, std::string_view value, uint64_t* number);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_RECORDS_H_
