// Tests messages of many clients on one stream to another division.
#include "server/forward/peer_call.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/wire.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;

std::string TextOf(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(bytes.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) text.append(slice.begin(), slice.end());
  return text;
}

grpc::ByteBuffer BytesOf(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

// Answers each message with the same message.
class Echo final : public grpc::CallbackGenericService {
 private:
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    Call() { StartRead(&bytes_); }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      StartWrite(&bytes_);
    }
    void OnWriteDone(bool ok) override {
      if (ok) StartRead(&bytes_);
    }
    void OnDone() override { delete this; }

   private:
    grpc::ByteBuffer bytes_;
  };
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* /*context*/) override {
    return new Call();
  }
};

// Gives every waiting call the link of the test as soon as the link exists.
class OneLink final : public PeerCalls {
 public:
  std::optional<PeerLink> Connect(const std::shared_ptr<PeerCall>& /*call*/) override {
    if (channel_ == nullptr) return std::nullopt;
    return PeerLink{.channel = channel_, .key = "key", .serving = 1};
  }
  void Release(const PeerCall& /*call*/, const PeerLink& /*link*/) override {}
  [[nodiscard]] Instant Now() const override { return now_; }
  [[nodiscard]] bool Hold(size_t bytes) override {
    held_ += bytes;
    return true;
  }
  void Free(size_t bytes) override { held_ -= bytes; }
  void OnOver(const std::shared_ptr<PeerCall>& /*call*/) override { over_ = true; }

  std::shared_ptr<grpc::Channel> channel_;
  Instant now_ = Instant::FromUnixSeconds(1000);
  std::atomic<size_t> held_ = 0;
  std::atomic<bool> over_ = false;
};

// Previously, the messages of all other clients waited behind those of a client with many messages.
TEST(PeerCallTest, ClientsTakeTurns) {
  Echo echo;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&echo);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  OneLink link;
  const auto call = std::make_shared<PeerCall>(link, 1, "/a.Service/Stream", ShownByClient{});
  Mutex mutex;
  std::vector<std::string> order;
  const auto send = [&](const std::string& text, uint64_t client) {
    call->Send(
        BytesOf(text),
        [&](const StatusOr<grpc::ByteBuffer>& answer) {
          ASSERT_TRUE(answer.ok()) << answer.status();
          const MutexLock lock(mutex);
          order.push_back(TextOf(*answer));
        },
        client);
  };
  for (const char* text : {"a1", "a2", "a3", "a4"}) send(text, 1);
  for (const char* text : {"b1", "b2"}) send(text, 3);
  link.channel_ =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  call->Attend(link.now_ - Duration::Seconds(1), link.now_ - Duration::Seconds(1), 1);
  WaitUntil([&] {
    const MutexLock lock(mutex);
    return order.size() == 6;
  });
  EXPECT_THAT(order, ElementsAre("a1", "b1", "a2", "b2", "a3", "a4"));
  call->Close();
  WaitUntil([&] { return link.over_.load(); });
  EXPECT_EQ(link.held_, 0U);
  server->Shutdown();
}

// The age of the oldest message decides, even if it is another client's turn.
TEST(PeerCallTest, GivesUpWhatWaitsTooLong) {
  OneLink link;
  const auto call = std::make_shared<PeerCall>(link, 1, "/a.Service/Stream", ShownByClient{});
  int refused = 0;
  for (const uint64_t client : {1, 1, 3}) {
    call->Send(
        BytesOf("x"),
        [&](const StatusOr<grpc::ByteBuffer>& answer) {
          EXPECT_TRUE(absl::IsUnavailable(answer.status())) << answer.status();
          ++refused;
        },
        client);
    link.now_ = link.now_ + Duration::Seconds(1);
  }
  call->Attend(Instant::FromUnixSeconds(1000), Instant(), 0);
  EXPECT_EQ(refused, 0);
  call->Attend(Instant::FromUnixSeconds(1001), Instant(), 0);
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(link.held_, 0U);
  call->Stop();
  EXPECT_TRUE(link.over_);
}

}  // namespace
}  // namespace freshet
