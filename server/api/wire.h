// Reads messages from clients' bytes. Parsing amplifies: an empty item has 2 bytes on the wire and
// about 100 in memory. So messages are measured before they are parsed. If one text is not UTF-8,
// the generated code would end a whole stream. Here such a text is only a fault of its item.
#ifndef FRESHET_SERVER_API_WIRE_H_
#define FRESHET_SERVER_API_WIRE_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "server/base/limits.h"

namespace freshet {

// A text that is not UTF-8.
struct TextFault {
  int item = -1;      // position of its item in the outermost repeated field; -1 = none
  std::string field;  // name of the field in its message
};

[[nodiscard]] Status StatusOf(const TextFault& fault);

// Faults in the bytes of a message. Value type, thread-compatible.
struct MessageFaults {
  std::vector<TextFault> texts;  // at most one for each item and field, by rising item
  size_t items = 0;              // number of items, if the message was refused after measuring
};

// The size of a message after inflation, which is the number of received bytes unless they are
// gzip. Inflates nothing. Thread-safe.
[[nodiscard]] size_t SizeOf(const grpc::ByteBuffer& bytes);

// The bytes of a message in one piece, as received or inflated. Owner thread only.
class FlatMessage {
 public:
  FlatMessage() = default;
  FlatMessage(const FlatMessage&) = delete;
  FlatMessage& operator=(const FlatMessage&) = delete;

  // Takes the bytes, and inflates gzip. InvalidArgument: there is no message (an empty message is
  // valid), the bytes are damaged, or SizeOf is more than `most`, in which case nothing is
  // inflated. text() is then empty.
  [[nodiscard]] Status Take(grpc::ByteBuffer* bytes, size_t most);
  // The bytes of the message. The view is valid as long as this object lives.
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  grpc::Slice whole_;
  std::string inflated_;
  std::string_view text_;
};

// Reads `message` from `bytes`, inflating gzip, and frees the bytes. If a text is not UTF-8, its
// wrong bytes become '?', and `faults` lists the text.
//
// InvalidArgument, with the field if there is one: SizeOf is more than `most`; the bytes are not a
// message of this type; a message within it occurs twice; repeated fields have more than
// limits::kMaxItemsPerMessage elements; or there are more than limits::kMaxUnknownFieldsPerMessage
// unknown fields. If the message is valid but refused, its numbers are still set, except those that
// are repeated or within an item. So an answer can name the sequence.
//
// Cost: one walk and one parse in the normal case; two parses if texts are at fault.
[[nodiscard]] Status ParseMessage(grpc::ByteBuffer* bytes, google::protobuf::Message* message,
                                  MessageFaults* faults, size_t most);
// Reads `message` in the same way, from bytes in one piece.
[[nodiscard]] Status ParseMessage(std::string_view bytes, google::protobuf::Message* message,
                                  MessageFaults* faults);

// Whether a message of this type has a repeated field at any depth. Walks through the type.
[[nodiscard]] bool RepeatsSomething(const google::protobuf::Descriptor& type);

// The maximum size in bytes of a request of this type, if messages may have up to `most` bytes.
// Requests without a repeated field are limited to limits::kMaxPlainRequestBytes, too.
template <typename Request>
[[nodiscard]] size_t MostBytesOf(size_t most) {
  static const bool kRepeats = RepeatsSomething(*Request::descriptor());
  return kRepeats ? most : std::min(most, limits::kMaxPlainRequestBytes);
}

// Reads a request without items. A text that is not UTF-8 makes the whole request invalid.
[[nodiscard]] Status ReadWholeRequest(const grpc::ByteBuffer& bytes,
                                      google::protobuf::Message* request, size_t most);
template <typename Request>
[[nodiscard]] Status ReadRequest(const grpc::ByteBuffer& bytes, Request* request, size_t most) {
  return ReadWholeRequest(bytes, request, MostBytesOf<Request>(most));
}

// Serialises a message whose size the server limits.
[[nodiscard]] grpc::ByteBuffer SerialiseMessage(const google::protobuf::Message& message);
// Serialises a message of any size. ResourceExhausted: it is larger than an answer may be.
[[nodiscard]] StatusOr<grpc::ByteBuffer> SerialiseAnswer(const google::protobuf::Message& message);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_WIRE_H_
