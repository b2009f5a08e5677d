// The server as a whole: opening, recovering, serving, draining, closing, in this order.
#ifndef FRESHET_SERVER_SERVER_H_
#define FRESHET_SERVER_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/base/units.h"
#include "server/base/system_clock.h"
#include "server/config.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace freshet {

// What a server that serves can tell.
struct ServingInfo {
  std::string grpc_address;  // host:port
  std::string http_address;  // likewise
  uint64_t pages = 0;
  double recovered_seconds = 0;  // from the start until it served
};

// Thread-safe after Start. Every instance has its own store, threads and ports.
class Server {
 public:
  // `clock` outlives the server; `env` is the store's, null for the machine's own.
  Server(ServerConfig config, Clock& clock, rocksdb::Env* env = nullptr);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Answers probes, opens the store, loads every page, and then serves. A server that failed to
  // start is stopped.
  [[nodiscard]] StatusOr<ServingInfo> Start();
  // Before Start. Of a server of a cluster: `end` is called at most once, on a thread of its own,
  // when another server has taken its place; this one can do nothing more than Stop.
  void WhenReplaced(std::function<void()> end);
  // Before Start. Of a server of a cluster: `end` is called with the reason when another server is
  // to take its place: an operator drains this node, or its store takes nothing any more. It is to
  // have Stop called, by another thread, as this is called on one of the server. `at_once`: Stop
  // would wait for a disk that gives no answer, so the process is to end without. Called at most
  // once for each.
  void WhenToEnd(std::function<void(std::string_view why, bool at_once)> end);
  // A Start under way gives up at the next safe point, Cancelled. Thread-safe, also during Start.
  void RequestStop();
  // Where probes are answered, host:port: empty until they are, which is early in Start. Also
  // thread-safe during Start.
  [[nodiscard]] std::string http_address() const;
  // Where calls are taken for another server of the cluster, host:port; empty: they are not. Also
  // thread-safe during Start.
  [[nodiscard]] std::string forwarding_address() const;
  // Looks at the files of certificates and identities at once, if it has begun to serve.
  // Thread-safe, also during Start.
  void Reload();
  // Takes what can be taken of a configuration that was read again, if the server serves, and looks
  // at those files; the log says what became of each key that differs. `config` is valid.
  // Thread-safe, also during Start.
  void Reload(const ServerConfig& config);
  // Stops taking requests, lets what runs come to its end, gives back what was leased ahead, and
  // closes the store. Not OK when the store had failed or does not close. Idempotent.
  Status Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_SERVER_H_
