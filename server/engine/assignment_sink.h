// The interface between the dispatcher and a worker: the worker's terms, the terms of the leases
// that are requested for it, and the receiver of its assignments.
#ifndef FRESHET_SERVER_ENGINE_ASSIGNMENT_SINK_H_
#define FRESHET_SERVER_ENGINE_ASSIGNMENT_SINK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/event.h"
#include "server/engine/turn_queue.h"

namespace freshet {

// Whether more assignments follow a delivery.
enum class Outlook : uint8_t {
  kMore,     // more follow while the worker has credit
  kServed,   // none follow: the worker got all its assignments
  kTimeOut,  // none follow: the worker's waiting time has ended
};

// The receiver of a worker's assignments. The dispatcher holds no lock during calls. After
// Dispatcher::Leave has returned, no new call starts, but one that another thread began before can
// still be running.
class AssignmentSink {
 public:
  virtual ~AssignmentSink() = default;
  // Takes over the assignments: sends them to the worker, or returns their leases. The list is
  // empty only if `outlook` is not kMore.
  virtual void Deliver(std::vector<Assignment> assignments, Outlook outlook) = 0;
  virtual void OnPause(bool paused) = 0;
  // Called with the reason when no page can be leased, and with OK once pages can be leased again.
  virtual void OnStall(const Status& why) = 0;
  // Returns true if the worker reads its deliveries so slowly that it must get no more for now.
  // Once the worker has caught up, the sink calls Dispatcher::Grant with 0 assignments to resume.
  // May be called on any thread and under any lock.
  [[nodiscard]] virtual bool behind() const { return false; }
  // Called when the worker's allowance changes. The worker may now have `leases` open leases.
  // `whole`: `leases` is the full allowance.
  virtual void OnAllowance(uint64_t /*leases*/, bool /*whole*/) {}
};

struct WorkerTerms {
  std::string name;
  std::string client;   // owner of the worker (LeaseRecord::client)
  std::string address;  // address of the worker, without the port
  Duration lease;
  ClassSet takes = kAllClasses;  // classes of crawl ids whose pages the worker takes
  bool admin = false;            // the client is an identity with the role admin
  // True for a waiter: a single call that waits for pages. A waiter is served once: after its first
  // assignments it only gets pages that are already set aside for it. At `waits_until` it gets an
  // empty answer.
  bool waiter = false;
  Instant waits_until;  // end of the wait of a waiter, or of a worker that lingers
};

// The terms of a lease whose page is not yet chosen.
struct LeaseTerms {
  Instant at;  // the tick; never earlier than that of a previous request
  std::string worker;
  std::string client;  // LeaseRecord::client
  Duration lease;
};

// Collects assignments while a lock is held, and hands them to workers after the lock has been
// released. Value type, thread-compatible.
class Deliveries {
 public:
  struct Delivery {
    WorkerId worker = 0;
    std::shared_ptr<AssignmentSink> sink;
    std::vector<Assignment> assignments;
    Outlook outlook = Outlook::kMore;
  };

  [[nodiscard]] bool empty() const { return all_.empty(); }
  // Returns the delivery to this worker; adds one if there is none.
  Delivery& For(WorkerId worker, const std::shared_ptr<AssignmentSink>& sink) {
    const auto [it, first] = of_worker_.try_emplace(worker, all_.size());
    if (first) all_.push_back({.worker = worker, .sink = sink});
    return all_[it->second];
  }
  // Hands each delivery to its sink.
  void Deliver() && {
    for (Delivery& each : all_) each.sink->Deliver(std::move(each.assignments), each.outlook);
  }

 private:
  std::vector<Delivery> all_;
  absl::flat_hash_map<WorkerId, size_t> of_worker_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_ASSIGNMENT_SINK_H_
