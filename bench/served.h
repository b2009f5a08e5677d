// A server that is measured from outside: one of our own, or one that runs already.
#ifndef FRESHET_BENCH_SERVED_H_
#define FRESHET_BENCH_SERVED_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/daemon.h"
#include "bench/load.h"
#include "bench/server_certificates.h"
#include "bench/synthetic_store.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "tools/common/client_channel.h"

namespace freshet {

// Value type, thread-compatible.
struct ServedOptions {
  std::string target;       // empty: a server of our own
  std::string target_http;  // of a target; empty: its metrics are not known
  ClientSecurity security;  // how a target is reached
  int server_pid = 0;       // of a target; 0: what it uses is not known
  std::string program;      // of a server of our own; empty: freshetd beside this program
  int shards = 1;
  std::string durability = "sync";
  bool tls = false;  // a server of our own speaks TLS
};

// The greatest rate there may be.
inline constexpr double kGreatestRate = 10e6;

// Ready for load: no politeness that would hold anything back, the source kBenchSource known, crawl
// rate 0, and no epochs of its own accord if it is our own. Owner thread only.
class Served {
 public:
  explicit Served(ServedOptions options)
      : options_(std::move(options)), daemon_(options_.program) {}

  // A server of our own keeps its data and its log in `dir`. Unavailable: it cannot be reached.
  [[nodiscard]] Status Start(const std::string& dir);
  // Starts the process of a server of our own, as Start does, and waits for nothing.
  [[nodiscard]] Status Launch(const std::string& dir);
  // Ends a server of our own.
  [[nodiscard]] Status Stop();

  [[nodiscard]] Status SetCrawlRate(double per_second);
  // A connection of its own.
  [[nodiscard]] std::shared_ptr<grpc::Channel> NewChannel() const;
  [[nodiscard]] std::optional<ProcessUse> Use() const;
  // Empty if they are not known.
  [[nodiscard]] std::map<std::string, double> Metrics() const;
  // Returns when the server does next to nothing, or after a while: flushes and compactions of what
  // came before are no part of what is measured next.
  void AwaitRest() const;

  // Has a server of our own that speaks TLS serve another certificate. FailedPrecondition: there is
  // none.
  [[nodiscard]] Status ReplaceCertificate();

  // The daemon of our own.
  [[nodiscard]] BenchDaemon& daemon() { return daemon_; }

 private:
  const ServedOptions options_;
  BenchDaemon daemon_;
  std::unique_ptr<ServerCertificates> certificates_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

}  // namespace freshet

#endif  // FRESHET_BENCH_SERVED_H_
