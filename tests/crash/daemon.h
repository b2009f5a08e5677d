// Runs freshetd in a separate process that can be killed.
#ifndef FRESHET_TESTS_CRASH_DAEMON_H_
#define FRESHET_TESTS_CRASH_DAEMON_H_

#include <grpcpp/grpcpp.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace freshet::crash {

// The process of a server. Thread-compatible.
class Daemon {
 public:
  // The server logs to the file `log`, and runs in `directory`; "" = the directory of this process.
  Daemon(std::string data_dir, std::string log, std::string directory = "")
      : data_dir_(std::move(data_dir)), log_(std::move(log)), directory_(std::move(directory)) {}
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Limits the number of files that the server may have open. Must be called before Spawn().
  void LimitFiles(int files) { max_files_ = files; }
  // Starts the process without waiting.
  void Spawn(const std::vector<std::string>& flags);
  // Waits until the server prints that it is ready. Returns "" or the error.
  [[nodiscard]] std::string AwaitReady();
  // Kills the process. Returns "", or how the process had ended before.
  [[nodiscard]] std::string Kill();
  // Checks the whole store with `freshetd --verify` while no server runs. Returns "" or the
  // problems.
  [[nodiscard]] std::string Verify(std::vector<std::string> flags);
  void RequestStop() const;
  // Returns true if the process ends within this time. AwaitEnd() must still be called.
  [[nodiscard]] bool EndsWithin(int seconds) const;
  // Waits for the end after RequestStop(). Returns "", or how the process ended if not with exit
  // code 0.
  [[nodiscard]] std::string AwaitEnd();

  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  // The address that the server printed when it was ready.
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
