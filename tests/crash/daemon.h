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
  // What it says goes to the file `log`. It runs in `directory`, empty for that of this process.
  Daemon(std::string data_dir, std::string log, std::string directory = "")
      : data_dir_(std::move(data_dir)), log_(std::move(log)), directory_(std::move(directory)) {}
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Before Spawn: the most files it may have open.
  void LimitFiles(int files) { max_files_ = files; }
  // Starts it, without waiting for anything.
  void Spawn(const std::vector<std::string>& flags);
  // Waits for the ready line. Empty, or what happened instead.
  [[nodiscard]] std::string AwaitReady();
  // Empty, or how the process ended before it was killed.
  [[nodiscard]] std::string Kill();
  // Checks the whole store with `freshetd --verify`, while no server runs. Empty, or what is wrong.
  [[nodiscard]] std::string Verify(std::vector<std::string> flags);
  void RequestStop() const;
  // Whether it ends within this time; it is still to be awaited then.
  [[nodiscard]] bool EndsWithin(int seconds) const;
  // Waits for the end after RequestStop. Empty, or how it ended instead of with exit code 0.
  [[nodiscard]] std::string AwaitEnd();

  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  // As its ready line has them.
  [[nodiscard]] const std::string& grpc_address() const { return grpc_address_; }
  [[nodiscard]] const std::string& http_address() const { return http_address_; }
  [[nodiscard]] uint64_t pages() const { return pages_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  const std::string data_dir_;
  const std::string log_;
  const std::string directory_;
  int max_files_ = 0;
  pid_t pid_ = -1;
  int out_ = -1;
  std::string grpc_address_;
  std::string http_address_;
  uint64_t pages_ = 0;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace freshet::crash

#endif  // FRESHET_TESTS_CRASH_DAEMON_H_
