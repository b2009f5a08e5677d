// The whole server: it opens the store, recovers, serves, drains and closes, in this order.
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

// The facts about a serving server.
struct ServingInfo {
  std::string grpc_address;  // host:port
  std::string http_address;  // host:port
  uint64_t pages = 0;
  double recovered_seconds = 0;  // from the call of Start until the server was serving
};

// The server. Thread-safe after Start. Every instance has a separate store, threads and ports.
class Server {
 public:
  // `clock` outlives the server. `env` is for the store; nullptr = the machine's default.
  Server(ServerConfig config, Clock& clock, rocksdb::Env* env = nullptr);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Answers probes, opens the store, loads every page, and then serves. If this fails, the server
  // is stopped.
  [[nodiscard]] StatusOr<ServingInfo> Start();
  // Sets a function for a server of a cluster; must be called before Start. `end` is called at most
  // once, on a separate thread, when another server has taken over. After that only Stop is useful.
  void WhenReplaced(std::function<void()> end);
  // Sets a function for a server of a cluster; must be called before Start. `end` is called with
  // the reason when another server should take over, for example because an operator drains this
  // node or its store has failed. `end` runs on a thread of the server, so it must make another
  // thread call Stop. `at_once`: the disk does not respond and Stop would wait for it, so the
  // process should end without Stop. Called at most once for each value of `at_once`.
  void WhenToEnd(std::function<void(std::string_view why, bool at_once)> end);
  // Makes a running Start return Cancelled at the next safe point. Thread-safe, also during Start.
  void RequestStop();
  // The address where probes are answered, as host:port; empty = not yet open. Thread-safe, also
  // during Start.
  [[nodiscard]] std::string http_address() const;
  // The address where calls are accepted for another server of the cluster, as host:port; empty =
  // none. Thread-safe, also during Start.
  [[nodiscard]] std::string forwarding_address() const;
  // Reads the certificate and identity files again. Does nothing if Start has not opened them yet.
  // Thread-safe, also during Start.
  void Reload();
  // If the server is serving, applies those changed keys of `config` that can change at run time,
  // and logs the outcome of each changed key. Also reads the files as Reload() does.
  // Precondition: `config` is valid. Thread-safe, also during Start.
  void Reload(const ServerConfig& config);
  // Accepts no more requests, lets running requests end, returns pages that were leased ahead of
  // demand, and closes the store. Not OK: the store had failed, or closing it failed. Idempotent.
  Status Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_SERVER_H_
