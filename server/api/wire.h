// Messages of clients, taken as bytes. Before anything is made of them they are measured: what they
// hold is bounded by their size alone only where nothing is added to it, and two bytes of an empty
// item become a hundred. The generated code also refuses a whole message, and with it ends the
// whole stream, when one text in it is not UTF-8; here such a text is a fault of its item.
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
  int item = -1;      // position in the outermost repeated field around it; -1: in none
  std::string field;  // name of the field in its message
};

[[nodiscard]] Status StatusOf(const TextFault& fault);

// What there is to say about the bytes of a message beside the message. Value type, thread-
// compatible.
struct MessageFaults {
  std::vector<TextFault> texts;  // one for an item and field, by rising item
  size_t items = 0;              // how many there are, when that is why the message is refused
};

// How many bytes a message has once it is inflated: as many as have come unless they are gzip's.
// Inflates nothing. Thread-safe.
[[nodiscard]] size_t SizeOf(const grpc::ByteBuffer& bytes);

// The bytes of a message in one piece, as they came or inflated. Owner thread only.
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

// Reads `message` from `bytes`, of SizeOf `most` at most, which are let go, and inflated if they
// are gzip's. Texts that are not UTF-8 have the bytes at fault replaced by '?' and are listed in
// `faults`. InvalidArgument, which names the field if there is one: the bytes are no message of
// this type; its repeated fields hold more than limits::kMaxItemsPerMessage in all; it has more
// than limits::kMaxUnknownFieldsPerMessage fields that this release does not know; a message within
// it occurs twice. Then `message` has its numbers that are neither repeated nor within an item, so
// that an answer can name the sequence.
//
// Cost: one walk and one parse if all is well; two parses with texts at fault.
[[nodiscard]] Status ParseMessage(grpc::ByteBuffer* bytes, google::protobuf::Message* message,
                                  MessageFaults* faults, size_t most);
// The same for bytes in one piece.
[[nodiscard]] Status ParseMessage(std::string_view bytes, google::protobuf::Message* message,
                                  MessageFaults* faults);

// Whether something in such a message is repeated. Costs a walk through its type.
[[nodiscard]] bool RepeatsSomething(const google::protobuf::Descriptor& type);

// Most bytes of a request of this type, where a message may have `most`:
// limits::kMaxPlainRequestBytes unless something in it is repeated.
template <typename Request>
[[nodiscard]] size_t MostBytesOf(size_t most) {
  static const bool kRepeats = RepeatsSomething(*Request::descriptor());
  return kRepeats ? most : std::min(most, limits::kMaxPlainRequestBytes);
}

// Reads a request without items, where a text that is not UTF-8 is a fault of the whole.
[[nodiscard]] Status ReadWholeRequest(const grpc::ByteBuffer& bytes,
                                      google::protobuf::Message* request, size_t most);
template <typename Request>
[[nodiscard]] Status ReadRequest(const grpc::ByteBuffer& bytes, Request* request, size_t most) {
  return ReadWholeRequest(bytes, request, MostBytesOf<Request>(most));
}

// Of a message whose size this server bounds.
[[nodiscard]] grpc::ByteBuffer SerialiseMessage(const google::protobuf::Message& message);
// Of one that may be any size: ResourceExhausted says that it is larger than an answer may be.
[[nodiscard]] StatusOr<grpc::ByteBuffer> SerialiseAnswer(const google::protobuf::Message& message);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_WIRE_H_
