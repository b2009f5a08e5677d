#include "server/api/wire.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/base/check.h"
#include "core/base/text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/wire_format.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpcpp/support/proto_buffer_writer.h"
#include "server/api/inflate.h"
#include "server/base/answer_limits.h"
#include "server/base/limits.h"

namespace freshet {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormat;
using google::protobuf::internal::WireFormatLite;

// Freshet's messages nest four deep; messages from outside can nest deeper.
constexpr int kMaxDepth = 16;

// Reads a varint at `*pos`, and moves `*pos` past it; nullopt = there is none.
std::optional<uint64_t> ReadVarint(std::string_view bytes, size_t* pos) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && *pos < bytes.size(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[(*pos)++]);
    value |= uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5 };

// One encoded field.
struct WireField {
  int number = 0;
  WireType type = kVarint;
  uint64_t value = 0;  // the value of a varint
  size_t begin = 0;    // beginning of the content; for a varint, the end of the field
  size_t end = 0;      // end of the content
};

// Reads the field at `*pos` < `end`, and moves `*pos` past it; false = there is none.
bool ReadField(std::string_view bytes, size_t end, size_t* pos, WireField* field) {
  const std::string_view message = bytes.substr(0, end);
  const auto tag = ReadVarint(message, pos);
  if (!tag || *tag > UINT32_MAX || *tag < 8) return false;
  field->number = static_cast<int>(*tag >> 3);
  field->type = static_cast<WireType>(*tag & 7);
  uint64_t size = 0;
  switch (field->type) {
    case kVarint: {
      const auto value = ReadVarint(message, pos);
      if (!value) return false;
      field->value = *value;
      break;
    }
    case kFixed64:
      size = 8;
      break;
    case kFixed32:
      size = 4;
      break;
    case kDelimited: {
      const auto length = ReadVarint(message, pos);
      if (!length) return false;
      size = *length;
      break;
    }
    default:
      return false;  // groups do not exist in proto3
  }
  if (size > end - *pos) return false;
  field->begin = *pos;
  field->end = *pos += static_cast<size_t>(size);
  return true;
}

// The field of `type` that these bytes encode; nullptr = they are kept as an unknown field.
const FieldDescriptor* KnownField(const Descriptor& type, const WireField& field) {
  const FieldDescriptor* known = type.FindFieldByNumber(field.number);
  if (known == nullptr) return nullptr;
  const int expected = WireFormat::WireTypeForFieldType(known->type());
  const bool packed = field.type == kDelimited && known->is_packable();
  return field.type == expected || packed ? known : nullptr;
}

// The number of elements that these bytes add to a repeated field.
size_t Elements(std::string_view bytes, const WireField& field, const FieldDescriptor& known) {
  if (field.type != kDelimited || !known.is_packable()) return 1;
  const size_t size = field.end - field.begin;
  switch (WireFormat::WireTypeForFieldType(known.type())) {
    case WireFormatLite::WIRETYPE_FIXED64:
      return size / 8;
    case WireFormatLite::WIRETYPE_FIXED32:
      return size / 4;
    default:  // in packed varints, every element ends with a byte below 0x80
      return static_cast<size_t>(
          std::count_if(bytes.begin() + static_cast<ptrdiff_t>(field.begin),
                        bytes.begin() + static_cast<ptrdiff_t>(field.end),
                        [](char c) { return (static_cast<uint8_t>(c) & 0x80) == 0; }));
  }
}

// Walks through bytes, and counts what a message parsed from them would hold. Allocates nothing.
// Owner thread only.
class Survey {
 public:
  explicit Survey(std::string_view bytes) : bytes_(bytes) {}

  // Walks one message. False = the bytes are not a message.
  bool Walk(const Descriptor& type, size_t begin, size_t end, int depth) {
    if (depth > kMaxDepth) return false;
    // Which fields with a single message were seen so far: one bit for each index of a field.
    // Fields from index 63 on share a bit.
    uint64_t seen = 0;
    WireField field;
    for (size_t pos = begin; pos < end;) {
      if (!ReadField(bytes_, end, &pos, &field)) return false;
      const FieldDescriptor* known = KnownField(type, field);
      if (known == nullptr) {
        ++unknown_;
        continue;
      }
      const bool message = known->type() == FieldDescriptor::TYPE_MESSAGE;
      if (known->is_repeated()) {
        items_ += Elements(bytes_, field, *known);
        if (longest_ == nullptr) longest_ = known;
      } else if (message) {
        const uint64_t bit = uint64_t{1} << std::min(known->index(), 63);
        if ((seen & bit) != 0) twice_ = known;
        seen |= bit;
      }
      if (message && !Walk(*known->message_type(), field.begin, field.end, depth + 1)) return false;
    }
    return true;
  }
  // Checks the counts against the limits. Not OK: the message must not be parsed.
  [[nodiscard]] Status Verdict() const {
    if (items_ > static_cast<size_t>(limits::kMaxItemsPerMessage)) {
      return InvalidArgument("{}: {} items, at most {} are allowed in a message", longest_->name(),
                             items_, limits::kMaxItemsPerMessage);
    }
    if (unknown_ > limits::kMaxUnknownFieldsPerMessage) {
      return InvalidArgument("the message has {} unknown fields; at most {} are allowed", unknown_,
                             limits::kMaxUnknownFieldsPerMessage);
    }
    if (twice_ != nullptr) return InvalidArgument("{}: occurs twice", twice_->name());
    return absl::OkStatus();
  }
  [[nodiscard]] size_t items() const { return items_; }

