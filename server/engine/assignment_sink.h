// The interface between the dispatcher and a worker: the worker's terms, the leases asked for on
// its behalf, and the receiver of its assignments.
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

// The prospects of a worker after a delivery.
enum class Outlook : uint8_t {
  kMore,     // while it has credit
  kServed,   // nothing more: it got all its assignments
  kTimeOut,  // nothing more: its waiting time is over
};

// The receiver of a worker's assignments. Called without locks of the dispatcher, and not after
// Leave has returned on another thread, except for a call that was under way.
class AssignmentSink {
 public:
  virtual ~AssignmentSink() = default;
  // Takes over the assignments: sends them, or gives their leases back. The list is empty only when
  // nothing more comes.
  virtual void Deliver(std::vector<Assignment> assignments, Outlook outlook) = 0;
  virtual void OnPause(bool paused) = 0;
  // Called when nothing can be leased, with the reason, and with OK once leases are possible again.
  virtual void OnStall(const Status& why) = 0;
  // Whether the worker takes its deliveries so slowly that it gets no more. Once it has caught up,
  // Dispatcher::Grant with no assignments resumes. May be called on any thread, with any lock.
  [[nodiscard]] virtual bool behind() const { return false; }
  // Called when the number of leases that the worker may have open becomes `leases`; `whole`: this
  // is the full allowance.
  virtual void OnAllowance(uint64_t /*leases*/, bool /*whole*/) {}
};

struct WorkerTerms {
  std::string name;
  std::string client;   // owner of the worker (LeaseRecord::client)
  std::string address;  // address of the worker, without the port
  Duration lease;
  ClassSet takes = kAllClasses;  // classes of crawl ids whose pages the worker takes
  bool admin = false;            // the client is an identity with the role admin
  // A waiter is served once: after its first assignments it only gets those that are already set
  // aside for it. At `waits_until` it gets an empty answer.
  bool waiter = false;
  Instant waits_until;  // also for a worker that lingers
};

// The terms of a lease before its page is known.
struct LeaseTerms {
  Instant at;  // the tick; never before that of an earlier request
  std::string worker;
  std::string client;  // LeaseRecord::client
  Duration lease;
};

// Assignments to be handed to workers once no lock is held. Value type, thread-compatible.
class Deliveries {
 public:
  struct Delivery {
    WorkerId worker = 0;
    std::shared_ptr<AssignmentSink> sink;
    std::vector<Assignment> assignments;
    Outlook outlook = Outlook::kMore;
  };

  [[nodiscard]] bool empty() const { return all_.empty(); }
  // The delivery to this worker, added if there is none.
  Delivery& For(WorkerId worker, const std::shared_ptr<AssignmentSink>& sink) {
    const auto [it, first] = of_worker_.try_emplace(worker, all_.size());
    if (first) all_.push_back({.worker = worker, .sink = sink});
    return all_[it->second];
  }
  // Hands everything to its sink.
  void Deliver() && {
    for (Delivery& each : all_) each.sink->Deliver(std::move(each.assignments), each.outlook);
  }

 private:
  std::vector<Delivery> all_;
  absl::flat_hash_map<WorkerId, size_t> of_worker_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_ASSIGNMENT_SINK_H_
