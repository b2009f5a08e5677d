// A gRPC port in the process of the test. Another server answers its calls.
#ifndef FRESHET_TESTS_GRPC_FRONT_H_
#define FRESHET_TESTS_GRPC_FRONT_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "server/auth/door.h"
#include "server/forward/forwarder.h"
#include "tests/grpc/test_server.h"

namespace freshet {

// Forwards calls to the server that the test sets. Thread-safe.
class Front {
 public:
  static constexpr Duration kPatience = Duration::Seconds(3);
  static constexpr Duration kPassPatience = Duration::Seconds(1);

  explicit Front(ServerConfig config) : config_(std::move(config)) {
    StatusOr<std::unique_ptr<Door>> door = Door::Open(config_, clock_);
    EXPECT_TRUE(door.ok()) << door.status();
    door_ = *std::move(door);
    forwarder_ = std::make_unique<Forwarder>(
        config_, 100, *door_, clock_, counters,
        [this] {
          const MutexLock lock(mutex_);
          return StatusOr<std::optional<ServingPeer>>(peer_);
        },
        ForwardOptions{.patience = kPatience, .pass_patience = kPassPatience});
    const StatusOr<int> port = forwarder_->Start();
    EXPECT_TRUE(port.ok()) << port.status();
    address = config_.listen.substr(0, config_.listen.rfind(':') + 1) + std::to_string(*port);
  }
  void Follow(const std::string& server, const std::string& key = OwnKey()) {
    const MutexLock lock(mutex_);
    peer_ = {.address = server, .key = key};
  }
  void FollowNobody() {
    const MutexLock lock(mutex_);
    peer_.reset();
  }
  // Reads the files of its certificate again.
  void Reload() { door_->Reload(); }
  void Stop() { forwarder_->Stop(); }
  [[nodiscard]] size_t answer_bytes() const { return forwarder_->answer_bytes(); }

  std::string address;
  ForwardCounters counters;

 private:
  const ServerConfig config_;
  SystemClock clock_;
  std::unique_ptr<Door> door_;
  Mutex mutex_;
  std::optional<ServingPeer> peer_ FRESHET_GUARDED_BY(mutex_);
  std::unique_ptr<Forwarder> forwarder_;  // declared last, because it uses all the others
};

}  // namespace freshet

#endif  // FRESHET_TESTS_GRPC_FRONT_H_
