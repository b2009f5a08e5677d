// The records of pages: url, text, state, detail. Layout tables: docs/storage-format.md.
#include <bit>
#include <optional>

#include "core/base/check.h"
#include "storage/internal/codec.h"
#include "storage/internal/records.h"
#include "storage/internal/sealing.h"
#include "storage/internal/validate.h"

namespace freshet::storage {
namespace {

// Bits of the flag byte of a state.
constexpr uint8_t kCompleteSignals = 1;
constexpr uint8_t kKnownRate = 2;
constexpr uint8_t kRecheck = 4;
constexpr uint8_t kGone = 8;
constexpr uint8_t kAllFlags = 15;

// Of the payload of a state, by version.
constexpr size_t StatePayloadBytes(uint8_t version) {
  constexpr std::array<size_t, kStateVersion> kBytes = {kStateValueBytes1, kStateValueBytes2,
                                                        kStateValueBytes};
  return kBytes[version - 1U] - 1 - kChecksumBytes;
}

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
  kLastResult = 9,
  kStatistics = 10,
  kMovedTo = 11,
};

// Tags of the statistics within a detail. Frozen.
enum StatisticsTag : int {
  kRecent = 1,
  kOldChanges = 2,
  kOldExposure = 3,
};

// Head byte of an observation: bit 0 changed; bit 1 elapsed is written, else it is the time since
// the observation before; bits 2 to 4 number of signal entries; bit 5 spans are written in full,
// else each as a span code; bits 6 and 7 how the exposure is written.
constexpr uint8_t kChangedBit = 1;
constexpr uint8_t kElapsedBit = 2;
constexpr int kEntriesShift = 2;
constexpr int kEntriesMask = 7;
constexpr uint8_t kFullBit = 32;
constexpr int kExposureShift = 6;
enum ExposureKind : uint8_t {
  kAsElapsed = 0,  // what the elapsed time makes
  kUpperHalf = 1,  // the upper half of the float; the lower one is zero
  kWhole = 2,      // the float
};

// The byte of a signal entry is its source class, and this bit where a byte with the count follows;
// else the count is one.
constexpr uint8_t kSeveralBit = 128;
static_assert(kSourceClasses <= kSeveralBit);

// A span code: the position of the highest bit (6 bits), and the ten bits behind it. nullopt: more
// bits than that are set, or none.
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
// nullopt: SpanCode gives no such code.
std::optional<int64_t> SpanOfCode(uint16_t code) {
  const int highest = code >> kCodedBits;
  const uint64_t behind = (code & ((1 << kCodedBits) - 1)) | 1 << kCodedBits;
  if (highest > 62) return std::nullopt;
  if (highest >= kCodedBits) return static_cast<int64_t>(behind << (highest - kCodedBits));
  const int unused = kCodedBits - highest;
  if ((behind & ((uint64_t{1} << unused) - 1)) != 0) return std::nullopt;
  return static_cast<int64_t>(behind >> unused);
}

// Differences wrap around instead of overflowing: any two instants can be encoded.
int64_t WrappingSubtract(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t WrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

int UsedEntries(const SignalCounts& signals) {
  int used = 0;
  for (const SignalCounts::Entry& entry : signals.entries()) used += entry.count > 0;
  return used;
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

// False: nothing that WriteExposure writes.
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

// False: nothing that WriteEntry writes.
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
    const int used = UsedEntries(observation.signals);
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
    // Written in full only where codes do not do.
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

}  // namespace

void EncodeUrl(std::string_view key, uint64_t serial, std::string* value) {
  CHECK(serial >= 1 && serial <= kMaxSerial, "serial {}", serial);
  BeginValue(kUrlVersion, value);
  Writer(value).Varint(serial);
  SealValue(Family::kUrls, key, value);
}

Status DecodeUrl(std::string_view key, std::string_view value, uint64_t* serial) {
  ASSIGN_OR_RETURN(const std::string_view payload,
                   OpenValue(Family::kUrls, key, value, kUrlVersion));
  Reader reader(payload);
  *serial = reader.Varint();
  if (!reader.done() || *serial < 1 || *serial > kMaxSerial) {
    return BadRow(Family::kUrls, key, "serial is malformed");
  }
  return absl::OkStatus();
}

void EncodeText(std::string_view key, const PageKey& page, std::string_view host,
                std::string* value) {
  BeginValue(kTextVersion, value);
  Writer writer(value);
  writer.Text(page.crawl_id);
  writer.Text(host);
  writer.Raw(page.url);
  SealValue(Family::kTexts, key, value);
}

Status DecodeText(std::string_view key, std::string_view value, TextRow* row) {
  ASSIGN_OR_RETURN(const std::string_view payload,
                   OpenValue(Family::kTexts, key, value, kTextVersion));
  Reader reader(payload);
  row->key.crawl_id = reader.Text();
  row->host = reader.Text();
  row->key.url = reader.rest();
  if (!reader.ok()) return BadRow(Family::kTexts, key, "malformed");
  const Status valid = ValidateText(row->key, row->host);
  return valid.ok() ? valid : BadRow(Family::kTexts, key, valid);
}

void EncodeState(std::string_view key, uint32_t host_serial, uint64_t fingerprint,
                 const PageSpec& spec, const PageState& state, std::string* value) {
  BeginValue(kStateVersion, value);
  Writer writer(value);
  writer.U8(static_cast<uint8_t>((spec.complete_signals ? kCompleteSignals : 0) |
                                 (spec.known_change_rate ? kKnownRate : 0) |
                                 (state.recheck ? kRecheck : 0) | (state.gone ? kGone : 0)));
  writer.U8(state.errors);
  writer.U32(host_serial);
  writer.U64(fingerprint);
  writer.F64(spec.importance);
  writer.F64(state.rates.change_rate);
  writer.F64(state.rates.unsignalled_rate);
  writer.F64(state.rates.staleness_rate);
  writer.F64(state.rates.signal_rate);
  writer.F64(state.rates.signal_weight);
  writer.F32(state.evidence);
  writer.F32(state.evidence_exposure);
  writer.Time(state.newest_claim);
  writer.Time(state.last_event);
  writer.Time(state.first_seen);
  writer.Time(state.last_crawl);
  writer.Time(state.carried_at);
  writer.U16(state.rates.site);
  writer.U8(state.rates.age_bin);
  writer.F64(state.staleness);
  writer.F64(state.exposure);
  for (const SignalCounts::Entry& entry : state.signals.entries()) {
    writer.U8(entry.source_class.packed());
    writer.U8(entry.count);
  }
  for (const BurstSignal& signal : state.bursts) {
    writer.U32(signal.burst);
    writer.F32(signal.shift);
    writer.U8(signal.source_class.packed());
  }
  writer.Time(state.retry_at);
  writer.Span(spec.min_interval);
  writer.Span(spec.max_interval);
  writer.Time(spec.not_before);
  writer.F64(spec.known_change_rate ? spec.known_change_rate->per_second() : 0);
  writer.U8(state.unanswered);
  writer.U8(state.returned);
  writer.U8(state.times_gone);
  SealValue(Family::kStates, key, value);
  CHECK(value->size() == kStateValueBytes, "{} bytes", value->size());
}

Status DecodeState(std::string_view key, std::string_view value, StateRow* row) {
  const uint8_t version = value.starts_with('\1') || value.starts_with('\2')
                              ? static_cast<uint8_t>(value.front())
                              : kStateVersion;
  ASSIGN_OR_RETURN(const std::string_view payload, OpenValue(Family::kStates, key, value, version));
  // Every start decodes all states: one check of the length stands for one at each field.
  if (payload.size() != StatePayloadBytes(version)) {
    return BadRow(Family::kStates, key, "malformed");
  }
  FixedReader reader(payload.data());
  const uint8_t flags = reader.U8();
  PageSpec& spec = row->spec;
  PageState& state = row->state;
  spec.complete_signals = (flags & kCompleteSignals) != 0;
  state.recheck = (flags & kRecheck) != 0;
  state.gone = (flags & kGone) != 0;
  state.errors = reader.U8();
  row->host_serial = reader.U32();
  row->fingerprint = reader.U64();
  spec.importance = reader.F64();
  state.rates.change_rate = reader.F64();
  state.rates.unsignalled_rate = reader.F64();
  state.rates.staleness_rate = reader.F64();
  state.rates.signal_rate = reader.F64();
  state.rates.signal_weight = reader.F64();
  state.evidence = reader.F32();
  state.evidence_exposure = reader.F32();
  state.newest_claim = reader.Time();
  state.last_event = reader.Time();
  state.first_seen = reader.Time();
  state.last_crawl = reader.Time();
  state.carried_at = reader.Time();
  state.rates.site = reader.U16();
  state.rates.age_bin = reader.U8();
  state.staleness = reader.F64();
  state.exposure = reader.F64();
  std::array<SignalCounts::Entry, SignalCounts::kCapacity> entries{};
  for (SignalCounts::Entry& entry : entries) {
    entry.source_class = SourceClass(reader.U8());
    entry.count = reader.U8();
  }
  state.signals.set_entries(entries);
  for (BurstSignal& signal : state.bursts) {
    signal.burst = reader.U32();
    signal.shift = reader.F32();
    if (version == kStateVersion) {
      signal.source_class = SourceClass(reader.U8());
    } else {
      signal = BurstSignal();  // it told a weight, which says nothing here
    }
  }
  state.retry_at = reader.Time();
  spec.min_interval = reader.Span();
  spec.max_interval = reader.Span();
  spec.not_before = reader.Time();
  const Rate known_rate = Rate::PerSecond(reader.F64());
  if ((flags & kKnownRate) != 0) {
    spec.known_change_rate = known_rate;
  } else {
    spec.known_change_rate.reset();
  }
  state.unanswered = version == 1 ? 0 : reader.U8();
  state.returned = version == 1 ? 0 : reader.U8();
  state.times_gone = version == 1 ? 0 : reader.U8();
  CHECK(reader.at() == payload.data() + payload.size());
  if (flags > kAllFlags) return BadRow(Family::kStates, key, "malformed");
  Status valid = ValidateSpec(spec);
  if (valid.ok()) valid = ValidateState(state);
  return valid.ok() ? valid : BadRow(Family::kStates, key, valid);
}

void EncodeDetail(std::string_view key, const PageDetail& detail, std::string* value) {
  CHECK(detail.changes <= detail.crawls, "{} changes in {} crawls", detail.changes, detail.crawls);
  BeginValue(kDetailVersion, value);
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
  fields.Time(kLastResult, detail.last_result);
  fields.Bytes(kStatistics, EncodeStatistics(detail.statistics));
  fields.Bytes(kMovedTo, detail.moved_to);
  SealValue(Family::kDetails, key, value);
}

Status DecodeDetail(std::string_view key, std::string_view value, PageDetail* detail) {
  ASSIGN_OR_RETURN(const std::string_view payload,
                   OpenValue(Family::kDetails, key, value, kDetailVersion));
  *detail = PageDetail();
  FieldReader fields(payload);
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
        detail->last_result = fields.Time();
        break;
      case kStatistics:
        if (!DecodeStatistics(fields.Bytes(), &detail->statistics)) fields.Fail();
        break;
      case kMovedTo:
        detail->moved_to = fields.Bytes();
        break;
      default:
        fields.Fail();
    }
  }
  if (!fields.done()) return BadRow(Family::kDetails, key, "malformed");
  const Status valid = ValidateDetail(*detail);
  return valid.ok() ? valid : BadRow(Family::kDetails, key, valid);
}

}  // namespace freshet::storage
