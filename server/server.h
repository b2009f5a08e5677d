// The whole server: opens, recovers, serves, drains and closes, in this order.
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
  double recovered_seconds = 0;  // from the start until it served
};

// The server. Thread-safe after Start. Every instance has its own store, threads and ports.
class Server {
 public:
  // `clock` outlives the server; `env` is the store's, nullptr = the machine's own.
  Server(ServerConfig config, Clock& clock, rocksdb::Env* env = nullptr);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Answers probes, opens the store, loads every page, and then serves. A server that failed to
  // start is stopped.
  [[nodiscard]] StatusOr<ServingInfo> Start();
  // For a server of a cluster, before Start: `end` is called at most once, on a thread of its own,
  // when another server has taken this one's place. Only Stop is useful then.
  void WhenReplaced(std::function<void()> end);
  // For a server of a cluster, before Start: `end` is called with the reason when another server
  // should take over. An operator drains this node, or its store fails. It has another thread call
  // Stop, as it runs on a thread of the server. `at_once`: Stop would wait for a silent disk, so
  // the process should end without it. Called at most once for each value of `at_once`.
  void WhenToEnd(std::function<void(std::string_view why, bool at_once)> end);
  // Makes a running Start give up at the next safe point, with Cancelled. Thread-safe, also during
  // Start.
  void RequestStop();
  // Where probes are answered, host:port; empty = not yet, early in Start. Thread-safe, also during
  // Start.
  [[nodiscard]] std::string http_address() const;
  // Where calls are taken for another server of the cluster, host:port; empty = nowhere.
  // Thread-safe, also during Start.
  [[nodiscard]] std::string forwarding_address() const;
  // Reads the files of certificates and identities at once, if it has begun to serve. Thread-safe,
  // also during Start.
  void Reload();
  // Takes what it can of a changed configuration if the server serves, and reads those files. Logs
  // the outcome of each changed key. `config` is valid. Thread-safe, also during Start.
  void Reload(const ServerConfig& config);
  // Takes no more requests, lets running ones end, gives back pages leased ahead, and closes the
  // store. Not OK: the store had failed, or does not close. Idempotent.
  Status Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_SERVER_H_
