// Sends numbers to the console of freshetd, which shows them next to its own figures.
#ifndef FRESHET_LAB_DEMO_CONSOLE_CLIENT_H_
#define FRESHET_LAB_DEMO_CONSOLE_CLIENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/status.h"
#include "tools/common/client_channel.h"

namespace httplib {
class Client;
}

namespace freshet::demo {

// Owner thread only.
class ConsoleClient {
 public:
  // `address` is host:port.
  ConsoleClient(const std::string& address, const ClientSecurity& security);
  ~ConsoleClient();
  ConsoleClient(const ConsoleClient&) = delete;
  ConsoleClient& operator=(const ConsoleClient&) = delete;

  // Returns how long before its tick the server currently leases a page, according to its metrics.
  // Waits at most half a second; nullopt = the metrics do not tell.
  [[nodiscard]] std::optional<int64_t> LookAheadMicros();

  // Posts a JSON object of named numbers. Waits at most half a second for the answer. Unavailable,
  // with the reason: the console did not accept it.
  [[nodiscard]] Status Annotate(const std::string& json);

 private:
  const std::string address_;
  const std::unique_ptr<httplib::Client> client_;
};

}  // namespace freshet::demo

#endif  // FRESHET_LAB_DEMO_CONSOLE_CLIENT_H_
