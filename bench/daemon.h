// freshetd in a process of its own, and what it uses there.
#ifndef FRESHET_BENCH_DAEMON_H_
#define FRESHET_BENCH_DAEMON_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace freshet {

// What a process has used so far. Value type.
struct ProcessUse {
  double cpu_seconds = 0;  // of all threads, the kernel's part included
  double resident_mb = 0;  // 2^20 bytes, code and files included
};

// Nothing if there is no such process, or nothing may be known of it. Thread-safe.
[[nodiscard]] std::optional<ProcessUse> UseOf(pid_t process);

// The sum of each metric over its labels, and each with its labels as they are written:
// `name{label="value"}`. `ca`: PEM file of who is believed, over TLS; empty: in plain text.
// Unavailable: nobody answers at HOST:PORT, or not in time. Thread-safe.
[[nodiscard]] StatusOr<std::map<std::string, double>> ReadMetrics(const std::string& address,
                                                                  const std::string& ca = "");

// Owner thread only, which outlives the process: it is killed when that thread ends.
class BenchDaemon {
 public:
  // `program` is a path; empty: freshetd beside this program.
  explicit BenchDaemon(std::string program) : program_(std::move(program)) {}
  ~BenchDaemon() { Kill(); }
  BenchDaemon(const BenchDaemon&) = delete;
  BenchDaemon& operator=(const BenchDaemon&) = delete;

  // Starts it on free ports. Its log is appended to the file `log`. Unavailable: it cannot be
  // started.
  [[nodiscard]] Status Start(const std::string& data_dir, const std::string& log,
                             const std::vector<std::string>& flags);
  // Waits until it serves. Unavailable: it ended instead, and its log says why.
  [[nodiscard]] Status AwaitReady();
  // Ends it as an operator would. Internal: it did not end in order.
  [[nodiscard]] Status Stop();
  void Kill();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Known as soon as it is started; it answers there while it recovers.
  [[nodiscard]] const std::string& http_address() const { return http_address_; }
  // The following as of its ready line.
  [[nodiscard]] const std::string& grpc_address() const { return grpc_address_; }
  [[nodiscard]] uint64_t pages() const { return pages_; }
  [[nodiscard]] double recovered_seconds() const { return recovered_seconds_; }

 private:
  // Its wait status.
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

#endif  // FRESHET_BENCH_DAEMON_H_
