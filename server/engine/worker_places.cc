#include "server/engine/worker_places.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/shares.h"
#include "server/base/limits.h"

namespace freshet {
namespace {

// A client can make many waiting calls at little cost. They must not keep out workers on streams.
size_t MostWaiters(size_t most) { return std::max<size_t>(1, most / 4 * 3 + most % 4 * 3 / 4); }

}  // namespace

Status WorkerPlaces::Check(const Held& own, const WorkerTerms& terms, size_t most) const {
  const char* const kept = ", but for places of clients that have few";
  if (terms.waiter) {
    const size_t for_waiters = std::min(MostWaiters(most), most - std::min(all_.others, most));
    if (MayTakePlace(own.waiters, all_.waiters, for_waiters, terms.admin)) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "{} calls of Next are already waiting, the maximum{}: try again later, or "
                      "use the stream Crawl",
                      all_.waiters, all_.waiters < for_waiters ? kept : "");
  }
  const size_t for_others = most - std::min(all_.waiters, most);
  if (MayTakePlace(own.others, all_.others, for_others, terms.admin)) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "{} workers are already connected, the maximum{}: try again later",
                    all_.waiters + all_.others, all_.others < for_others ? kept : "");
}

Status WorkerPlaces::CheckSet(const Client& client, const WorkerTerms& terms) const {
  if (terms.takes == kAllClasses || client.sets.contains(terms.takes)) return absl::OkStatus();
  if (ShareLeft(client.sets.size(), sets_, limits::kMaxWorkerSets, terms.admin) > 0) {
    return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "crawl_ids: the workers of {} already take {} different sets of crawl ids, and "
                    "there is no room for another: use one of these sets",
                    terms.client, client.sets.size());
}

Status WorkerPlaces::Take(const WorkerTerms& terms, size_t most) {
  const auto it = of_client_.find(terms.client);
  const Client none;
  const Client& before = it == of_client_.end() ? none : it->second;
  RETURN_IF_ERROR(Check(before.held, terms, most));
  RETURN_IF_ERROR(CheckSet(before, terms));
  Client& own = of_client_[terms.client];
  ++(terms.waiter ? own.held.waiters : own.held.others);
  ++(terms.waiter ? all_.waiters : all_.others);
  if (terms.takes != kAllClasses && ++own.sets[terms.takes] == 1) ++sets_;
  return absl::OkStatus();
}

void WorkerPlaces::GiveBack(const WorkerTerms& terms) {
  const auto it = of_client_.find(terms.client);
  CHECK(it != of_client_.end(), "'{}' has no place", terms.client);
  Client& own = it->second;
  size_t& held = terms.waiter ? own.held.waiters : own.held.others;
  CHECK(held > 0, "'{}' has no such place", terms.client);
  --held;
  --(terms.waiter ? all_.waiters : all_.others);
  if (terms.takes != kAllClasses && --own.sets.at(terms.takes) == 0) {
    own.sets.erase(terms.takes);
    --sets_;
  }
  if (own.held.waiters + own.held.others == 0) of_client_.erase(it);
}

}  // namespace freshet
