// Tests that further calls of a client wait outside of gRPC until gRPC's threads have handled the
// messages of earlier calls.
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/base/system_clock.h"
#include "server/config.h"
#include "server/ports/call_turn.h"
#include "server/ports/grpc_port.h"
#include "sync/mutex.h"
#include "tests/hostile/http2.h"
#include "tests/hostile/known_headers.h"
#include "tests/hostile/socket.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using hostile::HeadersOfCall;
using hostile::Http2Block;
using hostile::Http2Frame;
using hostile::Opening;
using hostile::Socket;

constexpr size_t kConnections = 4;
constexpr size_t kCallsOfEach = 500;
constexpr size_t kCallsOfAll = kConnections * kCallsOfEach;
// The maximum number of calls inside gRPC, including the calls that gRPC is reading at the moment.
constexpr size_t kFewWithinGrpc = 1000;

// A service that acts as if no thread handled the messages of calls until Come is called.
class WaitingCalls final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* /*context*/) override {
    const MutexLock lock(mutex_);
    ++made_;
    return new Waiting(*this, come_);
  }
  [[nodiscard]] size_t made() const {
    const MutexLock lock(mutex_);
    return made_;
  }
  // Acts as if threads handled the messages of all calls.
  void Come() {
    std::vector<Waiting*> waiting;
    {
      const MutexLock lock(mutex_);
      come_ = true;
      waiting.swap(waiting_);
    }
    for (Waiting* const call : waiting) call->Answer();
  }

 private:
  class Waiting final : public grpc::ServerGenericBidiReactor, public CallTurn {
   public:
    Waiting(WaitingCalls& calls, bool come) : calls_(calls), come_(come) { StartRead(&message_); }
    void Answer() {
      NoteTurn();
      Finish(grpc::Status::OK);
    }

   private:
    void OnReadDone(bool /*ok*/) override {
      if (come_ || !calls_.Keep(this)) Answer();
    }
    void OnDone() override { delete this; }

    WaitingCalls& calls_;
    const bool come_;
    grpc::ByteBuffer message_;
  };

  // Returns false if Come was called.
  [[nodiscard]] bool Keep(Waiting* call) {
    const MutexLock lock(mutex_);
    if (!come_) waiting_.push_back(call);
    return !come_;
  }

  mutable Mutex mutex_;
  size_t made_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool come_ FRESHET_GUARDED_BY(mutex_) = false;
  std::vector<Waiting*> waiting_ FRESHET_GUARDED_BY(mutex_);
};

class CallTurns : public testing::Test {
 protected:
  explicit CallTurns(bool silent = false) {
    config_.listen = "127.0.0.1:0";
    config_.max_streams_per_connection = kCallsOfEach;
    config_.max_streams = kCallsOfAll;
    StatusOr<std::unique_ptr<Door>> door = Door::Open(config_, clock_);
    EXPECT_TRUE(door.ok()) << door.status();
    door_ = *std::move(door);
    port_ = std::make_unique<GrpcPort>(config_, 100, *door_, clock_);
    const StatusOr<int> number = port_->Start(calls_);
    EXPECT_TRUE(number.ok()) << number.status();
    const std::string address = "127.0.0.1:" + std::to_string(*number);
    for (size_t i = 0; i < kConnections; ++i) {
      sockets_.emplace_back(address, /*millis=*/60'000, Opening::kPlain);
      std::string frames = hostile::kHttp2Preface + Http2Frame(4, 0, 0, "");
      for (uint64_t call = 0; call < kCallsOfEach; ++call) {
        const uint64_t stream = 2 * call + 1;
        frames += Http2Block(stream, HeadersOfCall("/calls/Wait"));
        if (!silent) frames += Http2Frame(0, 1, stream, std::string(5, '\0'));
      }
      EXPECT_TRUE(sockets_.back().Send(frames));
    }
  }
  ~CallTurns() override { calls_.Come(); }

  SystemClock clock_;
  ServerConfig config_;
  std::unique_ptr<Door> door_;
  WaitingCalls calls_;
  std::unique_ptr<GrpcPort> port_;
  std::vector<Socket> sockets_;
};

// Previously, a call was no longer counted once the server knew of it. It then waited a second
// time, for its message, in gRPC's single queue for the calls of all clients.
TEST_F(CallTurns, GrpcHasFewCallsWhoseMessagesWait) {
  EXPECT_FALSE(Eventually([&] { return calls_.made() > kFewWithinGrpc; }, Duration::Seconds(2)));
  EXPECT_GT(calls_.made(), 0U);
  calls_.Come();
  EXPECT_TRUE(Eventually([&] { return calls_.made() == kCallsOfAll; }));
}

// A client can open calls long before it sends something on them.
TEST_F(CallTurns, SilentCallsHoldUpNothingForLong) {
  EXPECT_TRUE(Eventually([&] {
    port_->Allow(calls_.made());
    return calls_.made() == kCallsOfAll;
  }));
}

class SilentCallTurns : public CallTurns {
 protected:
  SilentCallTurns() : CallTurns(/*silent=*/true) {}
};

// Previously, such calls counted as waiting for a thread until the next Allow. So one client
// delayed all others of its network by seconds.
TEST_F(SilentCallTurns, CallsWithoutAMessageHoldUpNothing) {
  EXPECT_TRUE(Eventually([&] { return calls_.made() == kCallsOfAll; }));
}

}  // namespace
}  // namespace freshet
