#include "server/ports/arrivals.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/shares.h"
#include "server/base/client_network.h"
#include "server/base/system_clock.h"

namespace freshet {

void Arrivals::Start(std::function<void()> come, std::function<void()> lacking) {
  CHECK(acceptor_.listens(), "not listening");
  come_ = std::move(come);
  lacking_ = std::move(lacking);
  thread_.Start([this] { Run(); });
}

void Arrivals::Stop() {
  thread_.Stop();
  acceptor_.Close();
  while (const auto left = Take()) close(left->descriptor);
}

void Arrivals::Run() {
  SystemClock clock;
  while (true) {
    const Instant now = clock.Now();
    std::vector<pollfd> polled = {thread_.end()};
    acceptor_.AddTo(&polled, now);
    const Duration rest = acceptor_.resting_until() - now;
    const int millis = rest > Duration() ? static_cast<int>(rest.micros() / 1000 + 1) : -1;
    if (poll(polled.data(), polled.size(), millis) <= 0) continue;
    if (polled[0].revents != 0) return;
    for (size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      const auto enter = [this](int descriptor) { Enter(descriptor); };
      if (acceptor_.Accept(polled[i].fd, clock.Now(), enter)) continue;
      {
        const MutexLock lock(mutex_);
        ++stats_.failed;
      }
      lacking_();
    }
  }
}

void Arrivals::Enter(int descriptor) {
  const Ipv6Address network = NetworkOfSocket(descriptor).pieces;
  bool first = false;
  {
    const MutexLock lock(mutex_);
    const size_t own = waiting_.SizeOf(network);
    if (MayTakePlace(own, waiting_.size(), most_)) {
      first = waiting_.empty();
      waiting_.Push(network, descriptor);
    } else {
      ++stats_.dropped;
      close(own > 0 ? waiting_.Replace(network, descriptor) : descriptor);
    }
  }
  if (first) come_();
}

std::optional<Arrivals::Arrival> Arrivals::Take() {
  const MutexLock lock(mutex_);
  if (waiting_.empty()) return std::nullopt;
  const IpAddress network{.pieces = waiting_.front_client()};
  return Arrival{.descriptor = waiting_.Pop(), .network = network};
}

Arrivals::Stats Arrivals::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

}  // namespace freshet
