// A freshetd in a process of its own, that can be killed.
#ifndef FRESHET_TESTS_CRASH_DAEMON_H_
#define FRESHET_TESTS_CRASH_DAEMON_H_

#include <grpcpp/grpcpp.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace freshet::crash {

// Thread-compatible.
class Daemon {
 public:
  // What it says goes to the file `log`.
  Daemon(std::string data_dir, std::string log)
      : data_dir_(std::move(data_dir)), log_(std::move(log)) {}
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Starts it, without waiting for anything.
  void Spawn(const std::vector<std::string>& flags);
  // Waits for the ready line. Empty, or what happened instead.
  [[nodiscard]] std::string AwaitReady();
  // Empty, or how the process ended before it was killed.
  [[nodiscard]] std::string Kill();
  // Checks the whole store with `freshetd --verify`, while no server runs. Empty, or what is wrong.
  [[nodiscard]] std::string Verify(std::vector<std::string> flags);
  void RequestStop() const;
  // Waits for the end after RequestStop. Empty, or how it ended instead of with exit code 0.
  [[nodiscard]] std::string AwaitEnd();

  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  // As its ready line has it.
  [[nodiscard]] uint64_t pages() const { return pages_; }

 private:
  const std::string data_dir_;
  const std::string log_;
  pid_t pid_ = -1;
  int out_ = -1;
  uint64_t pages_ = 0;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace freshet::crash

#endif  // FRESHET_TESTS_CRASH_DAEMON_H_
