// Runs freshetd in a separate process, and measures the resources that it uses.
#ifndef FRESHET_LAB_BENCH_DAEMON_H_
#define FRESHET_LAB_BENCH_DAEMON_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace freshet {

// The resources that a process has used so far. Value type.
struct ProcessUse {
  double cpu_seconds = 0;  // CPU time of all threads, user and kernel
  double resident_mb = 0;  // 2^20 bytes, including code and files
};

// Returns the resources used by a process; nullopt = no such process, or access denied.
// Thread-safe.
[[nodiscard]] std::optional<ProcessUse> UseOf(pid_t process);

// Reads the metrics at HOST:PORT. The result has each value under its name with labels, as written:
// `name{label="value"}`. It also has the sum over all labels under the bare name. `ca`: PEM file of
// trusted authorities, for TLS; empty = plain text. Unavailable: there is no answer in time.
// Thread-safe.
[[nodiscard]] StatusOr<std::map<std::string, double>> ReadMetrics(const std::string& address,
                                                                  const std::string& ca = "");

// A freshetd process. It is killed when the thread that started it ends. Owner thread only.
class BenchDaemon {
 public:
  // `program` is a path; empty = the freshetd in the directory of this program.
  explicit BenchDaemon(std::string program) : program_(std::move(program)) {}
  ~BenchDaemon() { Kill(); }
  BenchDaemon(const BenchDaemon&) = delete;
  BenchDaemon& operator=(const BenchDaemon&) = delete;

  // Starts the daemon on free ports, with its log appended to the file `log`. Unavailable: the
  // daemon cannot be started.
  [[nodiscard]] Status Start(const std::string& data_dir, const std::string& log,
                             const std::vector<std::string>& flags);
  // Waits until the daemon serves. Unavailable: the daemon ended; its log says why.
  [[nodiscard]] Status AwaitReady();
  // Stops the daemon in the same way as an operator. Internal: the daemon failed while stopping.
  [[nodiscard]] Status Stop();
  void Kill();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // The address of the HTTP port. It is known after Start, and the daemon answers there even during
  // recovery.
  [[nodiscard]] const std::string& http_address() const { return http_address_; }
  // The next three values are read from the line that the daemon prints when it is ready.
  [[nodiscard]] const std::string& grpc_address() const { return grpc_address_; }
  [[nodiscard]] uint64_t pages() const { return pages_; }
  [[nodiscard]] double recovered_seconds() const { return recovered_seconds_; }

 private:
  // Returns the wait status of the process.
  int AwaitEnd();

  const std::string program_;
  pid_t pid_ = -1;
  int out_ = -1;
  std::string log_;
  std::string grpc_address_;
  std::string http_address_;
  uint64_t pages_ = 0;
  double recovered_seconds_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_DAEMON_H_
