#include "storage/internal/state_fields.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/base/check.h"
#include "core/model/page.h"

namespace freshet::storage {
namespace {

// The maximum number of bytes written: 32 fields of at most 13 bytes.
constexpr size_t kMostBytes = 4 + 32 * 13;

// Compares bits, so that minus zero and NaN are written as they are.
template <typename T>
bool Same(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
  } else {
    return a == b;
  }
}

template <typename T>
void Encode(T value, Writer& writer) {
  static_assert(std::is_arithmetic_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  writer.Raw({bytes, sizeof(T)});
}
void Encode(Instant value, Writer& writer) { writer.Time(value); }
void Encode(Duration value, Writer& writer) { writer.Span(value); }
void Encode(const BurstSignal& signal, Writer& writer) {
  writer.U32(signal.burst);
  writer.F32(signal.shift);
  writer.U8(signal.source_class.packed());
}
void Encode(const SignalCounts& signals, Writer& writer) {
  writer.U8(static_cast<uint8_t>(signals.used()));
  for (const SignalCounts::Entry& entry : signals.entries()) {
    if (entry.count == 0) continue;
    writer.U8(entry.source_class.packed());
    writer.U8(entry.count);
  }
}

void Decode(Reader& reader, double* value) { *value = reader.F64(); }
void Decode(Reader& reader, float* value) { *value = reader.F32(); }
void Decode(Reader& reader, uint8_t* value) { *value = reader.U8(); }
void Decode(Reader& reader, uint16_t* value) { *value = reader.U16(); }
void Decode(Reader& reader, Instant* value) { *value = reader.Time(); }
void Decode(Reader& reader, Duration* value) { *value = reader.Span(); }
void Decode(Reader& reader, BurstSignal* signal) {
  signal->burst = reader.U32();
  signal->shift = reader.F32();
  signal->source_class = SourceClass(reader.U8());
}
void Decode(Reader& reader, SignalCounts* signals) {
  std::array<SignalCounts::Entry, SignalCounts::kCapacity> entries{};
  const uint8_t used = reader.U8();
  if (used > entries.size()) return reader.Fail();
  for (uint8_t i = 0; i < used; ++i) {
    entries[i].source_class = SourceClass(reader.U8());
    entries[i].count = reader.U8();
    if (entries[i].count == 0) return reader.Fail();
  }
  signals->set_entries(entries);
}

// Owner thread only.
class FieldsWriter {
 public:
  explicit FieldsWriter(std::string* out) : out_(out), at_(out->size()), writer_(out) {
    writer_.U32(0);
  }
  template <typename T>
  void Field(T& value, const T& unwritten) {
    if (!Same<T>(value, unwritten)) {
      mask_ |= bit_;
      Encode(value, writer_);
    }
    bit_ <<= 1;
  }
  void Flag(bool& value) {
    if (value) mask_ |= bit_;
    bit_ <<= 1;
  }
  void Finish() { std::memcpy(out_->data() + at_, &mask_, sizeof(mask_)); }

 private:
  std::string* out_;
  size_t at_;  // position of the four bytes with the bits
  Writer writer_;
  uint32_t mask_ = 0;
  uint32_t bit_ = 1;
};

// Owner thread only.
class FieldsReader {
 public:
  explicit FieldsReader(Reader& reader) : reader_(reader), mask_(reader.U32()) {}
  template <typename T>
  void Field(T& value, const T& unwritten) {
    if ((mask_ & bit_) == 0) {
      value = unwritten;
    } else {
      Decode(reader_, &value);
      if (Same<T>(value, unwritten)) reader_.Fail();
    }
    bit_ <<= 1;
  }
  void Flag(bool& value) {
    value = (mask_ & bit_) != 0;
    bit_ <<= 1;
  }

 private:
  Reader& reader_;
  const uint32_t mask_;
  uint32_t bit_ = 1;
};

// Names every field once, in the order of the bits, which is frozen. The default of a field may be
// the value of an earlier field, because that field has already been read.
template <typename Fields>
void ForEachField(Fields& fields, PageSpec& spec, double& known_rate, PageState& state) {
  PageRates& rates = state.rates;
  fields.Flag(spec.complete_signals);
  fields.Flag(state.recheck);
  fields.Flag(state.gone);
  fields.Field(known_rate, -1.0);
  fields.Field(spec.importance, 1.0);
  fields.Field(spec.min_interval, Duration());
  fields.Field(spec.max_interval, Duration());
  fields.Field(spec.not_before, Instant());
  fields.Field(state.first_seen, Instant());
  fields.Field(state.last_crawl, Instant());
  fields.Field(state.staleness, state.crawled() ? 0 : kNeverCrawledStaleness);
  fields.Field(state.carried_at, state.crawled() ? state.last_crawl : state.first_seen);
  fields.Field(rates.change_rate, 0.0);
  fields.Field(rates.unsignalled_rate, rates.change_rate);
  fields.Field(rates.staleness_rate, rates.unsignalled_rate);
  fields.Field(rates.signal_rate, 0.0);
  fields.Field(rates.signal_weight, 0.0);
  fields.Field(rates.site, uint16_t{0});
  fields.Field(rates.age_bin, kAgeless);
  fields.Field(state.last_event, state.first_seen);
  fields.Field(state.evidence, 0.0F);
  fields.Field(state.evidence_exposure, 0.0F);
  fields.Field(state.exposure, 0.0);
  fields.Field(state.newest_claim, Instant());
  fields.Field(state.retry_at, Instant());
  fields.Field(state.errors, uint8_t{0});
  fields.Field(state.unanswered, uint8_t{0});
  fields.Field(state.returned, uint8_t{0});
  fields.Field(state.times_gone, uint8_t{0});
  fields.Field(state.signals, SignalCounts());
  for (BurstSignal& signal : state.bursts) fields.Field(signal, BurstSignal());
}

}  // namespace

void WriteStateFields(const PageSpec& spec, const PageState& state, std::string* out) {
  out->reserve(out->size() + kMostBytes);
  PageSpec written_spec = spec;
  PageState written_state = state;
  // A page without a known rate is stored with a rate that no page can have.
  double known_rate = spec.known_change_rate ? spec.known_change_rate->per_second() : -1.0;
  FieldsWriter fields(out);
  ForEachField(fields, written_spec, known_rate, written_state);
  fields.Finish();
}

bool ReadStateFields(Reader& reader, PageSpec* spec, PageState* state) {
  double known_rate = -1;
  FieldsReader fields(reader);
  ForEachField(fields, *spec, known_rate, *state);
  spec->known_change_rate.reset();
  if (known_rate != -1) spec->known_change_rate = Rate::PerSecond(known_rate);
  return reader.ok();
}

}  // namespace freshet::storage
