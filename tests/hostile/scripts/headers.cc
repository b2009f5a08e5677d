// HTTP requests with megabytes of headers, endless lines, and other things that no browser sends.
#include <string>
#include <vector>

#include "fmt/format.h"
#include "tests/hostile/scripts.h"
#include "tests/hostile/socket.h"

namespace freshet::hostile {
namespace {

std::string Request(Attack& attack) {
  switch (attack.Below(8)) {
    case 0: {
      std::string request = "GET /healthz HTTP/1.1\r\nHost: a\r\n";
      for (int i = 0; i < 200'000; ++i) request += fmt::format("X-{}: {}\r\n", i, i);
      return request;
    }
    case 1:
      return "GET /" + std::string(3'000'000, 'a') + " HTTP/1.1\r\n\r\n";
    case 2:
      return "GET / HTTP/1.1\r\nX: " + std::string(3'000'000, 'a');
    case 3:
      return fmt::format("POST /annotations HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}",
                         attack.OneIn(2) ? "99999999999999999999" : "-1", attack.OddText());
    case 4: {
      const std::string body =
          "{\"" + attack.OddText() + "\": 1e999, \"fresh\": [[[[[" + std::string(20'000, '[') + "}";
      return fmt::format("POST /annotations HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
                         body.size()) +
             body;
    }
    case 5: {
      std::string requests;
      for (int i = 0; i < 500; ++i) requests += "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
      return requests;
    }
    case 6:
      return "POST /annotations HTTP/1.1\r\nTransfer-Encoding: "
             "chunked\r\n\r\nfffffffffffffffff\r\n" +
             attack.Bytes(5000);
    default:
      return attack.Bytes(5000);
  }
}

}  // namespace

void Headers(Attack& attack) {
  std::vector<Socket> held;
  while (!attack.Over()) {
    Socket socket(attack.target().http_address, 200);
    socket.Send(Request(attack));
    if (attack.OneIn(3)) socket.HalfClose();
    if (attack.OneIn(3)) (void)socket.Receive();
    if (attack.OneIn(3)) socket.Reset();
    held.push_back(std::move(socket));
    if (held.size() > 20) held.erase(held.begin());
  }
}

}  // namespace freshet::hostile
