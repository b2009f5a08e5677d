// Hundreds of connections to both ports that send nothing.
#include <vector>

#include "tests/hostile/scripts.h"
#include "tests/hostile/socket.h"
#include "tests/support/wall_time.h"

namespace freshet::hostile {

void Idlers(Attack& attack) {
  constexpr size_t kConnections = 500;
  std::vector<Socket> sockets;
  while (!attack.Over()) {
    if (sockets.size() < kConnections) {
      sockets.emplace_back(
          attack.OneIn(2) ? attack.target().http_address : attack.target().grpc_address, 200);
    } else {
      LetPass(Duration::Millis(20));
      if (attack.OneIn(5)) sockets[attack.Below(sockets.size())].Reset();
    }
  }
}

}  // namespace freshet::hostile
