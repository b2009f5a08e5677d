// Sends numbers to the console of freshetd, which shows them beside its own.
#ifndef FRESHET_TOOLS_DEMO_CONSOLE_CLIENT_H_
#define FRESHET_TOOLS_DEMO_CONSOLE_CLIENT_H_

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

  // How long before its tick the server leases a page now, by its metrics. Waits at most half a
  // second; nothing if the page does not say.
  [[nodiscard]] std::optional<int64_t> LookAheadMicros();

  // Posts a JSON object of named numbers; waits at most half a second for the answer. Unavailable
  // with the reason if it is not taken.
  [[nodiscard]] Status Annotate(const std::string& json);

 private:
  const std::string address_;
  const std::unique_ptr<httplib::Client> client_;
};

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_CONSOLE_CLIENT_H_