 private:
  const std::string_view bytes_;
  size_t items_ = 0;
  size_t unknown_ = 0;
  const FieldDescriptor* longest_ = nullptr;  // the first repeated field
  const FieldDescriptor* twice_ = nullptr;
};

// Sets those numbers of `message` that are not in repeated fields. Precondition: Survey has walked
// the bytes.
void ReadNumbers(std::string_view bytes, size_t begin, size_t end,
                 google::protobuf::Message* message) {
  WireField field;
  for (size_t pos = begin; pos < end;) {
    if (!ReadField(bytes, end, &pos, &field)) return;
    const FieldDescriptor* known = KnownField(*message->GetDescriptor(), field);
    if (known == nullptr || known->is_repeated()) continue;
    const google::protobuf::Reflection& reflection = *message->GetReflection();
    if (known->type() == FieldDescriptor::TYPE_UINT64) {
      reflection.SetUInt64(message, known, field.value);
    } else if (known->type() == FieldDescriptor::TYPE_MESSAGE) {
      ReadNumbers(bytes, field.begin, field.end, reflection.MutableMessage(message, known));
    }
  }
}

// Replaces bytes that are not UTF-8. Returns true if there were any.
bool Repair(char* text, size_t size) {
  bool repaired = false;
  size_t pos = 0;
  while ((pos += ValidUtf8Prefix({text + pos, size - pos})) < size) {
    text[pos++] = '?';
    repaired = true;
  }
  return repaired;
}

// Adds a fault, unless the same field of the same item already has one.
void AddFault(int item, const std::string& field, std::vector<TextFault>* faults) {
  for (auto it = faults->rbegin(); it != faults->rend() && it->item == item; ++it) {
    if (it->field == field) return;
  }
  faults->push_back({item, field});
}

// Walks the fields of the message in bytes[begin, end), and repairs its texts in place, so no
// length changes. `item` is the item to which the message belongs; -1 = none. Precondition: Survey
// has walked the bytes.
void RepairTexts(const Descriptor& type, std::string* bytes, size_t begin, size_t end, int item,
                 std::vector<TextFault>* faults) {
  int next = 0;  // next item of the repeated field
  WireField field;
  for (size_t pos = begin; pos < end;) {
    if (!ReadField(*bytes, end, &pos, &field)) return;
    const FieldDescriptor* known = KnownField(type, field);
    if (known == nullptr || field.type != kDelimited) continue;
    const int inner = item < 0 && known->is_repeated() ? next++ : item;
    if (known->type() == FieldDescriptor::TYPE_STRING) {
      if (Repair(bytes->data() + field.begin, field.end - field.begin)) {
        AddFault(inner, known->name(), faults);
      }
    } else if (known->type() == FieldDescriptor::TYPE_MESSAGE) {
      RepairTexts(*known->message_type(), bytes, field.begin, field.end, inner, faults);
    }
  }
}

// Whether this type has a repeated field at any depth. Freshet's messages do not contain
// themselves.
bool RepeatsWithin(const Descriptor& type, int depth) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.is_repeated()) return true;
    if (field.message_type() != nullptr && depth < kMaxDepth &&
        RepeatsWithin(*field.message_type(), depth + 1)) {
      return true;
    }
  }
  return false;
}

