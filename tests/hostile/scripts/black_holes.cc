// Workers that take all they can get and are never heard of again.
#include <thread>
#include <vector>

#include "tests/hostile/scripts.h"
#include "tests/hostile/worker.h"

namespace freshet::hostile {
namespace {

void Swallow(Attack attack) {
  const auto channel = attack.Connect();
  while (!attack.Over()) {
    Worker worker(attack, channel, attack.OneIn(2) ? "black hole" : attack.Bytes(10), 1);
    worker.Grant(attack.OneIn(2) ? 10'000 : UINT32_MAX);
    while (!worker.Receive().empty() && !attack.OneIn(50)) {
    }
  }
}

}  // namespace

void BlackHoles(Attack& attack) {
  std::vector<std::thread> holes;
  for (int i = 0; i < 3; ++i) holes.emplace_back(Swallow, attack.Split());
  for (std::thread& hole : holes) hole.join();
}

}  // namespace freshet::hostile
