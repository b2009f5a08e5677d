// A server that is measured from outside. It was started by this program, or it was running before.
#ifndef FRESHET_LAB_BENCH_SERVED_H_
#define FRESHET_LAB_BENCH_SERVED_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "lab/bench/daemon.h"
#include "lab/bench/load.h"
#include "lab/bench/server_certificates.h"
#include "lab/bench/synthetic_store.h"
#include "tools/common/client_channel.h"

namespace freshet {

// The server to measure. Value type, thread-compatible.
struct ServedOptions {
  std::string target;       // empty = start a server
  std::string target_http;  // HTTP port of the target; empty = its metrics are unknown
  ClientSecurity security;  // for the connection to a target
  int server_pid = 0;       // process of the target; 0 = its resources are unknown
  std::string program;      // program to start; empty = freshetd next to this program
  int shards = 1;
  std::string durability = "sync";
  bool tls = false;  // a started server speaks TLS
};

// The highest allowed rate.
inline constexpr double kGreatestRate = 10e6;

// A server that is prepared for load: it has no politeness limits, has the source kBenchSource, and
// its crawl rate is 0. If this program started it, it runs no epochs by itself. Owner thread only.
class Served {
 public:
  explicit Served(ServedOptions options)
      : options_(std::move(options)), daemon_(options_.program) {}

  // Connects to the server, and first starts it if there is no target. A started server keeps its
  // data and its log in `dir`. Unavailable: the server cannot be reached.
  [[nodiscard]] Status Start(const std::string& dir);
  // Starts the process of a server as Start does, but does not wait for it.
  [[nodiscard]] Status Launch(const std::string& dir);
  // Stops a started server.
  [[nodiscard]] Status Stop();

  [[nodiscard]] Status SetCrawlRate(double per_second);
  // Makes a channel with its own connection.
  [[nodiscard]] std::shared_ptr<grpc::Channel> NewChannel() const;
  [[nodiscard]] std::optional<ProcessUse> Use() const;
  // Reads the metrics; empty = unknown.
  [[nodiscard]] std::map<std::string, double> Metrics() const;
  // Waits for a limited time until the server is nearly idle, because flushes and compactions after
  // one measurement must not affect the next.
  void AwaitRest() const;

  // Makes a started server with TLS use a new certificate. FailedPrecondition: there is no such
  // server.
  [[nodiscard]] Status ReplaceCertificate();

  // The process of a started server.
  [[nodiscard]] BenchDaemon& daemon() { return daemon_; }

 private:
  const ServedOptions options_;
  BenchDaemon daemon_;
  std::unique_ptr<ServerCertificates> certificates_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_SERVED_H_
