// The HTTP port: metrics, health, the operator page and its data, annotations.
#ifndef FRESHET_SERVER_HTTP_H_
#define FRESHET_SERVER_HTTP_H_

#include <functional>
#include <memory>
#include <string>

#include "core/base/status.h"

namespace freshet {

// What the port serves. The functions are called from any thread, several at a time.
struct HttpContent {
  std::function<std::string()> metrics;      // GET /metrics
  std::function<std::string()> status_json;  // GET /status.json
  std::function<bool()> healthy;             // GET /healthz: the process works
  std::function<std::string()> not_ready;  // GET /readyz: why it takes no requests; empty: it does
  std::function<Status(const std::string&)> annotate;  // POST /annotations, from this machine only
};

// Thread-safe.
class HttpServer {
 public:
  explicit HttpServer(HttpContent content);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Listens at "host:port", port 0 being any that is free, and returns the port. Unavailable when
  // the address cannot be had.
  [[nodiscard]] StatusOr<int> Start(const std::string& address);
  // Idempotent.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Whether a peer's address is that of this machine.
[[nodiscard]] bool IsLoopback(const std::string& address);

}  // namespace freshet

#endif  // FRESHET_SERVER_HTTP_H_
