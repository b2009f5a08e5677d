#include "server/engine/worker_places.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/shares.h"

namespace freshet {
namespace {

// A client can make many waiting calls at little cost. They must not keep out workers on streams.
size_t MostWaiters(size_t most) { return std::max<size_t>(1, most / 4 * 3 + most % 4 * 3 / 4); }

}  // namespace

Status WorkerPlaces::Check(const Held& own, bool waiter, bool admin, size_t most) const {
  const char* const kept = ", but for places of clients that have few";
  if (waiter) {
    const size_t for_waiters = std::min(MostWaiters(most), most - std::min(all_.others, most));
    if (MayTakePlace(own.waiters, all_.waiters, for_waiters, admin)) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "{} calls of Next are already waiting, the maximum{}: try again later, or "
                      "use the stream Crawl",
                      all_.waiters, all_.waiters < for_waiters ? kept : "");
  }
  const size_t for_others = most - std::min(all_.waiters, most);
  if (MayTakePlace(own.others, all_.others, for_others, admin)) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "{} workers are already connected, the maximum{}: try again later",
                    all_.waiters + all_.others, all_.others < for_others ? kept : "");
}

Status WorkerPlaces::Take(const std::string& client, bool waiter, bool admin, size_t most) {
  const auto it = of_client_.find(client);
  RETURN_IF_ERROR(Check(it == of_client_.end() ? Held() : it->second, waiter, admin, most));
  Held& own = of_client_[client];
  ++(waiter ? own.waiters : own.others);
  ++(waiter ? all_.waiters : all_.others);
  return absl::OkStatus();
}

void WorkerPlaces::GiveBack(const std::string& client, bool waiter) {
  const auto it = of_client_.find(client);
  CHECK(it != of_client_.end(), "'{}' has no place", client);
  size_t& own = waiter ? it->second.waiters : it->second.others;
  CHECK(own > 0, "'{}' has no such place", client);
  --own;
  --(waiter ? all_.waiters : all_.others);
  if (it->second.waiters + it->second.others == 0) of_client_.erase(it);
}

}  // namespace freshet
