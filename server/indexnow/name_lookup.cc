#include "server/indexnow/name_lookup.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "server/base/slots.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// The interval at which a lookup checks whether it is cancelled.
constexpr std::chrono::milliseconds kLookEvery{100};

// The slots are never destroyed, because a resolver can run until the process ends.
Slots& AllSlots() {
  static auto* const kSlots = new Slots(kMostLookUps);
  return *kSlots;
}

// The result of a lookup. Shared by the lookup's thread and the caller, which may no longer wait
// for it. Thread-safe.
struct Answer {
  Mutex mutex;
  Condition came;
  std::optional<std::vector<std::string>> addresses FRESHET_GUARDED_BY(mutex);
};

void Ask(const Resolver& resolve, const std::string& host, Answer& answer) {
  std::vector<std::string> addresses = resolve(host);
  AllSlots().Give();
  const MutexLock lock(answer.mutex);
  answer.addresses = std::move(addresses);
  answer.came.NotifyAll();
}

}  // namespace

std::vector<std::string> AskSystem(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  std::vector<std::string> texts;
  for (const addrinfo* next = found; next != nullptr; next = next->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(next->ai_addr, next->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      texts.emplace_back(text.data());
    }
  }
  return texts;
}

std::vector<std::string> LookUp(const std::string& host, Duration timeout,
                                const std::atomic<bool>& cancelled, const Resolver& resolve) {
  using SteadyClock = std::chrono::steady_clock;
  if (!AllSlots().Take()) return {};
  const auto answer = std::make_shared<Answer>();
  try {
    std::thread([resolve, host, answer] { Ask(resolve, host, *answer); }).detach();
  } catch (const std::system_error&) {  // no thread could be started
    AllSlots().Give();
    return {};
  }
  const SteadyClock::time_point end = SteadyClock::now() + timeout.chrono();
  const MutexLock lock(answer->mutex);
  while (!answer->addresses && !cancelled && SteadyClock::now() < end) {
    answer->came.WaitUntil(answer->mutex, std::min(end, SteadyClock::now() + kLookEvery));
  }
  if (!answer->addresses || cancelled) return {};
  return *std::move(answer->addresses);
}

}  // namespace freshet
