// Programs at the gRPC port that speak HTTP/2 badly or not at all.
#include <string>
#include <vector>

#include "tests/hostile/http2.h"
#include "tests/hostile/scripts.h"
#include "tests/hostile/socket.h"

namespace freshet::hostile {
namespace {

std::string Frames(Attack& attack, uint64_t count) {
  std::string frames;
  for (; count > 0; --count) {
    const std::string payload = attack.OneIn(2) ? std::string(8, '\0') : attack.Bytes(200);
    // Most of these types exist: PING, SETTINGS, RST_STREAM, HEADERS, CONTINUATION and others.
    frames += Http2Frame(attack.Below(11), attack.Below(256), attack.Below(7), payload);
  }
  return frames;
}

}  // namespace

void Frames(Attack& attack) {
  std::vector<Socket> held;
  while (!attack.Over()) {
    Socket socket(attack.target().grpc_address, 200);
    std::string bytes;
    if (!attack.OneIn(4)) bytes = kHttp2Preface;
    if (attack.OneIn(3)) bytes.resize(attack.Below(bytes.size() + 1));
    if (!attack.OneIn(4)) bytes += Http2Frame(4, 0, 0, "");
    bytes += attack.OneIn(3) ? attack.Bytes(2000) : Frames(attack, attack.Below(200));
    socket.Send(bytes);
    if (attack.OneIn(3)) (void)socket.Receive();
    if (attack.OneIn(2)) socket.Reset();
    held.push_back(std::move(socket));
    if (held.size() > 50) held.erase(held.begin() + static_cast<int64_t>(attack.Below(50)));
  }
}

}  // namespace freshet::hostile
