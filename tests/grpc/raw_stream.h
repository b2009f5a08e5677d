// Calls of a server under test without the generated code of its API.
#ifndef FRESHET_TESTS_GRPC_RAW_STREAM_H_
#define FRESHET_TESTS_GRPC_RAW_STREAM_H_

#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <string>

#include "tests/grpc/test_server.h"

namespace freshet {

// A stream of raw bytes that no generated message would produce. Thread-compatible.
class RawStream {
 public:
  RawStream(TestServer& server, const std::string& method) : RawStream(server.channel, method) {}
  RawStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method)
      : queue_(std::make_unique<grpc::CompletionQueue>()) {
    grpc::GenericStub stub(channel);
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

// Makes a call with one request and returns its status. `answer`: receives the first message of the
// answer.
inline grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel,
                            const std::string& method, const std::string& bytes,
                            std::string* answer = nullptr) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext call;
  grpc::CompletionQueue queue;
  const grpc::Slice slice(bytes);
  const auto reader = stub.PrepareUnaryCall(&call, method, grpc::ByteBuffer(&slice, 1), &queue);
  reader->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  reader->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok));
  queue.Shutdown();
  grpc::Slice whole;
  if (answer != nullptr && status.ok() && reply.DumpToSingleSlice(&whole).ok()) {
    answer->assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
  }
  return status;
}
inline grpc::Status CallRaw(TestServer& server, const std::string& method, const std::string& bytes,
                            std::string* answer = nullptr) {
  return CallRaw(server.channel, method, bytes, answer);
}

// Calls without a request, like a client that ends its call before its message is sent.
inline grpc::Status CallWithoutMessage(TestServer& server, const std::string& method) {
  grpc::GenericStub stub(server.channel);
  grpc::ClientContext call;
  grpc::CompletionQueue queue;
  grpc::Status status;
  const auto await = [&] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
  };
  const auto stream = stub.PrepareCall(&call, method, &queue);
  stream->StartCall(nullptr);
  await();
  stream->WritesDone(nullptr);
  await();
  stream->Finish(&status, nullptr);
  await();
  queue.Shutdown();
  return status;
}

// Returns the status of a service in the standard health service, by default of the whole server: 1
// = SERVING, 2 = NOT_SERVING, -1 = no answer.
inline int HealthOf(TestServer& server, const std::string& service = "") {
  // HealthCheckRequest has the service as field 1, HealthCheckResponse the status.
  std::string request;
  if (!service.empty()) request = std::string("\x0a") + static_cast<char>(service.size()) + service;
  std::string answer;
  const grpc::Status status = CallRaw(server, "/grpc.health.v1.Health/Check", request, &answer);
  return status.ok() && answer.size() == 2 ? answer[1] : -1;
}

}  // namespace freshet

#endif  // FRESHET_TESTS_GRPC_RAW_STREAM_H_
