// Sends numbers to freshetd's operator page, which shows them beside its own.
#ifndef FRESHET_TOOLS_DEMO_OPERATOR_PAGE_H_
#define FRESHET_TOOLS_DEMO_OPERATOR_PAGE_H_

#include <memory>
#include <string>

#include "core/base/status.h"
#include "tools/common/client_channel.h"

namespace httplib {
class Client;
}

namespace freshet::demo {

// Owner thread only.
class OperatorPage {
 public:
  // `address` is host:port.
  OperatorPage(const std::string& address, const ClientSecurity& security);
  ~OperatorPage();
  OperatorPage(const OperatorPage&) = delete;
  OperatorPage& operator=(const OperatorPage&) = delete;

  // Posts a JSON object of named numbers; waits at most half a second for the answer. Unavailable
  // with the reason if it is not taken.
  [[nodiscard]] Status Annotate(const std::string& json);

 private:
  const std::string address_;
  const std::unique_ptr<httplib::Client> client_;
};

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_OPERATOR_PAGE_H_
