// Hundreds of streams that are cancelled at once. After each hundred, the script waits for the
// answer to a ping, because a connection with too many cancelled calls is cut (docs/limits.md).
#include <string>
#include <vector>

#include "tests/hostile/http2.h"
#include "tests/hostile/scripts.h"
#include "tests/hostile/socket.h"

namespace freshet::hostile {
namespace {

// Opens streams and cancels most of them, so that some stay open and silent.
std::string Calls(Attack& attack, uint64_t first, uint64_t count) {
  static constexpr const char* kMethods[] = {
      "/freshet.v1.SchedulerService/Crawl", "/freshet.v1.SchedulerService/Next",
      "/freshet.v1.PagesService/UpsertPages", "/freshet.v1.PagesService/GetPage"};
  std::string frames;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t stream = first + 2 * i;  // clients use odd numbers
    frames += Http2Call(stream, kMethods[attack.OneIn(4) ? attack.Below(4) : 0]);
    if (!attack.OneIn(200)) frames += Http2Cancel(stream);
  }
  return frames;
}

}  // namespace

void Resets(Attack& attack) {
  constexpr uint64_t kCallsAtOnce = 100;
  struct Connection {
    Socket socket;
    uint64_t next = 1;
  };
  std::vector<Connection> connections;
  while (!attack.Over()) {
    if (connections.size() < 8) {
      connections.push_back({.socket = Socket(attack.target().grpc_address, 200)});
      connections.back().socket.Send(kHttp2Preface + Http2Frame(4, 0, 0, ""));
    }
    const size_t chosen = attack.Below(connections.size());
    Connection& one = connections[chosen];
    const bool taken = one.socket.Send(Calls(attack, one.next, kCallsAtOnce) + Http2Ping());
    one.next += 2 * kCallsAtOnce;
    (void)one.socket.Receive();
    if (taken && !attack.OneIn(1000)) continue;
    if (attack.OneIn(2)) one.socket.Reset();
    connections.erase(connections.begin() + static_cast<int64_t>(chosen));
  }
}

}  // namespace freshet::hostile
