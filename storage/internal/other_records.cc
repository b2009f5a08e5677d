// The records of hosts, sources and crawl ids, and global records. Layout tables:
// docs/storage-format.md.
#include <algorithm>
#include <limits>

#include "core/base/check.h"
#include "storage/internal/codec.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "storage/internal/sealing.h"
#include "storage/internal/validate.h"

namespace freshet::storage {
namespace {

// Tags. Frozen. An optional number is stored plus one, so that 0 means unset.
enum HostTag : int {
  kHostSerial = 1,
  kMinDelay = 2,     // microseconds + 1
  kMaxInFlight = 3,  // + 1
  kBlockedUntil = 4,
  kLastAssignment = 5,
  kMinPageInterval = 6,  // microseconds + 1
  kThrottles = 7,
  kLastThrottled = 8,
  kHostDeleting = 9,
  kMaxCrawls = 10,     // count + 1
  kMaxCrawlsPer = 11,  // microseconds
  kHours = 12,         // packed + 1
  kCrawlDelay = 13,    // microseconds
  kAddress = 14,       // 16 bytes as on the wire
  kRecentCrawls = 15,  // varints: microseconds since the previous crawl, count; repeated
};
enum SourceTag : int {
  kName = 1,
  kRetired = 2,
};
enum SettingsTag : int {
  kHasCrawlRate = 1,
  kCrawlRate = 2,
  kPolicy = 3,
  kPaused = 4,
  // Defaults for hosts without specific settings.
  kDefaultMinDelay = 5,         // microseconds + 1
  kDefaultMaxInFlight = 6,      // + 1
  kDefaultMinPageInterval = 7,  // microseconds + 1
  kPauseReason = 8,
};
enum CrawlTag : int {
  kHasShare = 1,
  kShare = 2,
  kHasMaxRate = 3,
  kMaxRate = 4,
  kMaxPages = 5,              // + 1
  kCrawlMinDelay = 6,         // microseconds + 1
  kCrawlMaxInFlight = 7,      // + 1
  kCrawlMinPageInterval = 8,  // microseconds + 1
  kCrawlDeleting = 9,
  kCrawlFrontierMode = 10,  // + 1
};
enum EpochTag : int {
  kEpochNumber = 1,
  kFinished = 2,
  kSiteModel = 3,
  kEpochParts = 4,
};

void WriteSpan(int tag, const std::optional<Duration>& span, FieldWriter& fields) {
  if (span) fields.Unsigned(tag, static_cast<uint64_t>(span->micros()) + 1);
}

std::optional<Duration> ReadSpan(FieldReader& fields) {
  return Duration::Micros(static_cast<int64_t>(fields.Unsigned(INT64_MAX)) - 1);
}

void WriteLimit(int tag, const std::optional<uint32_t>& limit, FieldWriter& fields) {
  if (limit) fields.Unsigned(tag, uint64_t{*limit} + 1);
}

std::optional<uint32_t> ReadLimit(FieldReader& fields) {
  const uint64_t plus_one = fields.Unsigned(uint64_t{UINT32_MAX} + 1);
  if (plus_one == 0) fields.Fail();
  return static_cast<uint32_t>(plus_one - 1);
}

std::optional<uint64_t> ReadLimit64(FieldReader& fields) {
  const uint64_t plus_one = fields.Unsigned(UINT64_MAX);
  if (plus_one == 0) fields.Fail();
  return plus_one - 1;
}

// Packed hours of the day: 11 bits for each number of minutes, then the offset.
constexpr int kMinuteBits = 11;
constexpr int kOffsetBias = 1024;

uint64_t PackHours(const DayHours& hours) {
  return uint64_t{hours.from} | uint64_t{hours.until} << kMinuteBits |
         static_cast<uint64_t>(hours.offset + kOffsetBias) << 2 * kMinuteBits;
}

std::optional<DayHours> ReadHours(FieldReader& fields) {
  const uint64_t plus_one = fields.Unsigned(uint64_t{1} << 3 * kMinuteBits);
  if (plus_one == 0) fields.Fail();
  const uint64_t packed = plus_one - 1;
  constexpr uint64_t kMask = (uint64_t{1} << kMinuteBits) - 1;
  return DayHours{.from = static_cast<uint16_t>(packed & kMask),
                  .until = static_cast<uint16_t>(packed >> kMinuteBits & kMask),
                  .offset = static_cast<int16_t>(
                      static_cast<int>(packed >> 2 * kMinuteBits & kMask) - kOffsetBias)};
}

std::string EncodeAddress(const IpAddress& address) {
  std::string bytes;
  if (address.none()) return bytes;
  for (const uint16_t piece : address.pieces) {
    bytes.push_back(static_cast<char>(piece >> 8));
    bytes.push_back(static_cast<char>(piece & 0xFF));
  }
  return bytes;
}

IpAddress ReadAddress(FieldReader& fields) {
  IpAddress address;
  const std::string_view bytes = fields.Bytes();
  if (bytes.size() != 2 * address.pieces.size()) {
    fields.Fail();
    return address;
  }
  for (size_t i = 0; i < address.pieces.size(); ++i) {
    address.pieces[i] = static_cast<uint16_t>(static_cast<uint8_t>(bytes[2 * i]) << 8 |
                                              static_cast<uint8_t>(bytes[2 * i + 1]));
  }
  if (address.none()) fields.Fail();
  return address;
}

std::string EncodeRecentCrawls(const RecentCrawls& recent) {
  std::string bytes;
  Writer writer(&bytes);
  Instant before;
  for (const CountedCrawls& counted : recent) {
    writer.Varint(static_cast<uint64_t>((counted.last - before).micros()));
    writer.Varint(counted.count);
    before = counted.last;
  }
  return bytes;
}

RecentCrawls ReadRecentCrawls(FieldReader& fields) {
  RecentCrawls recent;
  Reader reader(fields.Bytes());
  Instant before;
  while (reader.ok() && !reader.rest().empty() && recent.size() <= kMostCounts) {
    const uint64_t after = reader.Varint();
    const uint64_t count = reader.Varint();
    if (count > UINT32_MAX) reader.Fail();
    before = Instant::FromMicros(WrappingAdd(before.micros(), static_cast<int64_t>(after)));
    recent.push_back({.last = before, .count = static_cast<uint32_t>(count)});
  }
  if (!reader.done()) fields.Fail();
  return recent;
}

Status Finish(Family family, std::string_view key, bool complete, const Status& valid) {
  if (!complete) return BadRow(family, key, "malformed");
  return valid.ok() ? valid : BadRow(family, key, valid);
}

}  // namespace

void EncodeHost(std::string_view key, uint32_t serial, const HostRecord& record,
                std::string* value) {
  BeginValue(kHostVersion, value);
  FieldWriter fields(value);
  fields.Unsigned(kHostSerial, serial);
  WriteSpan(kMinDelay, record.min_delay, fields);
  WriteLimit(kMaxInFlight, record.max_in_flight, fields);
  fields.Time(kBlockedUntil, record.blocked_until);
  fields.Time(kLastAssignment, record.last_assignment);
  WriteSpan(kMinPageInterval, record.min_page_interval, fields);
  fields.Unsigned(kThrottles, record.throttles);
  fields.Time(kLastThrottled, record.last_throttled);
  fields.Unsigned(kHostDeleting, record.deleting);
  if (record.max_crawls) {
    fields.Unsigned(kMaxCrawls, uint64_t{record.max_crawls->count} + 1);
    fields.Unsigned(kMaxCrawlsPer, static_cast<uint64_t>(record.max_crawls->per.micros()));
  }
  if (record.hours) fields.Unsigned(kHours, PackHours(*record.hours) + 1);
  fields.Unsigned(kCrawlDelay, static_cast<uint64_t>(record.crawl_delay.micros()));
  fields.Bytes(kAddress, EncodeAddress(record.address));
  fields.Bytes(kRecentCrawls, EncodeRecentCrawls(record.recent_crawls));
  SealValue(Family::kHosts, key, value);
}

Status DecodeHost(std::string_view key, std::string_view value, HostRow* row) {
  ASSIGN_OR_RETURN(const std::string_view payload,
                   OpenValue(Family::kHosts, key, value, kHostVersion));
  const std::optional<HostKeyParts> parts = ParseHostKey(key);
  if (!parts) return BadRow(Family::kHosts, key, "key is malformed");
  *row = HostRow();
  row->record.host = parts->host;
  FieldReader fields(payload);
  while (fields.Next()) {
    switch (fields.tag()) {
      case kHostSerial:
        row->serial = static_cast<uint32_t>(fields.Unsigned(UINT32_MAX));
        break;
      case kMinDelay:
        row->record.min_delay = ReadSpan(fields);
        break;
      case kMaxInFlight:
        row->record.max_in_flight = ReadLimit(fields);
        break;
      case kBlockedUntil:
        row->record.blocked_until = fields.Time();
        break;
      case kLastAssignment:
        row->record.last_assignment = fields.Time();
        break;
      case kMinPageInterval:
        row->record.min_page_interval = ReadSpan(fields);
        break;
      case kThrottles:
        row->record.throttles = static_cast<uint8_t>(fields.Unsigned(UINT8_MAX));
        break;
      case kLastThrottled:
        row->record.last_throttled = fields.Time();
        break;
      case kHostDeleting:
        row->record.deleting = fields.Unsigned(1) != 0;
        break;
      case kMaxCrawls:
        row->record.max_crawls = CrawlCap{.count = ReadLimit(fields).value_or(0), .per = {}};
        break;
      case kMaxCrawlsPer:
        if (!row->record.max_crawls) fields.Fail();
        row->record.max_crawls =
            CrawlCap{.count = row->record.max_crawls.value_or(CrawlCap()).count,
                     .per = Duration::Micros(static_cast<int64_t>(fields.Unsigned(INT64_MAX)))};
        break;
      case kHours:
        row->record.hours = ReadHours(fields);
        break;
      case kCrawlDelay:
        row->record.crawl_delay =
            Duration::Micros(static_cast<int64_t>(fields.Unsigned(INT64_MAX)));
        break;
      case kAddress:
        row->record.address = ReadAddress(fields);
        break;
      case kRecentCrawls:
        row->record.recent_crawls = ReadRecentCrawls(fields);
        break;
      default:
        fields.Fail();
    }
  }
  return Finish(Family::kHosts, key, fields.done() && row->serial != 0, ValidateHost(row->record));
}

void EncodeSource(std::string_view key, const SourceRecord& record, std::string* value) {
  DCHECK(ParseSourceKey(key) == record.index, "source {} under another key", record.index);
  BeginValue(kSourceVersion, value);
  FieldWriter fields(value);
  fields.Bytes(kName, record.name);
  fields.Unsigned(kRetired, record.retired);
  SealValue(Family::kSources, key, value);
}

Status DecodeSource(std::string_view key, std::string_view value, SourceRecord* record) {
  ASSIGN_OR_RETURN(const std::string_view payload,
                   OpenValue(Family::kSources, key, value, kSourceVersion));
  const std::optional<uint8_t> index = ParseSourceKey(key);
  if (!index) return BadRow(Family::kSources, key, "key is malformed");
  *record = SourceRecord();
  record->index = *index;
  FieldReader fields(payload);
  while (fields.Next()) {
    if (fields.tag() == kName) {
      record->name = fields.Bytes();
    } else if (fields.tag() == kRetired) {
      record->retired = fields.Unsigned(1) != 0;
    } else {
      fields.Fail();
    }
  }
  return Finish(Family::kSources, key, fields.done(), ValidateSource(*record));
}

void EncodeSettings(std::string_view key, const Settings& settings, std::string* value) {
  BeginValue(kMetaVersion, value);
  FieldWriter fields(value);
  fields.Unsigned(kHasCrawlRate, settings.crawl_rate.has_value());
  if (settings.crawl_rate) fields.F64(kCrawlRate, settings.crawl_rate->per_second());
  if (settings.policy) fields.Bytes(kPolicy, *settings.policy);
  fields.Unsigned(kPaused, settings.paused);
  WriteSpan(kDefaultMinDelay, settings.min_delay, fields);
  WriteLimit(kDefaultMaxInFlight, settings.max_in_flight, fields);
  WriteSpan(kDefaultMinPageInterval, settings.min_page_interval, fields);
  if (!settings.pause_reason.empty()) fields.Bytes(kPauseReason, settings.pause_reason);
  SealValue(Family::kMeta, key, value);
}

Status DecodeSettings(std::string_view key, std::string_view value, Settings* settings) {
  ASSIGN_OR_RETURN(const std::string_view payload,
                   OpenValue(Family::kMeta, key, value, kMetaVersion));
  *settings = Settings();
  bool has_rate = false;
  double rate = 0;
  FieldReader fields(payload);
  while (fields.Next()) {
    switch (fields.tag()) {
      case kHasCrawlRate:
        has_rate = fields.Unsigned(1) != 0;
        break;
      case kCrawlRate:
        rate = fields.F64();
        break;
      case kPolicy:
        settings->policy = std::string(fields.Bytes());
        break;
      case kPaused:
        settings->paused = fields.Unsigned(1) != 0;
        break;
      case kDefaultMinDelay:
        settings->min_delay = ReadSpan(fields);
        break;
      case kDefaultMaxInFlight:
        settings->max_in_flight = ReadLimit(fields);
        break;
      case kDefaultMinPageInterval:
        settings->min_page_interval = ReadSpan(fields);
        break;
      case kPauseReason:
        settings->pause_reason = std::string(fields.Bytes());
        break;
      default:
        fields.Fail();
    }
  }
  if (has_rate) settings->crawl_rate = Rate::PerSecond(rate);
  return Finish(Family::kMeta, key, fields.done(), ValidateSettings(*settings));
}

static_assert(static_cast<uint64_t>(FrontierMode::kScheduled) == 2);

FrontierMode ReadFrontierMode(FieldReader& fields) {
  const uint64_t plus_one = fields.Unsigned(3);
  if (plus_one == 0) fields.Fail();
  return static_cast<FrontierMode>(plus_one - 1);
}

void EncodeCrawl(std::string_view key, const CrawlRecord& crawl, std::string* value) {
  DCHECK(ParseCrawlKey(key) == crawl.crawl_id, "crawl {} under another key", crawl.crawl_id);
  BeginValue(kMetaVersion, value);
  FieldWriter fields(value);
  fields.Unsigned(kHasShare, crawl.share.has_value());
  if (crawl.share) fields.F64(kShare, *crawl.share);
  fields.Unsigned(kHasMaxRate, crawl.max_rate.has_value());
  if (crawl.max_rate) fields.F64(kMaxRate, crawl.max_rate->per_second());
  if (crawl.max_pages) fields.Unsigned(kMaxPages, *crawl.max_pages + 1);
  WriteSpan(kCrawlMinDelay, crawl.min_delay, fields);
  WriteLimit(kCrawlMaxInFlight, crawl.max_in_flight, fields);
  WriteSpan(kCrawlMinPageInterval, crawl.min_page_interval, fields);
  fields.Unsigned(kCrawlDeleting, crawl.deleting);
  if (crawl.frontier_mode) {
    fields.Unsigned(kCrawlFrontierMode, static_cast<uint64_t>(*crawl.frontier_mode) + 1);
  }
  SealValue(Family::kMeta, key, value);
}

Status DecodeCrawl(std::string_view key, std::string_view value, CrawlRecord* crawl) {
  ASSIGN_OR_RETURN(const std::string_view payload,
                   OpenValue(Family::kMeta, key, value, kMetaVersion));
  const std::optional<std::string_view> crawl_id = ParseCrawlKey(key);
  if (!crawl_id) return BadRow(Family::kMeta, key, "key is malformed");
  *crawl = CrawlRecord();
  crawl->crawl_id = *crawl_id;
  bool has_share = false;
  bool has_rate = false;
  double share = 0;
  double rate = 0;
  FieldReader fields(payload);
  while (fields.Next()) {
    switch (fields.tag()) {
      case kHasShare:
        has_share = fields.Unsigned(1) != 0;
        break;
      case kShare:
        share = fields.F64();
        break;
      case kHasMaxRate:
        has_rate = fields.Unsigned(1) != 0;
        break;
      case kMaxRate:
        rate = fields.F64();
        break;
      case kMaxPages:
        crawl->max_pages = ReadLimit64(fields);
        break;
      case kCrawlMinDelay:
        crawl->min_delay = ReadSpan(fields);
        break;
      case kCrawlMaxInFlight:
        crawl->max_in_flight = ReadLimit(fields);
        break;
      case kCrawlMinPageInterval:
        crawl->min_page_interval = ReadSpan(fields);
        break;
      case kCrawlDeleting:
        crawl->deleting = fields.Unsigned(1) != 0;
        break;
      case kCrawlFrontierMode:
        crawl->frontier_mode = ReadFrontierMode(fields);
        break;
      default:
        fields.Fail();
    }
  }
  if (has_share) crawl->share = share;
  if (has_rate) crawl->max_rate = Rate::PerSecond(rate);
  return Finish(Family::kMeta, key, fields.done(), ValidateCrawl(*crawl));
}

void EncodeEpoch(std::string_view key, const EpochRecord& epoch, std::string* value,
                 uint16_t parts) {
  DCHECK(ParseMetaKey(MetaKey::kEpoch, key) == epoch.shard, "shard {} under another key",
         epoch.shard);
  BeginValue(kMetaVersion, value);
  FieldWriter fields(value);
  fields.Unsigned(kEpochNumber, epoch.number);
  fields.Time(kFinished, epoch.finished);
  fields.Bytes(kSiteModel, epoch.site_model);
  fields.Unsigned(kEpochParts, parts);
  SealValue(Family::kMeta, key, value);
}

Status DecodeEpoch(std::string_view key, std::string_view value, EpochRecord* epoch,
                   uint16_t* parts) {
  ASSIGN_OR_RETURN(const std::string_view payload,
                   OpenValue(Family::kMeta, key, value, kMetaVersion));
  const std::optional<uint16_t> shard = ParseMetaKey(MetaKey::kEpoch, key);
  if (!shard) return BadRow(Family::kMeta, key, "key is malformed");
  *epoch = EpochRecord();
  epoch->shard = *shard;
  uint64_t more = 0;
  FieldReader fields(payload);
  while (fields.Next()) {
    switch (fields.tag()) {
      case kEpochNumber:
        epoch->number = fields.Unsigned();
        break;
      case kFinished:
        epoch->finished = fields.Time();
        break;
      case kSiteModel:
        epoch->site_model = fields.Bytes();
        break;
      case kEpochParts:
        more = fields.Unsigned(std::numeric_limits<uint16_t>::max());
        break;
      default:
        fields.Fail();
    }
  }
  if (parts != nullptr) *parts = static_cast<uint16_t>(more);
  return Finish(Family::kMeta, key, fields.done(), ValidateEpoch(*epoch));
}

void EncodeEpochPart(std::string_view key, uint64_t number, std::string_view text,
                     std::string* value) {
  DCHECK(ParseEpochPartKey(key).has_value(), "a part of an epoch under another key");
  BeginValue(kMetaVersion, value);
  FieldWriter fields(value);
  fields.Unsigned(kEpochNumber, number);
  fields.Bytes(kSiteModel, text);
  SealValue(Family::kMeta, key, value);
}

Status DecodeEpochPart(std::string_view key, std::string_view value, EpochPart* part) {
  ASSIGN_OR_RETURN(const std::string_view payload,
                   OpenValue(Family::kMeta, key, value, kMetaVersion));
  if (!ParseEpochPartKey(key)) return BadRow(Family::kMeta, key, "key is malformed");
  *part = EpochPart();
  FieldReader fields(payload);
  while (fields.Next()) {
    switch (fields.tag()) {
      case kEpochNumber:
        part->number = fields.Unsigned();
        break;
      case kSiteModel:
        part->text = fields.Bytes();
        break;
      default:
        fields.Fail();
    }
  }
  return Finish(Family::kMeta, key, fields.done(), absl::OkStatus());
}

void EncodeSecret(std::string_view key, const FingerprintSecret& secret, std::string* value) {
  BeginValue(kMetaVersion, value);
  value->append(secret.begin(), secret.end());
  SealValue(Family::kMeta, key, value);
}

Status DecodeSecret(std::string_view key, std::string_view value, FingerprintSecret* secret) {
  ASSIGN_OR_RETURN(const std::string_view payload,
                   OpenValue(Family::kMeta, key, value, kMetaVersion));
  if (payload.size() != secret->size()) return BadRow(Family::kMeta, key, "malformed");
  std::copy(payload.begin(), payload.end(), secret->begin());
  return absl::OkStatus();
}

void EncodeNumber(std::string_view key, uint64_t number, std::string* value) {
  BeginValue(kMetaVersion, value);
  Writer(value).Varint(number);
  SealValue(Family::kMeta, key, value);
}

Status DecodeNumber(std::string_view key, std::string_view value, uint64_t* number) {
  ASSIGN_OR_RETURN(const std::string_view payload,
                   OpenValue(Family::kMeta, key, value, kMetaVersion));
  Reader reader(payload);
  *number = reader.Varint();
  return reader.done() ? absl::OkStatus() : BadRow(Family::kMeta, key, "number is malformed");
}

}  // namespace freshet::storage
