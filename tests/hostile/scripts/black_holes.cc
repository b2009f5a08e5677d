// Workers that take as many pages as they can and never report results. Many of them use each name
// only once.
#include <string>
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

// Asks for pages with a new worker name each time.
void Invent(Attack attack) {
  const auto stub = v1::SchedulerService::NewStub(attack.Connect());
  while (!attack.Over()) {
    v1::NextRequest request;
    request.set_worker("invented " + std::to_string(attack.Below(UINT64_MAX)));
    request.set_max_assignments(1 + static_cast<uint32_t>(attack.Below(1000)));
    request.mutable_lease_duration()->set_seconds(attack.OneIn(2) ? 1 : 5);
    v1::NextResponse response;
    const auto call = attack.Call();
    (void)stub->Next(call.get(), request, &response);
    for (const v1::Assignment& one : response.assignments()) attack.target().ledger->Note(one);
  }
}

}  // namespace

void BlackHoles(Attack& attack) {
  std::vector<std::thread> holes;
  for (int i = 0; i < 3; ++i) holes.emplace_back(Swallow, attack.Split());
  for (int i = 0; i < 8; ++i) holes.emplace_back(Invent, attack.Split());
  for (std::thread& hole : holes) hole.join();
}

}  // namespace freshet::hostile
