// The record of a page. Layout tables: docs/storage-format.md.
#include <bit>
#include <optional>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "storage/internal/codec.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "storage/internal/sealing.h"
#include "storage/internal/state_fields.h"
#include "storage/internal/validate.h"

namespace freshet::storage {
namespace {

// Tags of a detail. Frozen.
enum DetailTag : int {
  kEtag = 1,
  kLastModified = 2,
  kDigest = 3,
  kCrawls = 4,
  kChanges = 5,
  kLastOutcome = 6,
  kLastHttpStatus = 7,
  kLastLease = 8,
  kLastResult = 9,  // time since the last crawl
  kStatistics = 10,
  kMovedTo = 11,
  kDenials = 12,
  kSignalIds = 13,
  kClaims = 14,
};

// Tags of the statistics within a detail. Frozen.
enum StatisticsTag : int {
  kRecent = 1,
  kOldChanges = 2,
  kOldExposure = 3,
};

// Head byte of an observation. Bit 0: changed. Bit 1: elapsed is stored; if clear, it is the time
// since the previous observation. Bits 2 to 4: number of signal entries. Bit 5: spans are stored in
// full; if clear, as span codes. Bits 6 and 7: how the exposure is stored.
constexpr uint8_t kChangedBit = 1;
constexpr uint8_t kElapsedBit = 2;
constexpr int kEntriesShift = 2;
constexpr int kEntriesMask = 7;
constexpr uint8_t kFullBit = 32;
constexpr int kExposureShift = 6;
enum ExposureKind : uint8_t {
  kAsElapsed = 0,  // computed from the elapsed time
  kUpperHalf = 1,  // the upper half of the float; the lower half is zero
  kWhole = 2,      // the whole float
};

// The byte of a signal entry is its source class. If this bit is set, a byte with the count
// follows. If it is clear, the count is one.
constexpr uint8_t kSeveralBit = 128;
static_assert(kSourceClasses <= kSeveralBit);

// A span code: the position of the highest bit (6 bits), and the ten bits after it. nullopt = no
// bit is set, or a bit after those ten is set.
constexpr int kCodedBits = 10;
std::optional<uint16_t> SpanCode(int64_t span) {
  if (span <= 0) return std::nullopt;
  const auto bits = static_cast<uint64_t>(span);
  const int highest = std::bit_width(bits) - 1;
  const uint64_t behind =
      highest <= kCodedBits ? bits << (kCodedBits - highest) : bits >> (highest - kCodedBits);
  const auto code =
      static_cast<uint16_t>(highest << kCodedBits | (behind & ((1 << kCodedBits) - 1)));
  if (highest > kCodedBits && behind << (highest - kCodedBits) != bits) return std::nullopt;
  return code;
}
// Returns nullopt for a code that SpanCode never returns.
std::optional<int64_t> SpanOfCode(uint16_t code) {
  const int highest = code >> kCodedBits;
  const uint64_t behind = (code & ((1 << kCodedBits) - 1)) | 1 << kCodedBits;
  if (highest > 62) return std::nullopt;
  if (highest >= kCodedBits) return static_cast<int64_t>(behind << (highest - kCodedBits));
  const int unused = kCodedBits - highest;
  if ((behind & ((uint64_t{1} << unused) - 1)) != 0) return std::nullopt;
  return static_cast<int64_t>(behind >> unused);
}

bool IsExposureOfElapsed(const CrawlObservation& observation) {
  const Duration elapsed = observation.elapsed;
  return elapsed >= Duration() && observation.exposure == CoarseExposure(elapsed.seconds());
}

ExposureKind ExposureKindOf(const CrawlObservation& observation) {
  if (IsExposureOfElapsed(observation)) return kAsElapsed;
  const bool short_float = (std::bit_cast<uint32_t>(observation.exposure) & 0xFFFF) == 0;
  return short_float ? kUpperHalf : kWhole;
}

void WriteExposure(ExposureKind kind, float exposure, Writer& writer) {
  const auto bits = std::bit_cast<uint32_t>(exposure);
  if (kind == kUpperHalf) writer.U16(static_cast<uint16_t>(bits >> 16));
  if (kind == kWhole) writer.U32(bits);
}

// Returns false for bytes that WriteExposure does not write.
bool ReadExposure(int kind, CrawlObservation& observation, Reader& reader) {
  if (kind == kAsElapsed) {
    if (observation.elapsed < Duration()) return false;
    observation.exposure = CoarseExposure(observation.elapsed.seconds());
    return true;
  }
  if (kind == kUpperHalf) {
    observation.exposure = std::bit_cast<float>(uint32_t{reader.U16()} << 16);
  } else if (kind == kWhole) {
    observation.exposure = std::bit_cast<float>(reader.U32());
  }
  return ExposureKindOf(observation) == kind;
}

void WriteEntry(const SignalCounts::Entry& entry, Writer& writer) {
  const bool several = entry.count > 1;
  writer.U8(static_cast<uint8_t>(entry.source_class.packed() | (several ? kSeveralBit : 0)));
  if (several) writer.U8(entry.count);
}

// Returns false for bytes that WriteEntry does not write.
bool ReadEntry(SignalCounts::Entry& entry, Reader& reader) {
  const uint8_t head = reader.U8();
  entry.source_class = SourceClass(head & ~kSeveralBit & UINT8_MAX);
  entry.count = (head & kSeveralBit) != 0 ? reader.U8() : 1;
  return entry.count > ((head & kSeveralBit) != 0 ? 1 : 0);
}

void EncodeObservations(const std::vector<CrawlObservation>& observations, std::string* out) {
  Writer writer(out);
  int64_t before = 0;
  for (const CrawlObservation& observation : observations) {
    const int64_t step = WrappingSubtract(observation.fetched.micros(), before);
    const int used = observation.signals.used();
    const bool explicit_elapsed = observation.elapsed.micros() != step;
    const ExposureKind exposure = ExposureKindOf(observation);
    const bool full =
        !SpanCode(step) || (explicit_elapsed && !SpanCode(observation.elapsed.micros()));
    const auto write = [&](int64_t span) {
      full ? writer.Signed(span) : writer.U16(*SpanCode(span));
    };
    writer.U8(static_cast<uint8_t>((observation.changed ? kChangedBit : 0) |
                                   (explicit_elapsed ? kElapsedBit : 0) | used << kEntriesShift |
                                   (full ? kFullBit : 0) | exposure << kExposureShift));
    write(step);
    if (explicit_elapsed) write(observation.elapsed.micros());
    WriteExposure(exposure, observation.exposure, writer);
    for (int i = 0; i < used; ++i) WriteEntry(observation.signals.entries()[i], writer);
    before = observation.fetched.micros();
  }
}

bool DecodeObservations(std::string_view bytes, std::vector<CrawlObservation>* observations) {
  Reader reader(bytes);
  int64_t before = 0;
  while (reader.ok() && !reader.rest().empty()) {
    if (observations->size() == limits::kMaxObservations) return false;
    CrawlObservation& observation = observations->emplace_back();
    const uint8_t head = reader.U8();
    bool fine = true;
    const auto read = [&] {
      if ((head & kFullBit) != 0) return reader.Signed();
      const std::optional<int64_t> span = SpanOfCode(reader.U16());
      fine = fine && span.has_value();
      return span.value_or(0);
    };
    const int64_t step = read();
    const int used = head >> kEntriesShift & kEntriesMask;
    observation.changed = (head & kChangedBit) != 0;
    observation.fetched = Instant::FromMicros(WrappingAdd(before, step));
    observation.elapsed = Duration::Micros((head & kElapsedBit) != 0 ? read() : step);
    // Stored in full only if codes cannot express the spans.
    if ((head & kFullBit) != 0) {
      fine = !SpanCode(step) || !SpanCode(observation.elapsed.micros());
    }
    fine = fine && ReadExposure(head >> kExposureShift, observation, reader);
    if (!fine || used > SignalCounts::kCapacity) return false;
    std::array<SignalCounts::Entry, SignalCounts::kCapacity> entries{};
    for (int i = 0; i < used; ++i) fine = fine && ReadEntry(entries[i], reader);
    if (!fine) return false;
    observation.signals.set_entries(entries);
    before = observation.fetched.micros();
  }
  return reader.ok();
}

std::string EncodeStatistics(const PageStatistics& statistics) {
  std::string out;
  FieldWriter fields(&out);
  std::string recent;
  EncodeObservations(statistics.recent, &recent);
  fields.Bytes(kRecent, recent);
  fields.F64(kOldChanges, statistics.old_changes);
  fields.F64(kOldExposure, statistics.old_exposure);
  return out;
}

bool DecodeStatistics(std::string_view bytes, PageStatistics* statistics) {
  FieldReader fields(bytes);
  while (fields.Next()) {
    switch (fields.tag()) {
      case kRecent:
        if (!DecodeObservations(fields.Bytes(), &statistics->recent)) return false;
        break;
      case kOldChanges:
        statistics->old_changes = static_cast<float>(fields.F64());
        break;
      case kOldExposure:
        statistics->old_exposure = static_cast<float>(fields.F64());
        break;
      default:
        return false;
    }
  }
  return fields.done();
}

// Writes the host. If the host is a part of the URL, as usual, it is written as its position in the
// URL plus one, and its length. If not, it is written as a zero and the text.
void WriteHost(std::string_view host, std::string_view url, Writer& writer) {
  const size_t at = url.find(host);
  writer.Varint(at == std::string_view::npos ? 0 : at + 1);
  if (at == std::string_view::npos) return writer.Text(host);
  writer.Varint(host.size());
}

std::string_view ReadHost(std::string_view url, Reader& reader) {
  const uint64_t at = reader.Varint();
  if (at == 0) return reader.Text();
  const uint64_t size = reader.Varint();
  if (at > url.size() || size > url.size() - (at - 1)) {
    reader.Fail();
    return {};
  }
  return url.substr(at - 1, size);
}

std::string EncodeSignalIds(const std::vector<SignalId>& ids) {
  std::string out;
  Writer writer(&out);
  for (const SignalId& id : ids) {
    writer.U8(id.source);
    writer.U32(id.hash);
  }
  return out;
}

// Returns false for bytes that EncodeSignalIds does not write. The Decode and Read functions below
// do the same for their counterparts.
bool DecodeSignalIds(std::string_view bytes, std::vector<SignalId>* ids) {
  Reader reader(bytes);
  while (reader.ok() && !reader.rest().empty()) {
    SignalId& id = ids->emplace_back();
    id.source = reader.U8();
    id.hash = reader.U32();
  }
  return reader.ok();
}

std::string EncodeClaims(const std::vector<SourceClaim>& claims, Instant newest) {
  std::string out;
  Writer writer(&out);
  for (const SourceClaim& claim : claims) {
    writer.U8(claim.source);
    writer.Signed(WrappingSubtract(newest.micros(), claim.newest.micros()));
  }
  return out;
}

bool DecodeClaims(std::string_view bytes, Instant newest, std::vector<SourceClaim>* claims) {
  Reader reader(bytes);
  while (reader.ok() && !reader.rest().empty()) {
    SourceClaim& claim = claims->emplace_back();
    claim.source = reader.U8();
    claim.newest = Instant::FromMicros(WrappingSubtract(newest.micros(), reader.Signed()));
  }
  return reader.ok();
}

void WriteDetail(const PageDetail& detail, const PageState& state, std::string* value) {
  CHECK(detail.changes <= detail.crawls, "{} changes in {} crawls", detail.changes, detail.crawls);
  FieldWriter fields(value);
  fields.Bytes(kEtag, detail.etag);
  fields.Bytes(kLastModified, detail.last_modified);
  fields.Bytes(kDigest, detail.digest);
  fields.Unsigned(kCrawls, detail.crawls);
  fields.Unsigned(kChanges, detail.changes);
  fields.Unsigned(kLastOutcome, static_cast<uint8_t>(detail.last_outcome),
                  static_cast<uint8_t>(CrawlOutcome::kUnchanged));
  fields.Unsigned(kLastHttpStatus, detail.last_http_status);
  fields.Unsigned(kLastLease, detail.last_lease.value());
  fields.Signed(kLastResult,
                WrappingSubtract(detail.last_result.micros(), state.last_crawl.micros()));
  fields.Bytes(kStatistics, EncodeStatistics(detail.statistics));
  fields.Bytes(kMovedTo, detail.moved_to);
  fields.Unsigned(kDenials, detail.denials);
  fields.Bytes(kSignalIds, EncodeSignalIds(detail.signal_ids));
  fields.Bytes(kClaims, EncodeClaims(detail.claims, state.newest_claim));
}

// Returns false for bytes that WriteDetail does not write.
bool ReadDetail(std::string_view bytes, const PageState& state, PageDetail* detail) {
  *detail = PageDetail();
  detail->last_result = state.last_crawl;
  FieldReader fields(bytes);
  while (fields.Next()) {
    switch (fields.tag()) {
      case kEtag:
        detail->etag = fields.Bytes();
        break;
      case kLastModified:
        detail->last_modified = fields.Bytes();
        break;
      case kDigest:
        detail->digest = fields.Bytes();
        break;
      case kCrawls:
        detail->crawls = static_cast<uint32_t>(fields.Unsigned(UINT32_MAX));
        break;
      case kChanges:
        detail->changes = static_cast<uint32_t>(fields.Unsigned(UINT32_MAX));
        break;
      case kLastOutcome:
        detail->last_outcome = static_cast<CrawlOutcome>(fields.Unsigned(UINT8_MAX));
        break;
      case kLastHttpStatus:
        detail->last_http_status = static_cast<uint16_t>(fields.Unsigned(UINT16_MAX));
        break;
      case kLastLease:
        detail->last_lease = LeaseId(fields.Unsigned());
        break;
      case kLastResult:
        detail->last_result =
            Instant::FromMicros(WrappingAdd(state.last_crawl.micros(), fields.Signed()));
        break;
      case kStatistics:
        if (!DecodeStatistics(fields.Bytes(), &detail->statistics)) fields.Fail();
        break;
      case kMovedTo:
        detail->moved_to = fields.Bytes();
        break;
      case kDenials:
        detail->denials = static_cast<uint8_t>(fields.Unsigned(UINT8_MAX));
        break;
      case kSignalIds:
        if (!DecodeSignalIds(fields.Bytes(), &detail->signal_ids)) fields.Fail();
        break;
      case kClaims:
        if (!DecodeClaims(fields.Bytes(), state.newest_claim, &detail->claims)) fields.Fail();
        break;
      default:
        fields.Fail();
    }
  }
  return fields.done();
}

// Reads the parts before the detail. Returns false for bytes that EncodePage does not write.
bool ReadHead(Reader& reader, PageHead* head) {
  const uint64_t host_serial = reader.Varint();
  if (host_serial > UINT32_MAX || !ReadStateFields(reader, &head->spec, &head->state)) return false;
  head->host_serial = static_cast<uint32_t>(host_serial);
  head->crawl_id = reader.Text();
  head->url = reader.Text();
  return reader.ok();
}

}  // namespace

void EncodePage(std::string_view key, uint32_t host_serial, const PageRecord& page,
                std::string* value) {
  BeginValue(kPageVersion, value);
  Writer writer(value);
  writer.Varint(host_serial);
  WriteStateFields(page.spec, page.state, value);
  writer.Text(page.key.crawl_id);
  writer.Text(page.key.url);
  WriteHost(page.host, page.key.url, writer);
  WriteDetail(page.detail, page.state, value);
  SealValue(Family::kPages, key, value);
}

Status DecodePageHead(std::string_view key, std::string_view value, PageHead* head) {
  ASSIGN_OR_RETURN(const std::string_view payload,
                   OpenValue(Family::kPages, key, value, kPageVersion));
  Reader reader(payload);
  if (!ReadHead(reader, head)) return BadRow(Family::kPages, key, "malformed");
  Status valid = ValidateSpec(head->spec);
  if (valid.ok()) valid = ValidateState(head->state);
  return valid.ok() ? valid : BadRow(Family::kPages, key, valid);
}

Status DecodePage(std::string_view key, std::string_view value, PageRecord* page) {
  ASSIGN_OR_RETURN(const std::string_view payload,
                   OpenValue(Family::kPages, key, value, kPageVersion));
  const std::optional<PageNumber> number = ParsePageKey(key);
  if (!number) return BadRow(Family::kPages, key, "key is malformed");
  PageHead head;
  Reader reader(payload);
  if (!ReadHead(reader, &head)) return BadRow(Family::kPages, key, "malformed");
  page->host = ReadHost(head.url, reader);
  if (!reader.ok() || !ReadDetail(reader.rest(), head.state, &page->detail)) {
    return BadRow(Family::kPages, key, "malformed");
  }
  page->number = *number;
  page->key.crawl_id = head.crawl_id;
  page->key.url = head.url;
  page->spec = head.spec;
  page->state = head.state;
  const Status valid = ValidatePage(*page);
  return valid.ok() ? valid : BadRow(Family::kPages, key, valid);
}

}  // namespace freshet::storage
