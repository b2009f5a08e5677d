#include "server/wire.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "core/base/check.h"
#include "google/protobuf/descriptor.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/proto_buffer_writer.h"

namespace freshet {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Our messages nest four deep; bytes from outside may pretend to more.
constexpr int kMaxDepth = 16;

// Reads a varint at `pos` and moves behind it; nullopt when there is none.
std::optional<uint64_t> ReadVarint(std::string_view bytes, size_t* pos) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && *pos < bytes.size(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[(*pos)++]);
    value |= uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// Replaces what is not UTF-8; returns whether there was any.
bool Repair(char* text, size_t size) {
  bool repaired = false;
  size_t pos = 0;
  while ((pos += ValidUtf8Prefix({text + pos, size - pos})) < size) {
    text[pos++] = '?';
    repaired = true;
  }
  return repaired;
}

enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5 };

// Moves behind what says how long the content of a field is.
bool ReadContentSize(std::string_view bytes, uint64_t wire, size_t* pos, size_t* size) {
  switch (wire) {
    case kVarint:
      return ReadVarint(bytes, pos).has_value();
    case kFixed64:
      *size = 8;
      return true;
    case kFixed32:
      *size = 4;
      return true;
    case kDelimited: {
      const auto length = ReadVarint(bytes, pos);
      if (!length || *length > bytes.size()) return false;
      *size = static_cast<size_t>(*length);
      return true;
    }
    default:
      return false;
  }
}

// Walks the fields of the message in bytes[begin, end) and repairs its texts in place, so that no
// length changes. `item` is the item that the message belongs to. False: this is no message.
bool RepairTexts(const Descriptor& type, std::string* bytes, size_t begin, size_t end, int item,
                 int depth, std::vector<TextFault>* faults) {
  const std::string_view message = std::string_view(*bytes).substr(0, end);
  absl::flat_hash_map<int, int> seen;  // repeated fields, by number
  for (size_t pos = begin; pos < end;) {
    const auto tag = ReadVarint(message, &pos);
    if (!tag || *tag > UINT32_MAX || depth > kMaxDepth) return false;
    size_t size = 0;
    if (!ReadContentSize(message, *tag & 7, &pos, &size) || size > end - pos) return false;
    const FieldDescriptor* field = type.FindFieldByNumber(static_cast<int>(*tag >> 3));
    if (field != nullptr && (*tag & 7) == kDelimited) {
      const int inner = field->is_repeated() ? seen[field->number()]++ : item;
      if (field->type() == FieldDescriptor::TYPE_STRING) {
        if (Repair(bytes->data() + pos, size)) faults->push_back({inner, field->name()});
      } else if (field->type() == FieldDescriptor::TYPE_MESSAGE) {
        const Descriptor& inner_type = *field->message_type();
        if (!RepairTexts(inner_type, bytes, pos, pos + size, inner, depth + 1, faults)) {
          return false;
        }
      }
    }
    pos += size;
  }
  return true;
}

}  // namespace

size_t ValidUtf8Prefix(std::string_view text) {
  size_t pos = 0;
  while (pos < text.size()) {
    const auto lead = static_cast<uint8_t>(text[pos]);
    if (lead < 0x80) {
      ++pos;
      continue;
    }
    const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() - pos < length) break;
    // The second byte alone tells overlong forms, surrogates and what lies beyond U+10FFFF.
    const auto second = static_cast<uint8_t>(text[pos + 1]);
    const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (second < low || second > high) break;
    const auto continues = [&](size_t i) { return (text[pos + i] & 0xC0) == 0x80; };
    if ((length > 2 && !continues(2)) || (length > 3 && !continues(3))) break;
    pos += length;
  }
  return pos;
}

Status ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message* message,
                    std::vector<TextFault>* faults) {
  CHECK(message != nullptr && faults != nullptr);
  // Reading takes the buffer's slices; a second buffer shares them.
  grpc::ByteBuffer copy(bytes);
  {
    grpc::ProtoBufferReader reader(&copy);
    if (message->ParseFromZeroCopyStream(&reader) && reader.status().ok()) return absl::OkStatus();
  }
  std::vector<grpc::Slice> slices;
  if (!bytes.Dump(&slices).ok()) return InvalidArgument("the message cannot be read");
  std::string flat;
  flat.reserve(bytes.Length());
  for (const grpc::Slice& slice : slices) {
    flat.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  message->Clear();
  if (RepairTexts(*message->GetDescriptor(), &flat, 0, flat.size(), -1, 0, faults) &&
      !faults->empty() && message->ParseFromString(flat)) {
    return absl::OkStatus();
  }
  faults->clear();
  message->Clear();
  return InvalidArgument("the bytes are no {}", message->GetDescriptor()->full_name());
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
