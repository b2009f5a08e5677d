// Every header that gRPC knows by name, with values that it does not expect.
#include "tests/hostile/known_headers.h"

#include <iterator>
#include <string>
#include <vector>

#include "tests/hostile/http2.h"
#include "tests/hostile/scripts.h"
#include "tests/hostile/socket.h"

namespace freshet::hostile {

void KnownHeaders(Attack& attack) {
  static constexpr const char* kMethods[] = {
      "/freshet.v1.SchedulerService/Crawl", "/freshet.v1.PagesService/GetPage",
      "/grpc.health.v1.Health/Check", "/freshet.v1.NoService/Nothing"};
  const std::vector<std::string> values = OddValues();
  while (!attack.Over()) {
    Socket socket(attack.target().grpc_address, 200);
    socket.Send(kHttp2Preface + Http2Frame(4, 0, 0, ""));
    std::string frames;
    uint64_t stream = 1;
    for (int i = 0; i < 20; ++i) {
      const std::string name = kKnownHeaders[attack.Below(std::size(kKnownHeaders))];
      const std::string value =
          attack.OneIn(10) ? attack.Bytes(200) : values[attack.Below(values.size())];
      for (const std::string& block : BlocksWith(name, value, kMethods[attack.Below(4)])) {
        frames += Http2Block(stream, block, attack.OneIn(2) ? 1 : 0);
        stream += 2;
      }
    }
    socket.Send(frames + Http2Ping());
    (void)socket.Receive();
    if (attack.OneIn(3)) socket.Reset();
  }
}

}  // namespace freshet::hostile
