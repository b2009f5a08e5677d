// Bytes of values: fixed-width little-endian numbers, variable-length integers and tagged fields.
// Readers get bytes from disk, so they never fail a CHECK, never read past the end, and report the
// first error.
//
// Tagged fields make a record easy to extend. A field is one byte (tag << 2 | kind) and its
// content; fields come in ascending order of tag, and a field with its default value is left out. A
// new field gets a new tag, and a tag is never reused. A tag that the reader does not know is an
// error, because a newer release wrote it.
//
//   kind 0: varint      kind 1: 8 bytes, little endian      kind 2: varint length, bytes
#ifndef FRESHET_STORAGE_INTERNAL_CODEC_H_
#define FRESHET_STORAGE_INTERNAL_CODEC_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/base/units.h"

namespace freshet::storage {

static_assert(std::endian::native == std::endian::little,
              "values are stored as they lie in memory");

// Differences wrap around instead of overflowing: any two instants can be encoded.
inline int64_t WrappingSubtract(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t WrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// Appends to a string that the caller owns. Thread-compatible.
class Writer {
 public:
  explicit Writer(std::string* out) : out_(out) {}

  void U8(uint8_t value) { out_->push_back(static_cast<char>(value)); }
  void U16(uint16_t value) { Fixed(value); }
  void U32(uint32_t value) { Fixed(value); }
  void U64(uint64_t value) { Fixed(value); }
  void F32(float value) { Fixed(value); }
  void F64(double value) { Fixed(value); }
  void Time(Instant value) { Fixed(value.micros()); }
  void Span(Duration value) { Fixed(value.micros()); }
  // Seven bits in each byte, lowest bits first; the top bit is set in all bytes but the last.
  void Varint(uint64_t value) {
    while (value >= 0x80) {
      U8(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    U8(static_cast<uint8_t>(value));
  }
  // Encodes small magnitudes of either sign as small varints: 0, -1, 1, -2, ... become 0, 1, 2, 3,
  // ...
  void Signed(int64_t value) {
    Varint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  void Text(std::string_view value) {
    Varint(value.size());
    out_->append(value);
  }
  void Raw(std::string_view value) { out_->append(value); }

 private:
  template <typename T>
  void Fixed(T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out_->append(bytes, sizeof(T));
  }

  std::string* out_;
};

// Reads the fixed-size numbers that a Writer writes. `Source` has Fixed<T>(), which returns the
// next sizeof(T) bytes as a T. Thread-compatible.
template <typename Source>
class FixedNumbers {
 public:
  uint8_t U8() { return Next<uint8_t>(); }
  uint16_t U16() { return Next<uint16_t>(); }
  uint32_t U32() { return Next<uint32_t>(); }
  uint64_t U64() { return Next<uint64_t>(); }
  float F32() { return Next<float>(); }
  double F64() { return Next<double>(); }
  Instant Time() { return Instant::FromMicros(Next<int64_t>()); }
  Duration Span() { return Duration::Micros(Next<int64_t>()); }

 private:
  template <typename T>
  T Next() {
    return static_cast<Source*>(this)->template Fixed<T>();
  }
};

// Reads bytes in the order in which a Writer wrote them. After the first failure every read gives
// zero or nothing and ok() stays false. Thread-compatible. The bytes must outlive the reader.
class Reader : public FixedNumbers<Reader> {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  // Fails if there are more than ten bytes or more than 64 bits, or if the encoding is longer than
  // necessary.
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = U8();
      if (!ok_ || (shift == 63 && byte > 1) || (shift > 0 && byte == 0)) break;
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  int64_t Signed() {
    const uint64_t value = Varint();
    return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
  }
  std::string_view Text() { return Raw(Varint()); }
  std::string_view Raw(uint64_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  [[nodiscard]] bool ok() const { return ok_; }
  // Returns true if everything was read without errors.
  [[nodiscard]] bool done() const { return ok_ && rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  void Fail() { ok_ = false; }

 private:
  friend class FixedNumbers<Reader>;
  template <typename T>
  T Fixed() {
    T value{};
    const std::string_view bytes = Raw(sizeof(T));
    if (ok_) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  std::string_view rest_;
  bool ok_ = true;
};

// Reads numbers from bytes whose length was checked before. Thread-compatible. The bytes must
// outlive the reader.
class FixedReader : public FixedNumbers<FixedReader> {
 public:
  explicit FixedReader(const char* bytes) : at_(bytes) {}

  [[nodiscard]] const char* at() const { return at_; }

 private:
  friend class FixedNumbers<FixedReader>;
  template <typename T>
  T Fixed() {
    T value{};
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  const char* at_;
};

enum class FieldKind : uint8_t { kVarint = 0, kFixed = 1, kBytes = 2 };

// Writes tagged fields in ascending order of tag, 1 to 63. Fields at their default are left out.
// Thread-compatible.
class FieldWriter {
 public:
  explicit FieldWriter(std::string* out) : writer_(out) {}

  void Unsigned(int tag, uint64_t value, uint64_t omitted = 0) {
    if (value == omitted) return;
    Head(tag, FieldKind::kVarint);
    writer_.Varint(value);
  }
  void Signed(int tag, int64_t value, int64_t omitted = 0) {
    if (value == omitted) return;
    Head(tag, FieldKind::kVarint);
    writer_.Signed(value);
  }
  void Time(int tag, Instant value) { Signed(tag, value.micros()); }
  void F64(int tag, double value, double omitted = 0) {
    // Compared as bits: minus zero and NaN are written as they are.
    if (std::bit_cast<uint64_t>(value) == std::bit_cast<uint64_t>(omitted)) return;
    Head(tag, FieldKind::kFixed);
    writer_.F64(value);
  }
  void Bytes(int tag, std::string_view value) {
    if (value.empty()) return;
    Head(tag, FieldKind::kBytes);
    writer_.Text(value);
  }

 private:
  void Head(int tag, FieldKind kind) {
    CHECK(tag > last_tag_ && tag < 64, "tag {} after {}", tag, last_tag_);
    last_tag_ = tag;
    writer_.U8(static_cast<uint8_t>(tag << 2 | static_cast<int>(kind)));
  }

  Writer writer_;
  int last_tag_ = 0;
};

// Reads tagged fields one at a time: while (fields.Next()) switch (fields.tag()) { case ... take a
// value ...; default: fields.Fail(); }. Reading fails if a value is read as a kind other than the
// one that was written, or is not read at all. Thread-compatible.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : reader_(bytes) {}

  // Moves to the next field. Returns false at the end and after a failure.
  [[nodiscard]] bool Next() {
    if (pending_) reader_.Fail();
    if (!reader_.ok() || reader_.rest().empty()) return false;
    const uint8_t head = reader_.U8();
    const int tag = head >> 2;
    if (tag <= tag_ || (head & 3) > static_cast<int>(FieldKind::kBytes)) {
      reader_.Fail();
      return false;
    }
    tag_ = tag;
    kind_ = static_cast<FieldKind>(head & 3);
    pending_ = true;
    return true;
  }
  [[nodiscard]] int tag() const { return tag_; }

  uint64_t Unsigned(uint64_t max = UINT64_MAX) {
    const uint64_t value = Take(FieldKind::kVarint) ? reader_.Varint() : 0;
    if (value > max) reader_.Fail();
    return value;
  }
  int64_t Signed() { return Take(FieldKind::kVarint) ? reader_.Signed() : 0; }
  Instant Time() { return Instant::FromMicros(Signed()); }
  double F64() { return Take(FieldKind::kFixed) ? reader_.F64() : 0; }
  std::string_view Bytes() { return Take(FieldKind::kBytes) ? reader_.Text() : std::string_view(); }

  void Fail() { reader_.Fail(); }
  [[nodiscard]] bool done() const { return reader_.done() && !pending_; }

 private:
  bool Take(FieldKind kind) {
    if (!pending_ || kind != kind_) reader_.Fail();
    pending_ = false;
    return reader_.ok();
  }

  Reader reader_;
  int tag_ = 0;
  FieldKind kind_ = FieldKind::kVarint;
  bool pending_ = false;
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_CODEC_H_
