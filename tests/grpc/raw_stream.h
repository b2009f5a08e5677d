// Calls of a server under test without the generated code of its API.
#ifndef FRESHET_TESTS_GRPC_RAW_STREAM_H_
#define FRESHET_TESTS_GRPC_RAW_STREAM_H_

#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <string>

#include "tests/grpc/test_server.h"

namespace freshet {

// Sends bytes that no generated message would produce. Thread-compatible.
class RawStream {
 public:
  RawStream(TestServer& server, const std::string& method)
      : queue_(std::make_unique<grpc::CompletionQueue>()) {
    grpc::GenericStub stub(server.channel);
    stream_ = stub.PrepareCall(&call_, method, queue_.get());
    stream_->StartCall(nullptr);
    Await();
  }
  ~RawStream() {
    call_.TryCancel();
    queue_->Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
    }
  }
  // Sends a message and reads the next one.
  template <typename Response>
  Response Exchange(const std::string& bytes) {
    const std::string answer = ExchangeBytes(bytes);
    Response response;
    EXPECT_TRUE(response.ParseFromString(answer));
    return response;
  }
  std::string ExchangeBytes(const std::string& bytes) {
    const grpc::Slice slice(bytes);
    stream_->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    Await();
    grpc::ByteBuffer answer;
    stream_->Read(&answer, nullptr);
    EXPECT_TRUE(Await());
    grpc::Slice whole;
    EXPECT_TRUE(answer.DumpToSingleSlice(&whole).ok());
    return {reinterpret_cast<const char*>(whole.begin()), whole.size()};
  }

 private:
  bool Await() {
    void* tag = nullptr;
    bool ok = false;
    return queue_->Next(&tag, &ok) && ok;
  }

  grpc::ClientContext call_;
  std::unique_ptr<grpc::CompletionQueue> queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream_;
};

// What the standard health service says of the whole server: 1 is SERVING, 2 NOT_SERVING.
inline int HealthOf(TestServer& server) {
  grpc::GenericStub stub(server.channel);
  grpc::ClientContext call;
  grpc::CompletionQueue queue;
  // An empty HealthCheckRequest; HealthCheckResponse has the status as field 1.
  const grpc::Slice nothing("");
  const auto reader = stub.PrepareUnaryCall(&call, "/grpc.health.v1.Health/Check",
                                            grpc::ByteBuffer(&nothing, 1), &queue);
  reader->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  reader->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok));
  queue.Shutdown();
  grpc::Slice bytes;
  if (!status.ok() || !answer.DumpToSingleSlice(&bytes).ok() || bytes.size() != 2) return -1;
  return bytes.begin()[1];
}

}  // namespace freshet

#endif  // FRESHET_TESTS_GRPC_RAW_STREAM_H_
