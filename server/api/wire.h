// Reads messages from clients' bytes. Parsing amplifies: an empty item is 2 bytes on the wire and
// about 100 in memory. So messages are measured before they are parsed. The generated code also
// ends a whole stream if one text is not UTF-8; here such a text is a fault of its item.
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
  int item = -1;      // position in the outermost repeated field around it; -1 = in none
  std::string field;  // name of the field in its message
};

[[nodiscard]] Status StatusOf(const TextFault& fault);

// Faults in the bytes of a message. Value type, thread-compatible.
struct MessageFaults {
  std::vector<TextFault> texts;  // one for an item and field, by rising item
  size_t items = 0;              // the number of items, if the message is refused for it
};

// The bytes of a message once it is inflated: as many as have come unless they are gzip's. Inflates
// nothing. Thread-safe.
[[nodiscard]] size_t SizeOf(const grpc::ByteBuffer& bytes);

// The bytes of a message in one piece, as received or inflated. Owner thread only.
class FlatMessage {
 public:
  FlatMessage() = default;
  FlatMessage(const FlatMessage&) = delete;
  FlatMessage& operator=(const FlatMessage&) = delete;

  // Takes the bytes, inflated if they are gzip's. InvalidArgument: none have come (which is not an
  // empty message), they are damaged, or SizeOf is more than `most`, which costs nothing; then
  // text() is empty.
  [[nodiscard]] Status Take(grpc::ByteBuffer* bytes, size_t most);
  // Valid as long as this object.
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  grpc::Slice whole_;
  std::string inflated_;
  std::string_view text_;
};

// Reads `message` from `bytes`, of SizeOf `most` at most, and frees them; inflates gzip's. In texts
// that are not UTF-8, wrong bytes become '?' and `faults` lists the text. InvalidArgument, with the
// field if there is one: the bytes are no message of this type, or a message within it occurs
// twice. InvalidArgument also: over limits::kMaxItemsPerMessage elements in repeated fields, or
// over limits::kMaxUnknownFieldsPerMessage fields that this release does not know. On a fault
// `message` has its numbers that are neither repeated nor within an item, so that an answer can
// name the sequence.
//
// Cost: one walk and one parse if all is well; two parses with texts at fault.
[[nodiscard]] Status ParseMessage(grpc::ByteBuffer* bytes, google::protobuf::Message* message,
                                  MessageFaults* faults, size_t most);
// Reads `message` from bytes in one piece in the same way.
[[nodiscard]] Status ParseMessage(std::string_view bytes, google::protobuf::Message* message,
                                  MessageFaults* faults);

// Whether such a message has a repeated field. Costs a walk through its type.
[[nodiscard]] bool RepeatsSomething(const google::protobuf::Descriptor& type);

// The most bytes of a request of this type, if a message may have `most`:
// limits::kMaxPlainRequestBytes unless it has a repeated field.
template <typename Request>
[[nodiscard]] size_t MostBytesOf(size_t most) {
  static const bool kRepeats = RepeatsSomething(*Request::descriptor());
  return kRepeats ? most : std::min(most, limits::kMaxPlainRequestBytes);
}

// Reads a request without items: a text that is not UTF-8 is a fault of the whole.
[[nodiscard]] Status ReadWholeRequest(const grpc::ByteBuffer& bytes,
                                      google::protobuf::Message* request, size_t most);
template <typename Request>
[[nodiscard]] Status ReadRequest(const grpc::ByteBuffer& bytes, Request* request, size_t most) {
  return ReadWholeRequest(bytes, request, MostBytesOf<Request>(most));
}

// Serialises a message whose size this server bounds.
[[nodiscard]] grpc::ByteBuffer SerialiseMessage(const google::protobuf::Message& message);
// Serialises a message of any size. ResourceExhausted: it is larger than an answer may be.
[[nodiscard]] StatusOr<grpc::ByteBuffer> SerialiseAnswer(const google::protobuf::Message& message);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_WIRE_H_
