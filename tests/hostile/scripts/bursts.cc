// Bursts of calls on many connections: each connection sends hundreds of calls at once, reads some
// answers, and ends.
#include <iterator>
#include <string>
#include <vector>

#include "tests/hostile/http2.h"
#include "tests/hostile/scripts.h"
#include "tests/hostile/socket.h"

namespace freshet::hostile {
namespace {

// Opens calls with an empty message. Most messages end their calls; the other calls stay open.
std::string Calls(Attack& attack, uint64_t count) {
  static constexpr const char* kMethods[] = {
      "/freshet.v1.SchedulerService/Crawl", "/freshet.v1.PagesService/UpsertPages",
      "/freshet.v1.PagesService/GetPage", "/urlfrontier.URLFrontier/PutURLs"};
  constexpr uint64_t kData = 0;
  constexpr uint64_t kEndStream = 1;
  const std::string empty(5, '\0');
  const std::string method = kMethods[attack.Below(std::size(kMethods))];
  std::string frames = kHttp2Preface + Http2Frame(4, 0, 0, "");
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t stream = 2 * i + 1;  // clients use odd numbers
    frames += Http2Call(stream, method) +
              Http2Frame(kData, attack.OneIn(4) ? 0 : kEndStream, stream, empty);
  }
  return frames;
}

}  // namespace

void Bursts(Attack& attack) {
  constexpr size_t kConnections = 20;
  while (!attack.Over()) {
    std::vector<Socket> sockets;
    for (size_t i = 0; i < kConnections && !attack.Over(); ++i) {
      sockets.emplace_back(attack.target().grpc_address, /*millis=*/200);
      sockets.back().Send(Calls(attack, attack.Below(900)));
    }
    for (Socket& socket : sockets) (void)socket.Receive();
    for (Socket& socket : sockets) {
      if (attack.OneIn(2)) socket.Reset();
    }
  }
}

}  // namespace freshet::hostile
