// Messages of streams, taken as bytes. The generated code refuses a whole message, and with it ends
// the whole stream, when one text in it is not UTF-8; here such a text is a fault of its item.
#ifndef FRESHET_SERVER_WIRE_H_
#define FRESHET_SERVER_WIRE_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace freshet {

// A text that is not UTF-8.
struct TextFault {
  int item = -1;      // position in the innermost repeated message around it; -1: in none
  std::string field;  // name of the field in its message
};

// Reads `message` from `bytes`. Texts that are not UTF-8 have the bytes at fault replaced by '?'
// and are listed in `faults`. InvalidArgument for bytes that are no message of this type at all.
// Cost: one parse if all is well.
[[nodiscard]] Status ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message* message,
                                  std::vector<TextFault>* faults);

[[nodiscard]] grpc::ByteBuffer SerialiseMessage(const google::protobuf::Message& message);

// Length of the longest prefix of `text` that is valid UTF-8.
[[nodiscard]] size_t ValidUtf8Prefix(std::string_view text);

}  // namespace freshet

#endif  // FRESHET_SERVER_WIRE_H_