bool Parse(std::string_view bytes, google::protobuf::Message* message) {
  return message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace

Status StatusOf(const TextFault& fault) {
  return InvalidArgument("{}: is not valid UTF-8", fault.field);
}

size_t SizeOf(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  const size_t length = bytes.Length();
  if (length < kGzipSizeBytes || !bytes.Dump(&slices).ok()) return length;
  // The first and the last bytes can be spread over several slices.
  std::string first;
  std::string last;
  for (const grpc::Slice& slice : slices) {
    const std::string_view part(reinterpret_cast<const char*>(slice.begin()), slice.size());
    if (first.size() < kGzipSizeBytes) first += part.substr(0, kGzipSizeBytes - first.size());
    last += part.substr(part.size() - std::min(part.size(), kGzipSizeBytes));
    last.erase(0, last.size() - std::min(last.size(), kGzipSizeBytes));
  }
  return IsGzip(first) ? std::max(length, SizeFromTrailer(last)) : length;
}

bool RepeatsSomething(const Descriptor& type) { return RepeatsWithin(type, 0); }

Status FlatMessage::Take(grpc::ByteBuffer* bytes, size_t most) {
  CHECK(bytes != nullptr);
  text_ = {};
  // The buffer is invalid if the client broke off before its message was complete. An empty message
  // is valid.
  if (!bytes->Valid()) return InvalidArgument("the call has no message");
  if (const size_t size = SizeOf(*bytes); size > most) {
    bytes->Clear();
    return InvalidArgument("the message has {} bytes, at most {} are allowed", size, most);
  }
  // The bytes are copied because of a fault of gRPC 1.51: if memory is short, gRPC ends the process
  // when a slice that counts toward its quota is freed outside gRPC's functions. ByteBuffer::Clear
  // is one of gRPC's functions.
  const bool read = bytes->Length() == 0 || bytes->DumpToSingleSlice(&whole_).ok();
  // Frees the received bytes now, because they are as large as the message.
  bytes->Clear();
  if (!read) return InvalidArgument("the message cannot be read");
  const std::string_view flat(reinterpret_cast<const char*>(whole_.begin()), whole_.size());
  if (IsGzip(flat)) {
    ASSIGN_OR_RETURN(inflated_, Inflate(flat, most));
    whole_ = grpc::Slice();
    text_ = inflated_;
  } else {
    text_ = flat;
  }
  return absl::OkStatus();
}

Status ParseMessage(std::string_view bytes, google::protobuf::Message* message,
                    MessageFaults* faults) {
  CHECK(message != nullptr && faults != nullptr);
  const Descriptor& type = *message->GetDescriptor();
  const Status none = InvalidArgument("the message is not a valid {}", type.full_name());
  Survey survey(bytes);
  if (bytes.size() > INT32_MAX || !survey.Walk(type, 0, bytes.size(), 0)) return none;
  if (Status verdict = survey.Verdict(); !verdict.ok()) {
    ReadNumbers(bytes, 0, bytes.size(), message);
    faults->items = survey.items();
    return verdict;
  }
  if (Parse(bytes, message)) return absl::OkStatus();
  std::string repaired(bytes);
  message->Clear();
  RepairTexts(type, &repaired, 0, repaired.size(), -1, &faults->texts);
  // If a message has two repeated fields, the items can come in any order.
  std::stable_sort(faults->texts.begin(), faults->texts.end(),
                   [](const TextFault& a, const TextFault& b) { return a.item < b.item; });
  if (!faults->texts.empty() && Parse(repaired, message)) return absl::OkStatus();
  faults->texts.clear();
  message->Clear();
  return none;
}

Status ParseMessage(grpc::ByteBuffer* bytes, google::protobuf::Message* message,
                    MessageFaults* faults, size_t most) {
  FlatMessage flat;
  RETURN_IF_ERROR(flat.Take(bytes, most));
  return ParseMessage(flat.text(), message, faults);
}

Status ReadWholeRequest(const grpc::ByteBuffer& bytes, google::protobuf::Message* request,
                        size_t most) {
  grpc::ByteBuffer shared(bytes);
  MessageFaults faults;
  RETURN_IF_ERROR(ParseMessage(&shared, request, &faults, most));
  return faults.texts.empty() ? absl::OkStatus() : StatusOf(faults.texts.front());
}

StatusOr<grpc::ByteBuffer> SerialiseAnswer(const google::protobuf::Message& message) {
  const size_t size = message.ByteSizeLong();
  if (size <= limits::kMaxAnswerBytes) return SerialiseMessage(message);
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "the answer would have {} bytes, more than the limit of {}: ask for less", size,
                    limits::kMaxAnswerBytes);
}

grpc::ByteBuffer SerialiseMessage(const google::protobuf::Message& message) {
  grpc::ByteBuffer bytes;
  const size_t size = message.ByteSizeLong();
  grpc::ProtoBufferWriter writer(
      &bytes, static_cast<int>(std::max<size_t>(1, std::min<size_t>(size, 1 << 20))),
      static_cast<int>(size));
  CHECK(message.SerializeToZeroCopyStream(&writer), "{}", message.GetDescriptor()->full_name());
  return bytes;
}

}  // namespace freshet
