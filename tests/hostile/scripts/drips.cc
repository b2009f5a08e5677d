// HTTP requests that arrive a byte at a time, on many connections, and never end.
#include <iterator>
#include <string>
#include <vector>

#include "tests/hostile/scripts.h"
#include "tests/hostile/socket.h"
#include "tests/support/wall_time.h"

namespace freshet::hostile {

void Drips(Attack& attack) {
  constexpr size_t kConnections = 96;
  static constexpr const char* kStarts[] = {
      "GET /metrics HTTP/1.1\r\nHost: a\r\nX: ",
      "POST /annotations HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n{",
      "POST /annotations HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n",
      "G",
      "GET /",
  };
  std::vector<Socket> sockets;
  while (!attack.Over()) {
    while (sockets.size() < kConnections) {
      Socket socket(attack.target().http_address, 200);
      socket.Send(kStarts[attack.Below(std::size(kStarts))]);
      sockets.push_back(std::move(socket));
    }
    LetPass(Duration::Millis(20));
    for (Socket& socket : sockets) {
      if (!socket.Send("x") || attack.OneIn(200)) {
        std::swap(socket, sockets.back());
        sockets.pop_back();
        break;
      }
    }
  }
}

}  // namespace freshet::hostile
