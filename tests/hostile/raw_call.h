// Calls of any method with raw bytes as messages.
#ifndef FRESHET_TESTS_HOSTILE_RAW_CALL_H_
#define FRESHET_TESTS_HOSTILE_RAW_CALL_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <string>

namespace freshet::hostile {

inline grpc::ByteBuffer Buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

// Sends one message to a method as a bidirectional stream, reads at most one answer, and returns
// the status of the call.
inline grpc::Status SendBytes(const std::shared_ptr<grpc::Channel>& channel,
                              grpc::ClientContext& call, const std::string& method,
                              const std::string& bytes) {
  const grpc::internal::RpcMethod rpc(method.c_str(),
                                      grpc::internal::RpcMethod::RpcType::BIDI_STREAMING);
  const std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream(
      grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
          channel.get(), rpc, &call));
  stream->Write(Buffer(bytes));
  stream->WritesDone();
  grpc::ByteBuffer answer;
  while (stream->Read(&answer)) {
  }
  return stream->Finish();
}

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_RAW_CALL_H_
